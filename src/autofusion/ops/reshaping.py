"""Rows that change the form of a tensor and leave its elements alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.ir import Dim, Node, Shape, Value
from autofusion.ir.dims import floor_divide, product
from autofusion.ops.bounds import is_at_least
from autofusion.ops.broadcast import broadcast_shapes
from autofusion.ops.conversion import (
    attribute_to_input,
    normalize_axes_input,
    normalize_axis,
    trim_inputs,
    with_attributes,
)
from autofusion.ops.faults import BAD_ATTRIBUTE, SHAPES_CONTRADICT, WRONG_RANK, describe, describe_shape, fault
from autofusion.ops.operands import (
    content_of,
    integer,
    integers,
    numbers_of,
    require_rank,
    resolve_axes,
    resolve_axis,
    result,
    shape_of,
    text,
)
from autofusion.ops.precision import required
from autofusion.ops.table import Operator, Scope


def _infer_reshape(node: Node, scope: Scope) -> Sequence[Value]:
    x, target = scope.value(node.input(0)), content_of(node.input(1), scope)
    if target is None:
        return []
    copied = [_copy_extent(node, x, axis, extent) for axis, extent in enumerate(target)]
    extents = [extent for extent in copied if extent is not None]
    if len(extents) != len(copied):
        return []
    open_axes = [axis for axis, extent in enumerate(extents) if extent == -1]
    if len(open_axes) > 1:
        raise fault(SHAPES_CONTRADICT, node, f"shape {describe_shape(target)} leaves more than one extent open")
    if open_axes:
        if x.shape is None:
            return []
        extents[open_axes[0]] = _solve_extent(node, x, extents)
    total = None if x.shape is None else product(x.shape)
    wanted = product(tuple(extents))
    if isinstance(total, int) and isinstance(wanted, int) and total != wanted:
        raise fault(SHAPES_CONTRADICT, node, f"input {describe(x)} cannot take shape {describe_shape(extents)}")
    return [result(tuple(extents), content=content_of(x.name, scope) if len(extents) < 2 else None)]


def _copy_extent(node: Node, x: Value, axis: int, extent: Dim) -> Dim | None:
    if not isinstance(extent, int):
        # A symbol that turns out to be 0 would copy; then the input's extent there is 0 as well, or the model fails.
        return extent
    if extent < -1:
        raise fault(SHAPES_CONTRADICT, node, f"shape holds the extent {extent}")
    if extent != 0 or integer(node, "allowzero"):
        return extent
    if x.shape is None:
        return None
    if axis >= len(x.shape):
        raise fault(SHAPES_CONTRADICT, node, f"shape copies axis {axis}, which input {describe(x)} has not")
    return x.shape[axis]


def _solve_extent(node: Node, x: Value, extents: Sequence[Dim]) -> Dim:
    total = product(x.shape or ())
    rest = product(tuple(extent for extent in extents if extent != -1))
    if rest == 0 or (isinstance(total, int) and isinstance(rest, int) and total % rest):
        problem = f"input {describe(x)} cannot take shape {describe_shape(extents)}: nothing fits the open extent"
        raise fault(SHAPES_CONTRADICT, node, problem)
    return floor_divide(total, rest)


def _evaluate_reshape(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, target = required(operands, 0), required(operands, 1)
    extents = [int(extent) for extent in target]
    if not integer(node, "allowzero"):
        extents = [x.shape[axis] if extent == 0 else extent for axis, extent in enumerate(extents)]
    return [x.reshape(extents)]


def _convert_flatten(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    return [normalize_axis(node, scope, inclusive=True)]


def _infer_flatten(node: Node, scope: Scope) -> Sequence[Value]:
    shape = shape_of(node, 0, scope)
    if shape is None:
        return []
    axis = resolve_axis(node, integer(node, "axis", 1), len(shape), inclusive=True)
    return [result((product(shape[:axis]), product(shape[axis:])))]


def _evaluate_flatten(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x = required(operands, 0)
    axis = integer(node, "axis", 1)
    split = axis + x.ndim if axis < 0 else axis
    rows = int(np.prod(x.shape[:split], dtype=np.int64))
    return [x.reshape(rows, int(np.prod(x.shape[split:], dtype=np.int64)))]


def _convert_transpose(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    rank = scope.value(node.input(0)).rank
    if rank is None or "perm" in node.attributes:
        return [node]
    return [with_attributes(node, perm=tuple(reversed(range(rank))))]


def _infer_transpose(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    order = integers(node, "perm")
    if order is not None and sorted(order) != list(range(len(order))):
        raise fault(BAD_ATTRIBUTE, node, f"perm {list(order)} is no permutation")
    if x.shape is None:
        return []
    if order is None:
        return [result(x.shape[::-1])]
    if len(order) != len(x.shape):
        raise fault(WRONG_RANK, node, f"perm {list(order)} does not fit the rank of {describe(x)}")
    return [result(tuple(x.shape[axis] for axis in order), content=content_of(x.name, scope))]


def _evaluate_transpose(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    return [required(operands, 0).transpose(integers(node, "perm"))]


def _convert_axes(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Axes are a constant operand from opset 13; those of Unsqueeze count in the result."""
    moved = trim_inputs(attribute_to_input(node, "axes", 1, scope))
    rank = scope.value(node.input(0)).rank
    if node.op == "Unsqueeze" and rank is not None:
        axes = numbers_of(moved.input(1), scope)
        rank = None if axes is None else rank + len(axes)
    return [normalize_axes_input(moved, 1, rank, scope)]


