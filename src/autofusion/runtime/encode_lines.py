"""Records of the steps that reduce, order and look up elements (`csrc/record_data.h`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from autofusion.plan import FLOATING
from autofusion.runtime.bound import BoundStep, Shape, merge_axes
from autofusion.runtime.encode_data import NO_NUMBERS, Fields, element_size, fill_axes, order_axes, type_code
from autofusion.runtime.records import ELEMENT_TYPES, HALVES, MAX_AXES

REDUCTIONS = ("sum", "mean", "max", "min", "prod", "sum_square", "l1", "l2")
SCATTERS = ("none", "add", "mul", "max", "min")
EXTREMES = ("max", "min")


def _encode_softmax(bound: BoundStep) -> Fields:
    x, y = bound.operand(0), bound.result
    if bound.shape(x) != bound.shape(y) or ELEMENT_TYPES[type_code(bound, x, y)] not in FLOATING:
        raise ValueError(f"it takes {list(bound.shape(x))} to {list(bound.shape(y))}")
    return [*_lines(bound, bound.integer("axis")), bound.integer("log")], NO_NUMBERS


def _encode_argument(bound: BoundStep) -> Fields:
    x, axis = bound.operand(0), bound.integer("axis")
    _expect_type(bound, bound.result, "int64")
    lines = _lines(bound, axis, reduced=True)
    return [*lines, bound.code("kind", EXTREMES), bound.integer("last"), type_code(bound, x)], NO_NUMBERS


def _encode_cumulate(bound: BoundStep) -> Fields:
    x, y = bound.operand(0), bound.result
    if bound.shape(x) != bound.shape(y):
        raise ValueError(f"it takes {list(bound.shape(x))} to {list(bound.shape(y))}")
    lines = _lines(bound, bound.integer("axis"))
    return [*lines, bound.integer("exclusive"), bound.integer("reverse"), type_code(bound, x, y)], NO_NUMBERS


def _encode_rank(bound: BoundStep) -> Fields:
    x, y, axis = bound.operand(0), bound.result, bound.integer("axis")
    _expect_type(bound, y, "int64")
    lines = _lines(bound, axis)
    return [*lines, bound.shape(y)[axis], bound.integer("largest"), type_code(bound, x)], NO_NUMBERS


def _lines(bound: BoundStep, axis: int, *, reduced: bool = False) -> list[int]:
    """Lines along `axis` of x and y, which have the same other extents; y has no such axis, or one of extent 1, where
    it is `reduced`.
    """
    x, y = bound.operand(0), bound.result
    shape, result = bound.shape(x), bound.shape(y)
    if not 0 <= axis < len(shape):
        raise ValueError(f"{list(shape)} has no axis {axis}")
    if bound.buffers[x].layout == "nhwc":
        if axis != 1 or bound.buffers[y].layout != "nhwc" or result != shape:
            raise ValueError("its lines do not run along the channels")
        pixels = math.prod(shape[:1] + shape[2:])
        return [pixels, shape[1], 1, bound.pitch(x), 1, bound.pitch(y), 1]
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    others = shape[:axis] + shape[axis + 1 :]
    if reduced:
        if result not in (others, (*shape[:axis], 1, *shape[axis + 1 :])) or bound.buffers[y].layout != "plain":
            raise ValueError(f"it takes {list(shape)} to {list(result)}")
        extent = 1
    else:
        extent = result[axis] if len(result) == len(shape) else 0
        if result != (*shape[:axis], extent, *shape[axis + 1 :]) or bound.buffers[y].layout != "plain":
            raise ValueError(f"it takes {list(shape)} to {list(result)}")
    return [outer, shape[axis], inner, shape[axis] * inner, inner, extent * inner, inner]


def _encode_reduce(bound: BoundStep) -> Fields:
    x, y = bound.operand(0), bound.result
    shape = bound.shape(x)
    axes = set(bound.integers("axes"))
    kept = [axis for axis in order_axes(bound, x) if axis not in axes]
    if not axes <= set(range(len(shape))):
        raise ValueError(f"{list(shape)} has no axes {sorted(axes)}")
    extents = [shape[axis] for axis in range(len(shape)) if axis not in axes]
    keeping = [1 if axis in axes else extent for axis, extent in enumerate(shape)]
    if bound.buffers[y].layout != "plain" or list(bound.shape(y)) not in (extents, keeping):
        raise ValueError(f"it takes {list(shape)} to {list(bound.shape(y))}")
    strides = bound.strides(x)
    places: dict[int, int] = {}
    step = 1
    for axis in reversed([axis for axis in range(len(shape)) if axis not in axes]):
        places[axis] = step
        step *= shape[axis]
    inner = merge_axes((shape[axis], strides[axis], places[axis]) for axis in kept)
    reduced = merge_axes((shape[axis], strides[axis]) for axis in order_axes(bound, x) if axis in axes)
    fields = [*fill_axes(inner, 2), *fill_axes(reduced, 1)]
    return [*fields, bound.code("kind", REDUCTIONS), type_code(bound, x, y)], NO_NUMBERS


def _encode_gather(bound: BoundStep) -> Fields:
    x, indices, y, axis = bound.operand(0), bound.operand(1), bound.result, bound.integer("axis")
    shape, named = bound.shape(x), bound.shape(indices)
    if not 0 <= axis < len(shape) or bound.shape(y) != (*shape[:axis], *named, *shape[axis + 1 :]):
        raise ValueError(f"it takes {list(shape)} at {list(named)} to {list(bound.shape(y))}")
    ints = [math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]), math.prod(named)]
    widened = bound.buffers[x].dtype in HALVES and bound.buffers[y].dtype == "float"
    size = element_size(bound, x) if widened else element_size(bound, x, y)
    return [*ints, _index_size(bound), size, type_code(bound, x) if widened else 0], NO_NUMBERS


def _encode_gather_elements(bound: BoundStep) -> Fields:
    if bound.shape(bound.operand(1)) != bound.shape(bound.result):
        raise ValueError("its indices and its result differ in shape")
    return _elements(bound, bound.operand(0), bound.result), NO_NUMBERS


def _encode_scatter_elements(bound: BoundStep) -> Fields:
    x, y, updates = bound.operand(0), bound.result, bound.operand(2)
    if bound.shape(bound.operand(1)) != bound.shape(updates) or bound.shape(x) != bound.shape(y):
        raise ValueError("its indices and its updates, or its operand and its result, differ in shape")
    type_code(bound, x, y, updates)
    return [*_elements(bound, y, updates), bound.code("reduction", SCATTERS)], NO_NUMBERS


def _elements(bound: BoundStep, name: str, other: str) -> list[int]:
    """Extents of the indices, strides of `name`, along whose axis they count, and the rest of `af_elements`."""
    axis, shape, named = bound.integer("axis"), bound.shape(name), bound.shape(bound.operand(1))
    fits = len(shape) == len(named) and 0 <= axis < len(shape)
    if not fits or any(a > b for place, (a, b) in enumerate(zip(named, shape, strict=True)) if place != axis):
        raise ValueError(f"indices of {list(named)} name no elements of {list(shape)}")
    strides = bound.strides(name)
    along = [0 if place == axis else stride for place, stride in enumerate(strides)]
    if len(shape) > MAX_AXES:
        raise ValueError(f"it iterates over {len(shape)} axes, more than {MAX_AXES}")
    fields = fill_axes(list(zip(named, along, strict=True)), 1)
    return [*fields, shape[axis], strides[axis], _index_size(bound), type_code(bound, name, other)]


def _encode_gather_blocks(bound: BoundStep) -> Fields:
    x, y, batch_axes = bound.operand(0), bound.result, bound.integer("batch_dims")
    ints, block = _blocks(bound, bound.shape(x), batch_axes)
    named = bound.shape(bound.operand(1))
    if bound.shape(y) != (*named[:-1], *block):
        raise ValueError(f"it takes {list(bound.shape(x))} at {list(named)} to {list(bound.shape(y))}")
    return [*ints, _index_size(bound), type_code(bound, x, y)], NO_NUMBERS


def _encode_scatter_blocks(bound: BoundStep) -> Fields:
    x, y, updates = bound.operand(0), bound.result, bound.operand(2)
    ints, block = _blocks(bound, bound.shape(x), 0)
    named = bound.shape(bound.operand(1))
    if bound.shape(updates) != (*named[:-1], *block) or bound.shape(x) != bound.shape(y):
        raise ValueError(f"updates of {list(bound.shape(updates))} do not fit {list(bound.shape(x))}")
    code = type_code(bound, x, y, updates)
    return [*ints, _index_size(bound), code, bound.code("reduction", SCATTERS)], NO_NUMBERS


def _blocks(bound: BoundStep, shape: Shape, batch_axes: int) -> tuple[list[int], Shape]:
    """The fields up to the block's extent, and its shape."""
    named = bound.shape(bound.operand(1))
    depth = named[-1] if named else 0
    if not named or batch_axes < 0 or batch_axes + depth > len(shape) or named[:batch_axes] != shape[:batch_axes]:
        raise ValueError(f"indices of {list(named)} name no blocks of {list(shape)}")
    block = shape[batch_axes + depth :]
    axes = shape[batch_axes : batch_axes + depth]
    fields = [math.prod(shape[:batch_axes]), math.prod(named[batch_axes:-1]), depth, *axes, *[1] * (MAX_AXES - depth)]
    return [*fields, math.prod(block)], block


def _index_size(bound: BoundStep) -> int:
    dtype = bound.buffers[bound.operand(1)].dtype
    if dtype not in ("int32", "int64"):
        raise ValueError(f"its indices are of type {dtype}")
    return 8 if dtype == "int64" else 4


def _expect_type(bound: BoundStep, name: str, dtype: str) -> None:
    if bound.buffers[name].dtype != dtype:
        raise ValueError(f"buffer {name!r} is not of type {dtype}")


ENCODERS: Mapping[str, Callable[[BoundStep], Fields]] = {
    "softmax": _encode_softmax,
    "reduce": _encode_reduce,
    "argument": _encode_argument,
    "cumulate": _encode_cumulate,
    "rank": _encode_rank,
    "gather": _encode_gather,
    "gather_elements": _encode_gather_elements,
    "gather_blocks": _encode_gather_blocks,
    "scatter_elements": _encode_scatter_elements,
    "scatter_blocks": _encode_scatter_blocks,
}
"""By kernel: what gives the fields of a record."""

SCRATCH: Mapping[str, Callable[[BoundStep], int]] = {}
"""None of them needs any."""
