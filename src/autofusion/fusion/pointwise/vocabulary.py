"""Elementwise operators of ONNX in the instructions of kernel `pointwise`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from autofusion.fusion.pointwise.activations import ACTIVATION_OPERATORS, read_activation, read_float, read_number
from autofusion.fusion.reasons import Code, Reason
from autofusion.ir import Node
from autofusion.ops.table import Known

Register = int
"""Of a writer: an operand or an instruction, as the writer numbers them."""


class Unfit(Exception):
    """A node that no program can hold, and the reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Writer(Protocol):
    """A program under way."""

    known: Known

    def number(self, name: str) -> Register:
        """The register of a floating value; raises Unfit where the program cannot read it."""
        ...

    def truth(self, name: str) -> Register:
        """The register of truth values; raises Unfit where the program cannot read it."""
        ...

    def constant(self, number: float) -> Register:
        """A register that holds `number` everywhere."""
        ...

    def write(self, op: str, *registers: Register, alpha: float = 0.0, beta: float = 0.0) -> Register:
        """Append an instruction and return its register."""
        ...


Write = Callable[[Writer, Node], Register]

FUNCTIONS = ("Abs", "Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Floor", "Ceil", "Erf")
OPERATORS = {"Add": "Add", "Sum": "Add", "Sub": "Sub", "Mul": "Mul", "Div": "Div", "Pow": "Pow"} | {
    name: name for name in ("Max", "Min")
}
COMPARISONS = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
LOGIC = {"And": "Min", "Or": "Max"}
TRUTHS = frozenset({*COMPARISONS, *LOGIC, "Not"})
"""Operators that give truth values."""


def _function(writer: Writer, node: Node) -> Register:
    return writer.write(node.op, writer.number(node.input(0)))


def _operator(writer: Writer, node: Node) -> Register:
    total = writer.number(node.input(0))
    for name in node.inputs[1:]:
        total = writer.write(OPERATORS[node.op], total, writer.number(name))
    # Of one operand, Sum, Max and Min are that operand.
    return total if len(node.inputs) > 1 else writer.write("Max", total, total)


def _activation(writer: Writer, node: Node) -> Register:
    activation = read_activation(node, writer.known)
    if activation is not None:
        x = writer.number(node.input(0))
        return writer.write(activation.name, x, alpha=activation.alpha, beta=activation.beta)
    if node.op == "PRelu":
        x = writer.number(node.input(0))
        sloped = writer.write("Mul", x, writer.number(node.input(1)))
        return writer.write("Select", writer.write("Less", x, writer.constant(0.0)), sloped, x)
    detail = f"the limits of {node.name} are no constant numbers"
    raise Unfit(Reason(Code.NOT_CONSTANT, (node.name,), detail, node.name))


def _comparison(writer: Writer, node: Node) -> Register:
    return writer.write(node.op, writer.number(node.input(0)), writer.number(node.input(1)))


def _logic(writer: Writer, node: Node) -> Register:
    return writer.write(LOGIC[node.op], writer.truth(node.input(0)), writer.truth(node.input(1)))


def _not(writer: Writer, node: Node) -> Register:
    return writer.write("Equal", writer.truth(node.input(0)), writer.constant(0.0))


def _where(writer: Writer, node: Node) -> Register:
    condition = writer.truth(node.input(0))
    return writer.write("Select", condition, writer.number(node.input(1)), writer.number(node.input(2)))


def _soften(writer: Writer, x: Register) -> Register:
    """log(1 + exp(x)) as max(x, 0) + log(1 + e), e = exp(-|x|), which is e where 1 + e rounds to 1."""
    small = writer.write("Exp", writer.write("Neg", writer.write("Abs", x)))
    one = writer.constant(1.0)
    sum_ = writer.write("Add", small, one)
    # log(u) * e / (u - 1) of the rounded u = 1 + e is log(1 + e) to the last bits.
    scaled = writer.write("Div", writer.write("Mul", writer.write("Log", sum_), small), writer.write("Sub", sum_, one))
    logarithm = writer.write("Select", writer.write("Equal", sum_, one), small, scaled)
    return writer.write("Add", writer.write("Relu", x), logarithm)


def _softplus(writer: Writer, node: Node) -> Register:
    return _soften(writer, writer.number(node.input(0)))


def _mish(writer: Writer, node: Node) -> Register:
    x = writer.number(node.input(0))
    return writer.write("Mul", x, writer.write("Tanh", _soften(writer, x)))


def _selu(writer: Writer, node: Node) -> Register:
    alpha, gamma = read_float(node, "alpha", 1.67326319), read_float(node, "gamma", 1.05070102)
    below = writer.write("Elu", writer.number(node.input(0)), alpha=alpha)
    return writer.write("Mul", below, writer.constant(gamma))


def _softsign(writer: Writer, node: Node) -> Register:
    x = writer.number(node.input(0))
    return writer.write("Div", x, writer.write("Add", writer.write("Abs", x), writer.constant(1.0)))


VOCABULARY: Mapping[str, Write] = {
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(OPERATORS, _operator),
    **dict.fromkeys(ACTIVATION_OPERATORS, _activation),
    **dict.fromkeys(COMPARISONS, _comparison),
    **dict.fromkeys(LOGIC, _logic),
    "Not": _not,
    "Where": _where,
    "Softplus": _softplus,
    "Mish": _mish,
    "Selu": _selu,
    "Softsign": _softsign,
}
"""By ONNX operator: what writes its instructions."""

REDUCTIONS = {"ReduceSum": "Sum", "ReduceMean": "Mean", "ReduceMax": "Max", "ReduceMin": "Min"}
"""Operators that may come last."""


def read_reduction(node: Node, known: Known, rank: int) -> str:
    """How a reduction over the last of `rank` axes reduces; "" for any other node."""
    if node.op not in REDUCTIONS or node.domain or node.opaque or not node.attributes.get("keepdims", 1):
        return ""
    axes = known.constant(node.input(1)) if node.input(1) else None
    if axes is None or axes.size != 1 or rank < 1:
        return ""
    return REDUCTIONS[node.op] if int(axes.reshape(())) % rank == rank - 1 else ""


def is_number(known: Known, name: str, rank: int) -> bool:
    """True for a constant of one element that broadcasts to `rank` axes without adding one."""
    array = known.constant(name)
    return array is not None and array.ndim <= rank and read_number(known, name) is not None
