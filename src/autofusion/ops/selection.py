"""Rows that join, cut and border tensors: Concat, Split, Slice, Pad and Trilu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from autofusion.ir import Dim, Node, Value
from autofusion.ir.dims import floor_divide
from autofusion.ops.bounds import greater, is_at_least, smaller
from autofusion.ops.conversion import (
    attribute_to_input,
    keep_opaque,
    normalize_axis,
    trim_inputs,
    with_attributes,
    with_input,
    without,
)
from autofusion.ops.faults import BAD_ATTRIBUTE, SHAPES_CONTRADICT, WRONG_RANK, describe, fault
from autofusion.ops.operands import (
    content_of,
    int64_constant,
    integer,
    numbers_of,
    resolve_axes,
    resolve_axis,
    result,
    shape_of,
    text,
)
from autofusion.ops.pointwise import infer_same
from autofusion.ops.precision import optional, required
from autofusion.ops.table import Operator, Scope

_FAR = 2**31 - 1
"""Exporters write this, or the same of 64 bits, for "to the end"."""


def _convert_concat(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    return [normalize_axis(node, scope)]


def _infer_concat(node: Node, scope: Scope) -> Sequence[Value]:
    shapes = [(name, shape) for name in node.inputs if (shape := scope.value(name).shape) is not None]
    if not shapes:
        return []
    first, total = shapes[0]
    axis = resolve_axis(node, integer(node, "axis"), len(total))
    joined = list(total)
    for name, shape in shapes[1:]:
        if len(shape) != len(total):
            raise fault(WRONG_RANK, node, f"inputs {_two(scope, first, name)} differ in rank")
        for place, extent in enumerate(shape):
            if place == axis:
                joined[place] = joined[place] + extent
            elif isinstance(extent, int) and isinstance(joined[place], int) and extent != joined[place]:
                raise fault(SHAPES_CONTRADICT, node, f"inputs {_two(scope, first, name)} differ along axis {place}")
            elif isinstance(extent, int):
                joined[place] = extent
    if len(shapes) != len(node.inputs):
        return []
    return [result(tuple(joined), content=_join_contents(node, scope) if len(joined) == 1 else None)]


def _two(scope: Scope, first: str, second: str) -> str:
    return f"{describe(scope.value(first))} and {describe(scope.value(second))}"


def _join_contents(node: Node, scope: Scope) -> tuple[Dim, ...] | None:
    joined: tuple[Dim, ...] = ()
    for name in node.inputs:
        content = content_of(name, scope)
        if content is None:
            return None
        joined += content
    return joined


def _evaluate_concat(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    return [np.concatenate([array for array in operands if array is not None], integer(node, "axis"))]


def _convert_split(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Sizes become a constant operand where the extent is a number; else `num_outputs` stays."""
    moved = trim_inputs(attribute_to_input(normalize_axis(node, scope), "split", 1, scope))
    if moved.input(1):
        return [moved]
    count = len(node.outputs)
    shape = shape_of(node, 0, scope)
    extent = None if shape is None else shape[integer(moved, "axis")]
    if not isinstance(extent, int):
        return [with_attributes(moved, num_outputs=count)]
    sizes = _share(extent, count)
    if integer(moved, "num_outputs", count) != count or (version < 18 and extent % count):
        raise fault(SHAPES_CONTRADICT, node, f"axis {integer(moved, 'axis')} of {extent} cannot be cut into {count}")
    plain = Node(
        node.name, "Split", moved.inputs, node.outputs, without(moved.attributes, "num_outputs"), origin=node.origin
    )
    return [with_input(plain, 1, int64_constant(f"{node.name}_split", sizes, scope))]


