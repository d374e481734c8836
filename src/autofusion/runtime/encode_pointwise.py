"""Programs of elementwise instructions as the records of `csrc/record_program.h`."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence

from autofusion.plan import MAX_OPERANDS
from autofusion.runtime.bound import BoundStep, broadcast_strides, merge_axes
from autofusion.runtime.encode_data import NO_NUMBERS, Fields, fill_axes, order_axes
from autofusion.runtime.records import BINARY_OPERATORS, UNARY_OPERATORS

MAX_LENGTH = 40
"""Instructions of a program, its second numbers included (AF_PROGRAM_LENGTH)."""

PROGRAM_AXES = 4
"""Axes that a program may walk after merging (AF_PROGRAM_AXES)."""

BLOCK = 256
"""Elements of a register (AF_PROGRAM_BLOCK)."""

REDUCTIONS = ("", "Sum", "Mean", "Max", "Min")
COMPARISONS = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")

_OPERATIONS: Mapping[str, tuple[int, int]] = {
    **{name: (code, 1) for code, name in enumerate(UNARY_OPERATORS) if name},
    **{name: (64 + code, 2) for code, name in enumerate((*BINARY_OPERATORS, *COMPARISONS))},
    "Select": (128, 3),
    "Constant": (129, 0),
}
"""Code and number of registers of each operation."""

_TWO_NUMBERS = ("Clip", "HardSigmoid")
_NO_REGISTER = 255


def _encode_pointwise(bound: BoundStep) -> Fields:
    """The record of a `pointwise` step; raises ValueError where the library cannot run its program."""
    names = [name for name in bound.step.inputs if name]
    if not 1 <= len(names) <= MAX_OPERANDS:
        raise ValueError(f"it has {len(names)} operands, not 1 to {MAX_OPERANDS}")
    folding = bound.code("reduce", REDUCTIONS)
    axes = _merge(bound, names, bool(folding))
    if len(axes) > PROGRAM_AXES:
        raise ValueError(f"it iterates over {len(axes)} axes, more than {PROGRAM_AXES}")
    strides = fill_axes(axes, 1 + len(names), PROGRAM_AXES)
    code = _encode_program(bound, len(names))
    ints = [
        *strides,
        *[0] * (PROGRAM_AXES * (MAX_OPERANDS - len(names))),
        len(names),
        _read_types(bound, names),
        len(code.words),
        folding,
        *code.words,
        *code.behind,
    ]
    return ints, NO_NUMBERS


def _measure_pointwise(bound: BoundStep) -> int:
    """A block for each register of one thread (`af_program_scratch`)."""
    names = [name for name in bound.step.inputs if name]
    return bound.floating_bytes * BLOCK * (len(names) + len(_encode_program(bound, len(names)).words))


def _read_types(bound: BoundStep, names: Sequence[str]) -> int:
    """A bit for each operand that holds truth values; everything else has the floating type of the step."""
    types = [bound.buffers[name].dtype for name in (*names, bound.result)]
    if not {*types[:-1]} <= {bound.floating, "bool"} or types[-1] != bound.floating:
        raise ValueError(f"it works on elements of type {', '.join(sorted(set(types)))}")
    return sum(1 << place for place, dtype in enumerate(types) if dtype == "bool")


def _merge(bound: BoundStep, names: Sequence[str], folds: bool) -> list[tuple[int, ...]]:
    """Axes `(extent, stride of y, strides of the operands)`; where it `folds`, the last one is that of the rows."""
    y = bound.result
    shape = bound.shape(y)
    extents = shape
    if folds:
        extents = _broadcast([bound.shape(name) for name in names])
        if not extents or shape != (*extents[:-1], 1):
            raise ValueError(f"it reduces {list(extents)} to {list(shape)}")
    strides = [broadcast_strides(bound.shape(name), bound.strides(name), extents) for name in (y, *names)]
    axes = [(extents[axis], *(stride[axis] for stride in strides)) for axis in order_axes(bound, y)]
    return [*merge_axes(axes[:-1]), axes[-1]] if folds else merge_axes(axes)


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes))
    columns = zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True)
    return tuple(next((extent for extent in column if extent != 1), 1) for column in columns)


class _Code:
    """Words under way; `places` has the register of the record for each one of the program.

    A word holds its number as a float32, or in a program on doubles the place of its number among those `behind`.
    """

    def __init__(self, operands: int, floating: str) -> None:
        self.operands = operands
        self.is_double = floating == "double"
        self.behind: list[int] = []
        self.places = list(range(operands))
        self.words: list[int] = []

    def add(self, code: int, registers: Sequence[int], number: float) -> int:
        """Append an instruction and return its register."""
        a, b, c = (*registers, *[_NO_REGISTER] * (3 - len(registers)))
        bits = self._place_double(number) if self.is_double else struct.unpack("<I", struct.pack("<f", number))[0]
        self.words.append(_signed(bits << 32 | c << 24 | b << 16 | a << 8 | code))
        return self.operands + len(self.words) - 1

    def _place_double(self, number: float) -> int:
        bits = struct.unpack("<q", struct.pack("<d", number))[0]
        if bits not in self.behind:
            self.behind.append(bits)
        return self.behind.index(bits)


def _encode_program(bound: BoundStep, operands: int) -> _Code:
    program = bound.step.attributes.get("program")
    if not isinstance(program, list) or not program:
        raise ValueError("it has no program")
    code = _Code(operands, bound.floating)
    for number, instruction in enumerate(program):
        if not isinstance(instruction, list) or len(instruction) != 6:
            raise ValueError(f"instruction {number} has not six parts")
        op, *places, alpha, beta = instruction
        if not isinstance(op, str) or op not in _OPERATIONS:
            raise ValueError(f"instruction {number} is {op!r}, which no native kernel knows")
        operation, count = _OPERATIONS[op]
        registers = [_find_register(code, number, place) for place in places[:count]]
        first, second = _number(alpha, code), _number(beta, code)
        if op in _TWO_NUMBERS:
            registers.append(code.add(_OPERATIONS["Constant"][0], (), second))
        code.places.append(code.add(operation, registers, first))
    length = len(code.words) + len(code.behind)
    if length > MAX_LENGTH:
        raise ValueError(f"its program takes {length} instructions and numbers, more than {MAX_LENGTH}")
    return code


def _find_register(code: _Code, number: int, place: object) -> int:
    if not isinstance(place, int) or not 0 <= place < len(code.places):
        raise ValueError(f"instruction {number} reads register {place}, which has no value yet")
    return code.places[place]


def _number(value: object, code: _Code) -> float:
    """A number; in a program on float32 infinite beyond its range."""
    if not isinstance(value, int | float):
        raise ValueError(f"{value!r} is not a number")
    if code.is_double:
        return float(value)
    largest = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
    return math.copysign(math.inf, value) if abs(value) > largest else float(value)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word


ENCODERS: Mapping[str, Callable[[BoundStep], Fields]] = {"pointwise": _encode_pointwise}

SCRATCH: Mapping[str, Callable[[BoundStep], int]] = {"pointwise": _measure_pointwise}
