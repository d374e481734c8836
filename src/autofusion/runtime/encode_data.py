"""Records of the steps that move, choose, compare and make elements (`csrc/record_data.h`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from autofusion.plan import FLOATING, MAX_OPERANDS
from autofusion.plan.dtypes import ARRAY_NAMES
from autofusion.runtime.bound import BoundStep, Shape, broadcast_strides, merge_axes, row_major_strides
from autofusion.runtime.records import ELEMENT_SIZES, ELEMENT_TYPES, MAX_AXES
from autofusion.runtime.remap import remap_view

Fields = tuple[list[int], list[float]]

COMPARISONS = ("Equal", "NotEqual", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Mod", "FMod", "Pow", "Max", "Min", "And", "Or", "Xor")
PAD_MODES = ("constant", "reflect", "edge", "wrap")
INTERPOLATIONS = ("nearest", "linear", "cubic")
COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")
ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")

NO_NUMBERS = [1.0, 0.0, 0.0, 0.0]


def type_code(bound: BoundStep, *names: str) -> int:
    """The code of the one element type of all these buffers; raises ValueError where there are several."""
    types = {bound.buffers[name].dtype for name in names}
    if len(types) != 1 or not types <= set(ELEMENT_TYPES):
        raise ValueError(f"it works on elements of type {', '.join(sorted(types))}")
    return ELEMENT_TYPES.index(types.pop())


def element_size(bound: BoundStep, *names: str) -> int:
    """Bytes of an element of all these buffers; raises ValueError where they differ in type."""
    return ELEMENT_SIZES[type_code(bound, *names)]


def fill_axes(axes: Sequence[tuple[int, ...]], operands: int, count: int = MAX_AXES) -> list[int]:
    """Extents and then the strides of each operand along `count` axes, the leading ones of extent 1."""
    if len(axes) > count:
        raise ValueError(f"it iterates over {len(axes)} axes, more than {count}")
    filled = [(1, *[0] * operands)] * (count - len(axes)) + list(axes)
    return [value for column in zip(*filled, strict=True) for value in column]


def order_axes(bound: BoundStep, name: str) -> list[int]:
    """The axes of a buffer from the outermost to the innermost one in memory."""
    rank = len(bound.shape(name))
    return [0, *range(2, rank), 1] if bound.buffers[name].layout == "nhwc" else list(range(rank))


def _encode_strided(bound: BoundStep) -> Fields:
    x, y = bound.operand(0), bound.result
    extents = bound.integers("extents")
    offset, *strides = bound.integers("view", len(extents) + 1)
    if math.prod(extents) != math.prod(bound.shape(y)):
        raise ValueError(f"{list(extents)} does not fill {list(bound.shape(y))}")
    source = remap_view(extents, strides, offset, bound.shape(x), bound.strides(x))
    target = remap_view(extents, row_major_strides(extents, 1), 0, bound.shape(y), bound.strides(y))
    axes = sort_axes(zip(extents, source[1], target[1], strict=True))
    fields = fill_axes(axes, 2)
    extent, x_strides, y_strides = fields[:8], fields[8:16], fields[16:]
    return [*extent, *x_strides, *y_strides, source[0], target[0], element_size(bound, x, y)], NO_NUMBERS


def sort_axes(axes: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Axes `(extent, *strides)` in the order in which the last operand has them in memory, and merged."""
    return merge_axes(sorted(axes, key=lambda axis: -axis[-1] if axis[0] > 1 else -math.inf))