def _share(extent: int, count: int) -> list[int]:
    """Equal parts, the last one smaller where they do not come out even."""
    part = -(-extent // count)
    return [max(min(part, extent - part * index), 0) for index in range(count)]


def _infer_split(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    if x.shape is None:
        return []
    axis = resolve_axis(node, integer(node, "axis"), len(x.shape))
    count = len(node.outputs)
    extent = x.shape[axis]
    if node.input(1):
        sizes = content_of(node.input(1), scope)
        if sizes is None:
            return []
        _check_sizes(node, x, axis, sizes)
    else:
        part = floor_divide(extent + (count - 1), count)
        sizes = (*[part] * (count - 1), extent - part * (count - 1))
    content = content_of(x.name, scope)
    starts = [sum(size for size in sizes[:index] if isinstance(size, int)) for index in range(count + 1)]
    parts = [content[a:b] for a, b in pairwise(starts)] if content else [None] * count
    return [
        result((*x.shape[:axis], size, *x.shape[axis + 1 :]), content=part)
        for size, part in zip(sizes, parts, strict=True)
    ]


def _check_sizes(node: Node, x: Value, axis: int, sizes: Sequence[Dim]) -> None:
    if len(sizes) != len(node.outputs):
        raise fault(SHAPES_CONTRADICT, node, f"{len(sizes)} sizes for {len(node.outputs)} outputs")
    total = sum(sizes)
    extent = x.shape[axis] if x.shape else 0
    if isinstance(total, int) and isinstance(extent, int) and total != extent:
        problem = f"sizes {[str(size) for size in sizes]} do not add up to axis {axis} of {describe(x)}"
        raise fault(SHAPES_CONTRADICT, node, problem)


def _evaluate_split(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, given = required(operands, 0), optional(operands, 1)
    axis = integer(node, "axis")
    sizes = [int(size) for size in given] if given is not None else _share(x.shape[axis], len(node.outputs))
    return list(np.split(x, np.cumsum(sizes)[:-1], axis))


def _convert_slice(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Limits, axes and steps are operands from opset 10; absent axes and steps are written out."""
    moved = node
    for index, attribute in enumerate(("starts", "ends", "axes"), start=1):
        moved = attribute_to_input(moved, attribute, index, scope)
    starts = scope.value(moved.input(1)).shape
    if starts is None or len(starts) != 1 or not isinstance(starts[0], int):
        return [trim_inputs(moved)]
    dtype = scope.value(moved.input(1)).dtype
    kind = np.int64 if dtype is None else dtype.numpy.type
    if not moved.input(3):
        moved = with_input(moved, 3, scope.define_constant(f"{node.name}_axes", np.arange(starts[0], dtype=kind)))
    if not moved.input(4):
        moved = with_input(moved, 4, scope.define_constant(f"{node.name}_steps", np.ones(starts[0], kind)))
    return [_resolve_slice_axes(moved, kind, scope)]


def _resolve_slice_axes(node: Node, kind: type[np.generic], scope: Scope) -> Node:
    rank, axes = scope.value(node.input(0)).rank, numbers_of(node.input(3), scope)
    if rank is None or axes is None or all(axis >= 0 for axis in axes):
        return node
    resolved = np.array(resolve_axes(node, axes, rank), kind)
    return with_input(node, 3, scope.define_constant(f"{node.name}_axes", resolved))


def _infer_slice(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    starts, ends = content_of(node.input(1), scope), content_of(node.input(2), scope)
    if x.shape is None or starts is None or ends is None:
        return []
    axes = numbers_of(node.input(3), scope) if node.input(3) else tuple(range(len(starts)))
    steps = numbers_of(node.input(4), scope) if node.input(4) else (1,) * len(starts)
    if axes is None or steps is None:
        return []
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise fault(SHAPES_CONTRADICT, node, "starts, ends, axes and steps differ in length")
    if 0 in steps:
        raise fault(BAD_ATTRIBUTE, node, "a step is 0")
    shape = list(x.shape)
    for axis, start, end, step in zip(resolve_axes(node, axes, len(shape)), starts, ends, steps, strict=True):
        extent = _slice_extent(shape[axis], start, end, step)
        if extent is None:
            return []
        shape[axis] = extent
    content = content_of(x.name, scope)
    limits = [*starts, *ends]
    if content is None or len(limits) != 2 or not all(isinstance(limit, int) for limit in limits):
        return [result(tuple(shape))]
    start, end = (limit for limit in limits if isinstance(limit, int))
    return [
        result(tuple(shape), content=[content[place] for place in slice_places(start, end, steps[0], len(content))])
    ]


def slice_places(start: int, end: int, step: int, extent: int) -> range:
    """The places that Slice takes of an axis of `extent` elements.

    Python's rule but for one case: with a negative step a start before the first element is the first element.
    """
    if step > 0:
        return range(*slice(start, end, step).indices(extent))
    first = start + extent if start < 0 else start
    last = end + extent if end < 0 else end
    return range(min(max(first, 0), extent - 1), min(max(last, -1), extent - 1), step)


def _slice_extent(extent: Dim, start: Dim, end: Dim, step: int) -> Dim | None:
    if isinstance(extent, int) and isinstance(start, int) and isinstance(end, int):
        return len(slice_places(start, end, step, extent))
    if step < 0:
        whole = isinstance(start, int) and (start == -1 or start >= _FAR) and isinstance(end, int) and end <= -_FAR
        return floor_divide(extent + (-step - 1), -step) if whole else None
    first, last = _count_from_front(start, extent), _count_from_front(end, extent)
    if first is None or last is None:
        return None
    # Holding the start at 0 and the end at the extent is enough: what lies outside on the other side is empty.
    length = smaller(last, extent) - greater(first, 0)
    return greater(floor_divide(length + (step - 1), step), 0)


def _count_from_front(place: Dim, extent: Dim) -> Dim | None:
    """`place` as it counts from the front; None where it may or may not count from the end."""
    if isinstance(place, int):
        return extent if place >= _FAR else extent + place if place < 0 else place
    return place if is_at_least(place, 0) else None


def _evaluate_slice(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, starts, ends = (required(operands, index) for index in range(3))
    axes, steps = optional(operands, 3), optional(operands, 4)
    chosen = np.arange(len(starts)) if axes is None else axes
    places: list[slice] = [slice(None)] * x.ndim
    for index, axis in enumerate(chosen.tolist()):
        step = 1 if steps is None else int(steps[index])
        taken = slice_places(int(starts[index]), int(ends[index]), step, x.shape[axis])
        # -1 is the place before the first element here, and the last element to Python.
        places[axis] = slice(taken.start, None if taken.stop < 0 else taken.stop, step) if taken else slice(0)
    return [x[tuple(places)]]


def _convert_pad(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Pads and value are operands from opset 11; pads of some axes are written out for all of them."""
    moved = attribute_to_input(node, "pads", 1, scope) if version < 11 else trim_inputs(node)
    if version < 11:
        value, dtype = node.attributes.get("value", 0.0), scope.value(node.input(0)).dtype
        if value == 0.0:
            return [replace(moved, attributes=without(moved.attributes, "value"))]
        return [attribute_to_input(moved, "value", 2, scope, dtype.numpy.type)] if dtype else keep_opaque(node)
    pads, axes = numbers_of(moved.input(1), scope), numbers_of(moved.input(3), scope)
    rank = scope.value(moved.input(0)).rank
    if rank is None or pads is None or axes is None:
        return [moved]
    chosen = resolve_axes(moved, axes, rank)
    _check_pads(moved, len(pads), len(axes))
    full = [0] * (2 * rank)
    for place, axis in enumerate(chosen):
        full[axis], full[rank + axis] = pads[place], pads[len(axes) + place]
    cut = replace(moved, inputs=(*moved.inputs[:3],))
    return [trim_inputs(with_input(cut, 1, int64_constant(f"{node.name}_pads", full, scope)))]


def _check_pads(node: Node, given: int, axes: int) -> None:
    if given != 2 * axes:
        raise fault(SHAPES_CONTRADICT, node, f"{given} pads do not fit {axes} axes: each takes two")


def _infer_pad(node: Node, scope: Scope) -> Sequence[Value]:
    x, pads = scope.value(node.input(0)), content_of(node.input(1), scope)
    if x.shape is None or pads is None:
        return []
    axes = numbers_of(node.input(3), scope) if node.input(3) else tuple(range(len(x.shape)))
    if axes is None:
        return []
    _check_pads(node, len(pads), len(axes))
    shape = list(x.shape)
    for place, axis in enumerate(resolve_axes(node, axes, len(shape))):
        shape[axis] = shape[axis] + pads[place] + pads[len(axes) + place]
    if any(isinstance(extent, int) and extent < 0 for extent in shape):
        raise fault(SHAPES_CONTRADICT, node, f"negative pads take more from {describe(x)} than there is")
    return [result(tuple(shape))]


def _evaluate_pad(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, pads = required(operands, 0), required(operands, 1)
    value, axes = optional(operands, 2), optional(operands, 3)
    chosen = range(x.ndim) if axes is None else [int(axis) % x.ndim for axis in axes]
    widths = [(0, 0)] * x.ndim
    for place, axis in enumerate(chosen):
        widths[axis] = int(pads[place]), int(pads[len(chosen) + place])
    cut = tuple(
        slice(max(-begin, 0), extent - max(-end, 0)) for (begin, end), extent in zip(widths, x.shape, strict=True)
    )
    grown = [(max(begin, 0), max(end, 0)) for begin, end in widths]
    mode = text(node, "mode", "constant")
    if mode == "constant":
        fill = x.dtype.type(0) if value is None else value.reshape(-1)[0]
        return [np.pad(x[cut], grown, constant_values=fill)]
    return [np.pad(x[cut], grown, mode=_PAD_MODES[mode])]


def _evaluate_trilu(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, offset = required(operands, 0), optional(operands, 1)
    diagonal = 0 if offset is None else int(offset.reshape(()))
    return [np.triu(x, diagonal) if integer(node, "upper", 1) else np.tril(x, diagonal)]


_PAD_MODES: Mapping[str, Literal["reflect", "edge", "wrap"]] = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}

ROWS = (
    Operator("Concat", 7, convert=_convert_concat, infer=_infer_concat, evaluate=_evaluate_concat),
    Operator("Split", 18, convert=_convert_split, infer=_infer_split, evaluate=_evaluate_split),
    Operator("Slice", 10, convert=_convert_slice, infer=_infer_slice, evaluate=_evaluate_slice),
    Operator("Pad", 18, convert=_convert_pad, infer=_infer_pad, evaluate=_evaluate_pad),
    Operator("Trilu", 14, infer=infer_same, evaluate=_evaluate_trilu),
)
