"""A group of elementwise nodes as one program, or why it is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from autofusion.fusion.pointwise.activations import read_number
from autofusion.fusion.pointwise.vocabulary import TRUTHS, VOCABULARY, Register, Unfit, is_number, read_reduction
from autofusion.fusion.reasons import Code, Reason, shape_unknown, spell_shape
from autofusion.ir import Dim, DType, Node, Shape, Value
from autofusion.ops.table import Known
from autofusion.plan import MAX_OPERANDS

MAX_INSTRUCTIONS = 32
"""Instructions of a program; one with two numbers counts twice."""

MAX_AXES = 4
"""Axes that differ in which operands repeat along them."""

MAX_WORDS = 40
"""Instructions and different numbers of a program on doubles, whose numbers lie behind its instructions."""

_TWO_NUMBERS = ("Clip", "HardSigmoid")

Instruction = tuple[str, int, int, int, float, float]


@dataclass(frozen=True)
class Program:
    """What kernel `pointwise` takes: operands, instructions on registers, and the reduction after them, "" for none."""

    operands: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    reduce: str
    result: str


class _KnownBodies:
    """Values and constants of the bodies of fused nodes, then those of the graph around."""

    def __init__(self, nodes: Iterable[Node], known: Known) -> None:
        self._known = known
        self._values: dict[str, Value] = {}
        self._constants: dict[str, np.ndarray] = {}
        for node in nodes:
            self._collect(node)

    def value(self, name: str) -> Value:
        """What the graph knows of a value, else what a body does."""
        value = self._known.value(name)
        return value if value.shape is not None else self._values.get(name, value)

    def constant(self, name: str) -> np.ndarray | None:
        """The array of a constant."""
        array = self._known.constant(name)
        return self._constants.get(name) if array is None else array

    def _collect(self, node: Node) -> None:
        if node.body is None:
            return
        for inner in node.body.topological():
            self._collect(inner)
        self._values |= node.body.values
        self._constants |= node.body.constants


def know_bodies(nodes: Iterable[Node], known: Known) -> Known:
    """`known`, and what the bodies of `nodes` hold."""
    return _KnownBodies(nodes, known)


def is_pointwise(node: Node) -> bool:
    """True for an operator of ONNX that programs have."""
    return node.op in VOCABULARY and not node.domain and not node.opaque and len(node.outputs) == 1


def read_program(nodes: Sequence[Node], result: str, known: Known) -> Program | Reason:
    """The program of `nodes`, plain ones with producers first, that computes `result`; else why there is none.

    All of them give values of one shape, but for a reduction over the last axis that may be the last node; what they
    read from outside broadcasts to it.
    """
    last = nodes[-1]
    if result not in last.outputs:
        return _limit("results", result, last.outputs[0], f"{result!r} is not computed by the last node")
    source = known.value(last.input(0)).shape
    reduce = read_reduction(last, known, len(source or ()))
    rows = source if reduce else known.value(result).shape
    dtype = known.value(result).dtype
    if rows is None:
        return shape_unknown("result", result)
    if dtype is None or not dtype.is_float:
        got = "unknown" if dtype is None else dtype.value
        detail = f"{result!r} has element type {got}, a floating type was expected"
        return Reason(Code.DTYPE, ("result", got, "float"), detail, last.name, result)
    writer = _Writer(known, rows, dtype)
    try:
        for node in nodes[:-1] if reduce else nodes:
            writer.take(node)
        return writer.finish(last.input(0) if reduce else result, reduce, result)
    except Unfit as unfit:
        return unfit.reason


@dataclass
class _Writer:
    """Registers are counted from 0 for instructions, and downwards from -1 for operands."""

    known: Known
    rows: Shape
    dtype: DType
    operands: dict[str, Register] = field(default_factory=dict[str, Register])
    made: dict[str, Register] = field(default_factory=dict[str, Register])
    numbers: dict[str, Register] = field(default_factory=dict[str, Register])
    code: list[tuple[str, tuple[Register, ...], float, float]] = field(
        default_factory=list[tuple[str, tuple[Register, ...], float, float]]
    )

    def take(self, node: Node) -> None:
        """Append the instructions of one node."""
        if not is_pointwise(node):
            detail = f"{node.name} is {node.op}, which no program has"
            raise Unfit(Reason(Code.OPERATOR, (node.op, "elementwise"), detail, node.name))
        result = node.outputs[0]
        self._check(result, DType.BOOL if node.op in TRUTHS else self.dtype)
        if self.known.value(result).shape != self.rows:
            self._refuse_shape(result)
        self.made[result] = VOCABULARY[node.op](self, node)

    def number(self, name: str) -> Register:
        """The register of a floating value."""
        return self._read(name, self.dtype)

    def truth(self, name: str) -> Register:
        """The register of truth values."""
        return self._read(name, DType.BOOL)

    def constant(self, number: float) -> Register:
        """A register that holds `number` everywhere."""
        # 0 and -0 are equal, NaN is not equal to itself; their texts say what they are.
        key = repr(number)
        if key not in self.numbers:
            self.numbers[key] = self.write("Constant", alpha=number)
        return self.numbers[key]

    def write(self, op: str, *registers: Register, alpha: float = 0.0, beta: float = 0.0) -> Register:
        """Append an instruction."""
        self.code.append((op, registers, alpha, beta))
        return len(self.code) - 1

    def finish(self, source: str, reduce: str, result: str) -> Program:
        """The program, its last register being that of `source`."""
        register = self.made.get(source)
        if register is None or register != len(self.code) - 1:
            raise Unfit(_limit("results", source, result, f"{source!r} is not what the last instruction gives"))
        count = len(self.operands)
        length = len(self.code) + sum(op in _TWO_NUMBERS for op, *_ in self.code)
        if not 1 <= count <= MAX_OPERANDS:
            detail = f"it would read {count} values, the kernel takes {MAX_OPERANDS}"
            raise Unfit(_limit("operands", str(count), str(MAX_OPERANDS), detail))
        if length > MAX_INSTRUCTIONS:
            detail = f"it would take {length} instructions, a program has {MAX_INSTRUCTIONS}"
            raise Unfit(_limit("instructions", str(length), str(MAX_INSTRUCTIONS), detail))
        words = length + len({repr(number) for _, _, *numbers in self.code for number in (0.0, *numbers)})
        if self.dtype is DType.DOUBLE and words > MAX_WORDS:
            detail = f"it would take {words} instructions and numbers, a program on doubles has {MAX_WORDS}"
            raise Unfit(_limit("instructions", str(words), str(MAX_WORDS), detail))
        axes = self._count_axes(bool(reduce))
        if axes > MAX_AXES:
            detail = f"its operands repeat along {axes} axes in different ways, the kernel walks {MAX_AXES}"
            raise Unfit(_limit("axes", str(axes), str(MAX_AXES), detail))
        if all(self.known.value(name).dtype is DType.BOOL for name in self.operands):
            raise Unfit(_limit("operands", "bool", self.dtype.value, "it reads truth values alone"))
        return Program(tuple(self.operands), tuple(self._place(count)), reduce, result)

    def _place(self, count: int) -> Iterable[Instruction]:
        for op, registers, alpha, beta in self.code:
            a, b, c = (*(count + r if r >= 0 else -1 - r for r in registers), *[-1] * (3 - len(registers)))
            yield op, a, b, c, alpha, beta

    def _read(self, name: str, dtype: DType) -> Register:
        if name in self.made:
            return self.made[name]
        self._check(name, dtype)
        if is_number(self.known, name, len(self.rows)):
            return self.constant(float(read_number(self.known, name) or 0.0))
        shape = self.known.value(name).shape
        if shape is None:
            raise Unfit(shape_unknown("operand", name))
        wide = self.rows[len(self.rows) - len(shape) :]
        if len(shape) > len(self.rows) or any(dim not in (1, row) for dim, row in zip(shape, wide, strict=True)):
            self._refuse_shape(name)
        return self.operands.setdefault(name, -1 - len(self.operands))

    def _check(self, name: str, dtype: DType) -> None:
        found = self.known.value(name).dtype
        if found is not dtype:
            got = "unknown" if found is None else found.value
            detail = f"{name!r} has element type {got}, {dtype.value} was expected"
            raise Unfit(Reason(Code.DTYPE, ("operand", got, dtype.value), detail, value=name))

    def _refuse_shape(self, name: str) -> None:
        got, want = spell_shape(self.known.value(name).shape or ()), spell_shape(self.rows)
        detail = f"{name!r} has shape {got}, which is not that of the result, {want}"
        raise Unfit(Reason(Code.BROADCAST, ("shape", got, want), detail, value=name))

    def _count_axes(self, folds: bool) -> int:
        """Axes that no two operands let be counted as one, in whichever layout images are stored."""
        rank = len(self.rows)
        shapes = [self._align(name) for name in self.operands]
        walked = [axis for axis in range(rank - folds) if self.rows[axis] != 1]
        kinds = [tuple(shape[axis] == 1 for shape in shapes) for axis in walked]
        count = _count_changes(kinds) + folds
        if rank != 5 or folds:
            return count
        # As an image the batch, the pixels and the channels lie apart.
        pixels = [tuple(shape[axis] == 1 for shape in shapes) for axis in (2, 3, 4) if self.rows[axis] != 1]
        return max(count, 2 + _count_changes(pixels))

    def _align(self, name: str) -> tuple[Dim, ...]:
        shape = self.known.value(name).shape or ()
        return (1,) * (len(self.rows) - len(shape)) + shape


def _count_changes(kinds: Sequence[tuple[bool, ...]]) -> int:
    return sum(place == 0 or kind != kinds[place - 1] for place, kind in enumerate(kinds))


def _limit(what: str, got: str, want: str, detail: str) -> Reason:
    return Reason(Code.KERNEL_LIMIT, (what, got, want), detail)
