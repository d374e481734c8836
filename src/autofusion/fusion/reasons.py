"""Why a pattern did not apply: a closed set of codes, each with its arguments and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """The reason codes; the comment gives the arguments."""

    OPERATOR = "OPERATOR"  # got, want
    ARITY = "ARITY"  # operator, place
    OPERAND = "OPERAND"  # name, got, want
    MULTI_READER = "MULTI_READER"  # value, readers
    GRAPH_OUTPUT = "GRAPH_OUTPUT"  # value
    EXTRA_OUTPUT = "EXTRA_OUTPUT"  # value
    NESTED_GRAPH = "NESTED_GRAPH"  # value, reader
    CONTROL_FLOW = "CONTROL_FLOW"  # value
    NOT_CONSTANT = "NOT_CONSTANT"  # name
    OVERRIDABLE = "OVERRIDABLE"  # name
    DTYPE = "DTYPE"  # name, got, want
    SHAPE_UNKNOWN = "SHAPE_UNKNOWN"  # name
    BROADCAST = "BROADCAST"  # axis, got, want
    ATTRIBUTE = "ATTRIBUTE"  # name, got, want
    CONSTANT_VALUE = "CONSTANT_VALUE"  # got, want
    TRAINING_MODE = "TRAINING_MODE"
    AXIS = "AXIS"  # got, want
    CYCLE = "CYCLE"  # value
    OPSET = "OPSET"  # version
    UNKNOWN_OP = "UNKNOWN_OP"  # operator
    KERNEL_LIMIT = "KERNEL_LIMIT"  # what, got, want
    MEMORY = "MEMORY"  # bytes
    DISABLED = "DISABLED"  # by
    LEVEL = "LEVEL"  # needed level
    TAKEN_BY = "TAKEN_BY"  # pattern
    RESERVED = "RESERVED"  # manual rule


_REMEDIES: Mapping[Code, str] = {
    Code.OPERATOR: "put one of the expected operators there, or write a pattern for the order that the model has",
    Code.ARITY: "export the operator with the operands that the pattern names, or write a pattern for these",
    Code.OPERAND: "let both operands be the same value, or write a pattern that takes two",
    Code.MULTI_READER: "let nothing else read the value, or accept two kernels",
    Code.GRAPH_OUTPUT: "drop the value from the graph outputs, or accept two kernels",
    Code.EXTRA_OUTPUT: "let nothing read that result",
    Code.NESTED_GRAPH: "move the nested reader out of its graph, or accept two kernels",
    Code.CONTROL_FLOW: "compute the value inside the nested graph, out of which no fusion reaches",
    Code.NOT_CONSTANT: "make the value an initializer of the model",
    Code.OVERRIDABLE: "remove the value from the graph inputs to make it a constant",
    Code.DTYPE: "export the model with one element type in this place",
    Code.SHAPE_UNKNOWN: "give the model's inputs their shapes",
    Code.BROADCAST: "give the operand the shape that was expected, which cannot widen the result",
    Code.ATTRIBUTE: "export the operator with the attribute that was expected",
    Code.CONSTANT_VALUE: "write the constant that the spelling has",
    Code.TRAINING_MODE: "export the model for inference",
    Code.AXIS: "use the axis that was expected, in the operand or the operator",
    Code.CYCLE: "compute what comes back into the match from other values",
    Code.OPSET: "convert the model to an opset that this compiler knows",
    Code.UNKNOWN_OP: "write the operator in those of ONNX, or a pattern that names it",
    Code.KERNEL_LIMIT: "stay within what the kernel can do, or accept two kernels",
    Code.MEMORY: "accept two kernels",
}
"""What to do where a reason has no better advice; a list or level that is in the way always names itself."""


AUTO_DISABLE = "auto_disable"
"""Who leaves fusions out because results were beyond their limits with them."""


@dataclass(frozen=True)
class Reason:
    """A code with its arguments, the sentence that says it, the node and value at fault, and advice of its own.

    `str` gives the short form, such as `MULTI_READER(conv1_out, Add_17)`.
    """

    code: Code
    arguments: tuple[str, ...] = ()
    detail: str = ""
    node: str = ""
    value: str = ""
    help: str = ""

    @property
    def remedy(self) -> str:
        """What to do: the advice given with the reason, or else that of its code."""
        return self.help or _REMEDIES.get(self.code, "")

    @property
    def is_automatic(self) -> bool:
        """True where nobody asked for it, but results were beyond their limits."""
        return self.code is Code.DISABLED and self.arguments == (AUTO_DISABLE,)

    def __str__(self) -> str:
        return f"{self.code}({', '.join(self.arguments)})" if self.arguments else str(self.code)


def spell_shape(shape: Sequence[object]) -> str:
    """A shape as the text form of the IR writes it."""
    return f"[{', '.join(map(str, shape))}]"


def border_reason(rule: str, value: str, node: str = "") -> Reason:
    """The reason for a match that would cross the border of a manual group at `value`."""
    detail = f"{value!r} crosses the border of the group that the manual rule {rule!r} makes"
    advice = f"take more nodes into the rule {rule!r}, or fewer"
    return Reason(Code.RESERVED, (rule,), detail, node, value, advice)


def shape_unknown(name: str, value: str) -> Reason:
    """The reason for a shape that is not known: `name` is the pattern's word, `value` the model's."""
    return Reason(
        Code.SHAPE_UNKNOWN,
        (name,),
        f"the shape of {value!r} is unknown",
        value=value,
        help="give the model's inputs their shapes",
    )