def _encode_concat(bound: BoundStep) -> Fields:
    names, y = [name for name in bound.step.inputs if name], bound.result
    shape, axis = bound.shape(y), bound.integer("axis")
    if not 1 <= len(names) <= MAX_OPERANDS or not 0 <= axis < len(shape):
        raise ValueError(f"it joins {len(names)} tensors along axis {axis} of {list(shape)}")
    for name in names:
        if _without(bound.shape(name), axis) != _without(shape, axis):
            raise ValueError(f"{list(bound.shape(name))} is no part of {list(shape)}")
    if sum(bound.shape(name)[axis] for name in names) != shape[axis]:
        raise ValueError(f"its parts do not fill {list(shape)}")
    order = order_axes(bound, y)
    at = order.index(axis)
    rows = math.prod(shape[outer] for outer in order[:at])
    widths = [_inner_width(bound, name, order, at) for name in names]
    pitches = [_row_pitch(bound, name, order, at) for name in names]
    fill = [0] * (MAX_OPERANDS - len(names))
    ints = [rows, len(names), _row_pitch(bound, y, order, at), *widths, *fill, *pitches, *fill]
    return [*ints, element_size(bound, *names, y)], NO_NUMBERS


def _inner_width(bound: BoundStep, name: str, order: Sequence[int], at: int) -> int:
    """Elements of one row of `name`, which must lie side by side."""
    shape, strides = bound.shape(name), bound.strides(name)
    inner = [axis for axis in order[at:] if shape[axis] != 1]
    width = 1
    for axis in reversed(inner):
        if strides[axis] != width and math.prod(shape) > 0:
            raise ValueError(f"the rows of {name!r} have gaps")
        width *= shape[axis]
    return math.prod(shape[axis] for axis in order[at:])


def _row_pitch(bound: BoundStep, name: str, order: Sequence[int], at: int) -> int:
    """Elements from one row of `name` to the next, all rows being equally far apart."""
    shape, strides = bound.shape(name), bound.strides(name)
    merged = merge_axes((shape[axis], strides[axis]) for axis in order[:at])
    if len(merged) > 1:
        raise ValueError(f"the rows of {name!r} are not equally far apart")
    return merged[0][1] if merged else 0


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def _encode_select(bound: BoundStep) -> Fields:
    if bound.buffers[bound.operand(0)].dtype != "bool":
        raise ValueError("its condition holds no truth values")
    code = type_code(bound, bound.operand(1), bound.operand(2), bound.result)
    return _pointwise(bound, 3, 0, code, code)


def _encode_compare(bound: BoundStep) -> Fields:
    code = type_code(bound, bound.operand(0), bound.operand(1))
    return _pointwise(bound, 2, bound.code("op", COMPARISONS), code, type_code(bound, bound.result))


def _encode_arithmetic(bound: BoundStep) -> Fields:
    code = type_code(bound, bound.operand(0), bound.operand(1), bound.result)
    return _pointwise(bound, 2, bound.code("op", ARITHMETIC), code, code)


def _encode_convert(bound: BoundStep) -> Fields:
    target = bound.buffers[bound.result].dtype
    if ARRAY_NAMES.get(target) != bound.step.attributes.get("to"):
        raise ValueError(f"its result is of type {target}")
    return _pointwise(bound, 1, 0, type_code(bound, bound.operand(0)), type_code(bound, bound.result))


def _pointwise(bound: BoundStep, count: int, operator: int, code: int, result_code: int) -> Fields:
    y = bound.result
    extents = bound.shape(y)
    names = [y, *(bound.operand(index) for index in range(count))]
    strides = [broadcast_strides(bound.shape(name), bound.strides(name), extents) for name in names]
    order = order_axes(bound, y)
    axes = merge_axes((extents[axis], *(stride[axis] for stride in strides)) for axis in order)
    fields = fill_axes(axes, 1 + count)
    return [*fields, *[0] * (MAX_AXES * (3 - count)), operator, code, result_code], NO_NUMBERS