def _infer_squeeze(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    if x.shape is None:
        return []
    if node.input(1):
        axes = numbers_of(node.input(1), scope)
        if axes is None:
            return []
        chosen = resolve_axes(node, axes, len(x.shape))
    elif all(isinstance(extent, int) for extent in x.shape):
        chosen = tuple(axis for axis, extent in enumerate(x.shape) if extent == 1)
    else:
        return []
    for axis in chosen:
        extent = x.shape[axis]
        if isinstance(extent, int) and extent != 1:
            raise fault(SHAPES_CONTRADICT, node, f"axis {axis} of input {describe(x)} is not 1")
    shape = tuple(extent for axis, extent in enumerate(x.shape) if axis not in chosen)
    return [result(shape, content=content_of(x.name, scope))]


def _evaluate_squeeze(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x = required(operands, 0)
    axes = operands[1] if len(operands) > 1 else None
    return [x.squeeze() if axes is None else x.squeeze(tuple(int(axis) for axis in axes))]


def _infer_unsqueeze(node: Node, scope: Scope) -> Sequence[Value]:
    x, axes = scope.value(node.input(0)), numbers_of(node.input(1), scope)
    if x.shape is None or axes is None:
        return []
    rank = len(x.shape) + len(axes)
    chosen = resolve_axes(node, axes, rank)
    remaining = iter(x.shape)
    shape: Shape = tuple(1 if axis in chosen else next(remaining) for axis in range(rank))
    return [result(shape, content=content_of(x.name, scope) if rank < 2 else None)]


def _evaluate_unsqueeze(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    return [np.expand_dims(required(operands, 0), tuple(int(axis) for axis in required(operands, 1).reshape(-1)))]


def _infer_expand(node: Node, scope: Scope) -> Sequence[Value]:
    x, target = scope.value(node.input(0)), content_of(node.input(1), scope)
    if x.shape is None or target is None:
        return []
    if any(not isinstance(extent, int) and not is_at_least(extent, 0) for extent in target):
        return []
    try:
        shape = broadcast_shapes([x.shape, target])
    except ValueError as error:
        problem = f"input {describe(x)} cannot be expanded to {describe_shape(target)}: {error}"
        raise fault(SHAPES_CONTRADICT, node, problem) from error
    return [result(shape, content=_repeat_content(content_of(x.name, scope), shape))]


def _repeat_content(content: tuple[Dim, ...] | None, shape: Shape) -> tuple[Dim, ...] | None:
    if content is None or len(shape) > 1:
        return None
    extent = shape[0] if shape else 1
    if extent == len(content):
        return content
    return content * min(extent, 1024) if len(content) == 1 and isinstance(extent, int) else None


def _evaluate_expand(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, target = required(operands, 0), required(operands, 1)
    shape = np.broadcast_shapes(x.shape, tuple(int(extent) for extent in target))
    return [np.broadcast_to(x, shape).copy()]


def _infer_tile(node: Node, scope: Scope) -> Sequence[Value]:
    x, repeats = scope.value(node.input(0)), content_of(node.input(1), scope)
    if x.shape is None or repeats is None:
        return []
    if len(repeats) != len(x.shape):
        raise fault(SHAPES_CONTRADICT, node, f"{len(repeats)} repeats do not fit the rank of {describe(x)}")
    return [result(tuple(extent * count for extent, count in zip(x.shape, repeats, strict=True)))]


def _evaluate_tile(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    return [np.tile(required(operands, 0), tuple(int(count) for count in required(operands, 1)))]


def _blocks(node: Node, scope: Scope) -> tuple[Shape, int] | None:
    require_rank(node, node.input(0), scope, 4, 4)
    shape = shape_of(node, 0, scope)
    return None if shape is None else (shape, integer(node, "blocksize"))


def _infer_depth_to_space(node: Node, scope: Scope) -> Sequence[Value]:
    if (found := _blocks(node, scope)) is None:
        return []
    (batch, channels, height, width), block = found
    if isinstance(channels, int) and channels % (block * block):
        raise fault(SHAPES_CONTRADICT, node, f"{channels} channels cannot be cut into blocks of {block}x{block}")
    return [result((batch, floor_divide(channels, block * block), height * block, width * block))]


def _evaluate_depth_to_space(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, block = required(operands, 0), integer(node, "blocksize")
    batch, channels, height, width = x.shape
    depth = channels // (block * block)
    if text(node, "mode", "DCR") == "DCR":
        cells = x.reshape(batch, block, block, depth, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        cells = x.reshape(batch, depth, block, block, height, width).transpose(0, 1, 4, 2, 5, 3)
    return [cells.reshape(batch, depth, height * block, width * block)]


def _infer_space_to_depth(node: Node, scope: Scope) -> Sequence[Value]:
    if (found := _blocks(node, scope)) is None:
        return []
    (batch, channels, height, width), block = found
    for extent in (height, width):
        if isinstance(extent, int) and extent % block:
            raise fault(SHAPES_CONTRADICT, node, f"extent {extent} cannot be cut into blocks of {block}")
    return [result((batch, channels * (block * block), floor_divide(height, block), floor_divide(width, block)))]


def _evaluate_space_to_depth(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, block = required(operands, 0), integer(node, "blocksize")
    batch, channels, height, width = x.shape
    cells = x.reshape(batch, channels, height // block, block, width // block, block).transpose(0, 3, 5, 1, 2, 4)
    return [cells.reshape(batch, channels * block * block, height // block, width // block)]


ROWS = (
    Operator("Reshape", 14, infer=_infer_reshape, evaluate=_evaluate_reshape),
    Operator("Flatten", 11, convert=_convert_flatten, infer=_infer_flatten, evaluate=_evaluate_flatten),
    Operator("Transpose", 7, convert=_convert_transpose, infer=_infer_transpose, evaluate=_evaluate_transpose),
    Operator("Squeeze", 13, convert=_convert_axes, infer=_infer_squeeze, evaluate=_evaluate_squeeze),
    Operator("Unsqueeze", 13, convert=_convert_axes, infer=_infer_unsqueeze, evaluate=_evaluate_unsqueeze),
    Operator("Expand", 8, infer=_infer_expand, evaluate=_evaluate_expand),
    Operator("Tile", 7, infer=_infer_tile, evaluate=_evaluate_tile),
    Operator("DepthToSpace", 11, infer=_infer_depth_to_space, evaluate=_evaluate_depth_to_space),
    Operator("SpaceToDepth", 7, infer=_infer_space_to_depth, evaluate=_evaluate_space_to_depth),
)
