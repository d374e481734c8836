"""A plan step with shapes bound: checked access to its attributes, and the strides of its operands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from autofusion.plan import Buffer, Setting, Step
from autofusion.record import Record
from autofusion.runtime.records import DOUBLE_KERNELS, ELEMENT_TYPES, HALVES

Shape = tuple[int, ...]

_INTEGERS = frozenset({int})


class BoundStep(Record):
    """A step of an untrusted plan.

    The readers of attributes raise ValueError where one is absent or of a wrong type.
    """

    step: Step
    buffers: Mapping[str, Buffer]
    shapes: Mapping[str, Shape]

    @property
    def floating(self) -> str:
        """The element type that the step computes in if it computes floating numbers: that of its first result."""
        return "double" if self.buffers[self.step.outputs[0]].dtype == "double" else "float"

    @property
    def floating_bytes(self) -> int:
        """Bytes of a number of that type."""
        return 8 if self.floating == "double" else 4

    @property
    def result(self) -> str:
        """Name of the only result."""
        return self.step.outputs[0]

    def operand(self, index: int) -> str:
        """Name of the operand at `index`, "" where it is absent or left out at the end."""
        return self.step.inputs[index] if index < len(self.step.inputs) else ""

    def shape(self, name: str) -> Shape:
        """Shape of a buffer; raises KeyError where it is not known."""
        return self.shapes[name]

    def integer(self, name: str) -> int:
        """An attribute that is an integer or a truth value."""
        return _expect_integer(name, self.step.attributes.get(name))

    def flag(self, name: str) -> bool:
        """An attribute that is a truth value; false where it is absent."""
        return bool(self.step.attributes.get(name)) and self.integer(name) == 1

    def integers(self, name: str, count: int | None = None) -> Shape:
        """An attribute that is a list of `count` integers, of any number of them where that is None."""
        entries = self._entries(name, count, "integers")
        if not _INTEGERS.issuperset(map(type, entries)):
            entries = [_expect_integer(name, item) for item in entries]
        return tuple(cast(Sequence[int], entries))

    def numbers(self, name: str, count: int) -> list[float]:
        """An attribute that is a list of `count` numbers."""
        return [_expect_number(name, item) for item in self._entries(name, count, "numbers")]

    def _entries(self, name: str, count: int | None, what: str) -> Sequence[Setting]:
        value = self.step.attributes.get(name)
        if not isinstance(value, list | tuple) or count not in (None, len(value)):
            raise ValueError(f"{name} is {value!r}, not a list of {what if count is None else f'{count} {what}'}")
        return value

    def number(self, name: str) -> float:
        """An attribute that is a number; 0 where it is absent."""
        value = self.step.attributes.get(name)
        return 0.0 if value is None else _expect_number(name, value)

    def code(self, name: str, names: tuple[str, ...]) -> int:
        """Index in `names` of an attribute that is a string; absent counts as ""."""
        value = self.step.attributes.get(name, "")
        if value not in names:
            raise ValueError(f"{name} is {value!r}, which no native kernel knows")
        return names.index(str(value))

    def weight_type(self, name: str) -> int:
        """Code of the element type of a weight, which kernels on float32 widen where it has two bytes."""
        dtype = self.buffers[name].dtype
        if dtype != self.floating and not (self.floating == "float" and dtype in HALVES):
            raise ValueError(f"its weight {name!r} is of type {dtype}")
        return ELEMENT_TYPES.index(dtype)

    def expect_floats(self, others: Collection[int] = ()) -> None:
        """Raise ValueError unless operands, but for those at the places `others`, and results are floats of one type.

        That is float32, or float64 of a kernel that computes in it.
        """
        names = [name for place, name in enumerate(self.step.inputs) if place not in others]
        types = {self.buffers[name].dtype for name in (*names, *self.step.outputs) if name}
        if types != {"float"} and not (types == {"double"} and self.step.kernel in DOUBLE_KERNELS):
            raise ValueError(f"it works on elements of type {', '.join(sorted(types))}")

    def pitch(self, name: str) -> int:
        """Elements from pixel to pixel of a buffer that stores axis 1 innermost."""
        buffer, shape = self.buffers[name], self.shape(name)
        if buffer.layout != "nhwc" and len(shape) != 2:
            raise ValueError(f"buffer {name!r} of rank {len(shape)} is not in layout nhwc")
        return shape[1] if buffer.pitch is None else buffer.pitch

    def strides(self, name: str) -> list[int]:
        """Elements from one index to the next along each axis of a buffer, in the model's order of axes."""
        shape = self.shape(name)
        if self.buffers[name].layout == "plain":
            return row_major_strides(shape, 1)
        batch, *spatial = row_major_strides(shape[:1] + shape[2:], self.pitch(name))
        return [batch, 1, *spatial]


def row_major_strides(shape: Shape, innermost: int) -> list[int]:
    """Row-major strides in elements, of which the last axis has `innermost`."""
    strides: list[int] = []
    for size in reversed(shape):
        strides.append(innermost)
        innermost *= size
    return strides[::-1]


class BroadcastError(ValueError):
    """Shapes of operands do not fit; of a plan with open extents that may be the fault of its inputs."""


def broadcast_strides(shape: Shape, strides: list[int], extents: Shape) -> list[int]:
    """`strides` of an operand of `shape` along the axes of `extents`, 0 where it broadcasts.

    Raises BroadcastError where it does not broadcast to `extents`.
    """
    missing = len(extents) - len(shape)
    if missing < 0 or any(size not in (1, extent) for size, extent in zip(shape, extents[missing:], strict=True)):
        raise BroadcastError(f"shape {list(shape)} does not broadcast to {list(extents)}")
    return [0] * missing + [0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True)]


def merge_axes(axes: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Axes `(extent, *strides)`, outermost first, as few as walk the same elements in the same order.

    Those of extent 1 go, and neighbours are joined where every operand walks both in one stride.
    """
    merged: list[tuple[int, ...]] = []
    for extent, *strides in axes:
        if extent == 1:
            continue
        if merged and all(outer == extent * inner for outer, inner in zip(merged[-1][1:], strides, strict=True)):
            merged[-1] = (merged[-1][0] * extent, *strides)
        else:
            merged.append((extent, *strides))
    return merged


def _expect_integer(name: str, value: Setting) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{name} is {value!r}, not an integer")
    return int(value)


def _expect_number(name: str, value: Setting) -> float:
    if not isinstance(value, int | float):
        raise ValueError(f"{name} is {value!r}, not a number")
    return float(value)