def _encode_pad(bound: BoundStep) -> Fields:
    x, y = bound.operand(0), bound.result
    shape, source = bound.shape(y), bound.shape(x)
    rank = len(shape)
    pads = bound.integers("pads", 2 * rank)
    for axis in range(rank):
        if shape[axis] != source[axis] + pads[axis] + pads[rank + axis]:
            raise ValueError(f"{list(pads)} does not bring {list(source)} to {list(shape)}")
    value = bound.operand(1)
    if value:
        type_code(bound, x, value)
    order = order_axes(bound, y)
    columns = [shape, bound.strides(y), source, bound.strides(x), pads[:rank]]
    fillers = (1, 0, 1, 0, 0)
    fields: list[int] = []
    if rank > MAX_AXES:
        raise ValueError(f"it iterates over {rank} axes, more than {MAX_AXES}")
    for column, filler in zip(columns, fillers, strict=True):
        fields += [filler] * (MAX_AXES - rank) + [column[axis] for axis in order]
    return [*fields, bound.code("mode", PAD_MODES), element_size(bound, x, y)], NO_NUMBERS


def _encode_resize(bound: BoundStep) -> Fields:
    x, y = bound.operand(0), bound.result
    source, target = bound.shape(x), bound.shape(y)
    axes = len(source) - 2
    if ELEMENT_TYPES[type_code(bound, x, y)] not in FLOATING:
        raise ValueError(f"it works on elements of type {bound.buffers[x].dtype}")
    if not 1 <= axes <= 3 or source[:2] != target[:2] or bound.buffers[x].layout != bound.buffers[y].layout:
        raise ValueError(f"it takes {list(source)} to {list(target)}")
    if bound.buffers[x].layout == "nhwc":
        images = [source[0], source[1], bound.pitch(x), bound.pitch(y)]
    else:
        images = [source[0] * source[1], 1, 1, 1]
    scales = [1.0] * (3 - axes) + bound.numbers("scales", axes)
    fill = [1] * (3 - axes)
    ints = [
        *images,
        *fill,
        *source[2:],
        *fill,
        *target[2:],
        bound.code("mode", INTERPOLATIONS),
        bound.code("coordinates", COORDINATES),
        bound.code("rounding", ROUNDINGS),
        bound.integer("exclude_outside"),
    ]
    return ints, [*scales, bound.number("cubic")]


def _encode_range(bound: BoundStep) -> Fields:
    y = bound.result
    names = (bound.operand(0), bound.operand(1))
    if len(bound.shape(y)) != 1 or any(math.prod(bound.shape(name)) != 1 for name in names):
        raise ValueError("it counts from no scalar to a vector")
    return [bound.shape(y)[0], type_code(bound, *names, y)], NO_NUMBERS


def _encode_triangle(bound: BoundStep) -> Fields:
    x, y = bound.operand(0), bound.result
    shape = bound.shape(x)
    if len(shape) < 2 or shape != bound.shape(y) or bound.buffers[x].layout != bound.buffers[y].layout:
        raise ValueError(f"it takes {list(shape)} to {list(bound.shape(y))}")
    right, down = bound.integers("diagonal", 2)
    ints = [math.prod(shape[:-2]), *shape[-2:], right - down, bound.integer("upper")]
    return [*ints, element_size(bound, x, y)], NO_NUMBERS


def _encode_filter(bound: BoundStep) -> Fields:
    shape, tile = bound.shape(bound.operand(0)), bound.integer("tile")
    if len(shape) != 4 or shape[2:] != (3, 3) or type_code(bound, bound.result) != 0:
        raise ValueError(f"its filters have shape {list(shape)}")
    return [*shape[:2], tile, bound.weight_type(bound.operand(0))], NO_NUMBERS


ENCODERS: Mapping[str, Callable[[BoundStep], Fields]] = {
    "strided": _encode_strided,
    "concat": _encode_concat,
    "select": _encode_select,
    "compare": _encode_compare,
    "arithmetic": _encode_arithmetic,
    "convert": _encode_convert,
    "pad": _encode_pad,
    "resize": _encode_resize,
    "range": _encode_range,
    "triangle": _encode_triangle,
    "filter": _encode_filter,
}
"""By kernel: what gives the fields of a record."""

SCRATCH: Mapping[str, Callable[[BoundStep], int]] = {}
"""None of them needs any."""
