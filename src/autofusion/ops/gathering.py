"""Rows that pick elements by index, put them back by index, or find where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autofusion.ir import Node, Value
from autofusion.ops.conversion import attribute_to_input, keep_opaque, normalize_axis
from autofusion.ops.faults import NOT_EVALUABLE, SHAPES_CONTRADICT, describe, fault
from autofusion.ops.operands import content_of, integer, numbers_of, resolve_axis, result, shape_of, text
from autofusion.ops.pointwise import infer_same
from autofusion.ops.precision import required
from autofusion.ops.table import Convert, Operator, Scope


def _convert_axis(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    return [normalize_axis(node, scope)]


def _infer_gather(node: Node, scope: Scope) -> Sequence[Value]:
    x, indices = scope.value(node.input(0)), scope.value(node.input(1))
    if x.shape is None or indices.shape is None:
        return []
    axis = resolve_axis(node, integer(node, "axis"), len(x.shape))
    places = numbers_of(node.input(1), scope)
    _check_places(node, x, axis, places)
    content = content_of(x.name, scope)
    picked = None if content is None or places is None else tuple(content[place] for place in places)
    return [result((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), content=picked)]


def _check_places(node: Node, x: Value, axis: int, places: Sequence[int] | None) -> None:
    extent = x.shape[axis] if x.shape else None
    if places is None or not isinstance(extent, int):
        return
    for place in places:
        if not -extent <= place < extent:
            raise fault(SHAPES_CONTRADICT, node, f"index {place} is out of range for axis {axis} of {describe(x)}")


def _evaluate_gather(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    return [np.take(required(operands, 0), required(operands, 1), integer(node, "axis"))]


def _infer_indices(node: Node, scope: Scope) -> Sequence[Value]:
    return [result(scope.value(node.input(1)).shape)]


def _evaluate_gather_elements(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, indices = required(operands, 0), required(operands, 1)
    return [x[_place_along(indices, integer(node, "axis"))]]


def _place_along(indices: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The places that `indices` name along `axis`, each on its own line of the other axes."""
    places = _count_along_axes(indices.shape)
    places[axis] = indices
    return tuple(places)


def _count_along_axes(shape: tuple[int, ...]) -> list[np.ndarray]:
    """For each axis its places 0, 1, ..., in a form that broadcasts to `shape`."""
    after = reversed(range(len(shape)))
    return [np.arange(extent).reshape(-1, *[1] * rest) for extent, rest in zip(shape, after, strict=True)]


def _infer_gather_nd(node: Node, scope: Scope) -> Sequence[Value]:
    x, indices = shape_of(node, 0, scope), shape_of(node, 1, scope)
    batch = integer(node, "batch_dims")
    if x is None or indices is None or not indices or not isinstance(indices[-1], int):
        return []
    depth = batch + indices[-1]
    if depth > len(x):
        name = describe(scope.value(node.input(1)))
        raise fault(SHAPES_CONTRADICT, node, f"input {name} names {depth} of {len(x)} axes")
    return [result((*indices[:-1], *x[depth:]))]


def _evaluate_gather_nd(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, indices, batch = required(operands, 0), required(operands, 1), integer(node, "batch_dims")
    lanes = _count_along_axes(indices.shape[:-1])[:batch]
    return [x[(*lanes, *np.moveaxis(indices, -1, 0))]]


def _convert_scatter(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """`Scatter` is the old name."""
    return [normalize_axis(replace(node, op="ScatterElements"), scope)]


def _write(node: Node, target: np.ndarray, places: tuple[np.ndarray, ...], updates: np.ndarray) -> np.ndarray:
    """`target` with `updates` at `places`, combined with what is there as attribute `reduction` says."""
    reduction = text(node, "reduction", "none")
    match reduction:
        case "none":
            target[places] = updates
        case "add":
            np.add.at(target, places, updates)
        case "mul":
            np.multiply.at(target, places, updates)
        case "max":
            np.maximum.at(target, places, updates)
        case "min":
            np.minimum.at(target, places, updates)
        case _:
            raise fault(NOT_EVALUABLE, node, f"reduction {reduction!r} is unknown")
    return target


def _evaluate_scatter_nd(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, indices, updates = (required(operands, index) for index in range(3))
    places = tuple(np.moveaxis(indices, -1, 0))
    return [_write(node, x.copy(), places, updates)]


def _evaluate_scatter_elements(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, indices, updates = (required(operands, index) for index in range(3))
    return [_write(node, x.copy(), _place_along(indices, integer(node, "axis")), updates)]


def _infer_one_hot(node: Node, scope: Scope) -> Sequence[Value]:
    indices, depth = shape_of(node, 0, scope), content_of(node.input(1), scope)
    if indices is None or not depth:
        return []
    axis = resolve_axis(node, integer(node, "axis", -1), len(indices) + 1)
    return [result((*indices[:axis], depth[0], *indices[axis:]))]


def _since(oldest: int) -> Convert:
    """Forms older than `oldest` mean something else and stay as they are."""

    def convert(node: Node, version: int, scope: Scope) -> Sequence[Node]:
        return [node] if version >= oldest else keep_opaque(node)

    return convert


def _convert_top_k(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """The number of elements is an operand from opset 10."""
    moved = node
    if "k" in node.attributes:
        flat = replace(node, attributes={**node.attributes, "k": (integer(node, "k"),)})
        moved = attribute_to_input(flat, "k", 1, scope)
    return [normalize_axis(moved, scope)]


def _infer_top_k(node: Node, scope: Scope) -> Sequence[Value]:
    shape, count = shape_of(node, 0, scope), content_of(node.input(1), scope)
    if shape is None or not count:
        return []
    axis = resolve_axis(node, integer(node, "axis", -1), len(shape))
    return [result((*shape[:axis], count[0], *shape[axis + 1 :]))] * 2


def _evaluate_non_zero(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x = required(operands, 0)
    return [np.array(np.nonzero(np.atleast_1d(x)), np.int64)[: x.ndim]]


def _evaluate_cumulative_sum(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, axis = required(operands, 0), int(required(operands, 1).reshape(()))
    turned = np.flip(x, axis) if integer(node, "reverse") else x
    total = np.cumsum(turned, axis, dtype=x.dtype)
    if integer(node, "exclusive"):
        total = total - turned
    return [np.flip(total, axis) if integer(node, "reverse") else total]


ROWS = (
    Operator("Gather", 7, convert=_convert_axis, infer=_infer_gather, evaluate=_evaluate_gather),
    Operator("GatherElements", 11, convert=_convert_axis, infer=_infer_indices, evaluate=_evaluate_gather_elements),
    Operator("GatherND", 12, infer=_infer_gather_nd, evaluate=_evaluate_gather_nd),
    Operator("ScatterND", 18, infer=infer_same, evaluate=_evaluate_scatter_nd),
    Operator("ScatterElements", 18, convert=_convert_axis, infer=infer_same, evaluate=_evaluate_scatter_elements),
    Operator("Scatter", 9, convert=_convert_scatter),
    Operator("OneHot", 11, convert=_since(11), infer=_infer_one_hot),
    Operator("TopK", 11, convert=_convert_top_k, infer=_infer_top_k),
    Operator("NonZero", 9, evaluate=_evaluate_non_zero),
    Operator("CumSum", 11, infer=infer_same, evaluate=_evaluate_cumulative_sum),
    Operator("ReverseSequence", 10, infer=infer_same),
    Operator("Compress", 9, convert=_convert_axis),
    Operator("Unique", 11, convert=_convert_axis),
)
