"""Gathers that take every element in order, comparisons of counted numbers that are always true, places of ones.

Exporters write masks by index arithmetic: they flatten the mask of the tokens, count through it and ask whether
the numbers are at least 0.  Before there was Range they counted by asking where a vector of ones is not 0.
"""

from __future__ import annotations

import numpy as np

from autofusion.ir import Dim, Graph, Node, Shape
from autofusion.ir.dims import multiply
from autofusion.ir.scope import GraphScope
from autofusion.ops.operands import int64_constant, integer
from autofusion.passes.affine import Affine, add_affine, affine_of, read_affine
from autofusion.passes.build import add_node, add_view
from autofusion.passes.narrow import may_narrow
from autofusion.passes.redirect import redirect
from autofusion.passes.shapes import infer_shapes
from autofusion.passes.spelling import VIEWS, View, spell_view
from autofusion.passes.sweep import sweep

_COMPARISONS = {"GreaterOrEqual": (0, 0), "LessOrEqual": (1, 0), "Greater": (0, 1), "Less": (1, 1)}
"""The place of the operand that must be the greater one, and by how much at least."""


def settle_indices(graph: Graph) -> int:
    """Make a Reshape of Gather and GatherND whose indices count through the data, and take out true comparisons.

    The NonZero of a vector of equal numbers other than 0 is a Range.
    A comparison goes where its readers can do with one truth value in the place of many.  Returns the nodes changed.
    """
    changes = sweep(graph, _settle)
    if changes:
        infer_shapes(graph)
    return changes


def _settle(node: Node, scope: GraphScope) -> int:
    if node.op == "Gather":
        return _settle_gather(node, scope)
    if node.op == "GatherND":
        return _settle_gather_nd(node, scope)
    if node.op == "NonZero":
        return _settle_places(node, scope)
    return _settle_comparison(node, scope) if node.op in _COMPARISONS else 0


def _settle_gather(node: Node, scope: GraphScope) -> int:
    shape = scope.value(node.inputs[0]).shape
    if not shape:
        return 0
    indices = read_affine(node.inputs[1], scope)
    axis = integer(node, "axis") % len(shape)
    if indices is None or not indices.counts_up() or _size(indices.shape) != shape[axis]:
        return 0
    return _make_view(node, (*shape[:axis], *indices.shape, *shape[axis + 1 :]), scope)


def _settle_gather_nd(node: Node, scope: GraphScope) -> int:
    shape = scope.value(node.inputs[0]).shape
    parts = _read_parts(node.inputs[1], scope) if shape and not integer(node, "batch_dims") else None
    if shape is None or not parts or len(parts) > len(shape):
        return 0
    flat: Affine | None = None
    for place, part in enumerate(parts):
        if not _stays_within(part, shape[place]):
            return 0
        counted = part.scale(_size(shape[place + 1 : len(parts)]))
        flat = counted if flat is None else add_affine(flat, counted)
        if flat is None:
            return 0
    if flat is None or not flat.counts_up() or _size(flat.shape) != _size(shape[: len(parts)]):
        return 0
    return _make_view(node, (*flat.shape, *shape[len(parts) :]), scope)


def _read_parts(indices: str, scope: GraphScope) -> list[Affine] | None:
    """The index of every axis, where the last axis of `indices` holds one for each."""
    array, graph = scope.constant(indices), scope.graph
    if array is not None:
        parts = [affine_of(array[..., place]) for place in range(array.shape[-1])] if array.ndim else []
    else:
        joined, rank = graph.producer(indices), scope.value(indices).rank
        if joined is None or joined.op != "Concat" or rank is None or integer(joined, "axis") % rank != rank - 1:
            return None
        parts = [_drop_last(read_affine(name, scope)) for name in joined.inputs]
    known = [part for part in parts if part is not None]
    return known if len(known) == len(parts) else None


def _drop_last(part: Affine | None) -> Affine | None:
    if part is None or part.shape[-1:] != (1,):
        return None
    return Affine(part.shape[:-1], part.base, part.steps[:-1])


def _stays_within(part: Affine, extent: Dim) -> bool:
    """True where the elements are the places of an axis of that extent: they count along one axis, or are all 0."""
    moving = [(step, own) for step, own in zip(part.steps, part.shape, strict=True) if step != 0]
    return part.base == 0 and (not moving or moving == [(1, extent)])


def _size(shape: Shape) -> Dim:
    total: Dim = 1
    for extent in shape:
        total = multiply(total, extent)
    return total


def _make_view(node: Node, shape: Shape, scope: GraphScope) -> int:
    """Let a view of the data, or of what the data are a view of, give the result of `node`."""
    source = node.inputs[0]
    while (view := _spell(shape, source, scope)) is None:
        before = scope.graph.producer(source)
        if before is None or before.op not in VIEWS or before.domain or before.opaque:
            return 0
        source = before.inputs[0]
    scope.graph.remove(node.name)
    add_view(scope, node.name, source, view, node.outputs[0], node.origin)
    return 1


def _spell(shape: Shape, source: str, scope: GraphScope) -> View | None:
    given = scope.value(source).shape
    return spell_view(shape, given) if given is not None else None


def _settle_places(node: Node, scope: GraphScope) -> int:
    filled = scope.graph.producer(node.inputs[0])
    if filled is None or filled.op != "ConstantOfShape" or filled.domain or filled.opaque:
        return 0
    fill, result = filled.attributes.get("value"), node.outputs[0]
    if scope.value(filled.outputs[0]).rank != 1 or not isinstance(fill, np.ndarray) or not fill.all():
        return 0
    scope.graph.remove(node.name)
    front = int64_constant(f"{node.name}_axes", [0], scope)
    names = [scope.fresh(f"{result}_{part}") for part in ("length", "places")]
    zero, one = (scope.define_constant(f"{node.name}_{step}", np.array(step, np.int64)) for step in (0, 1))
    add_node(
        scope, scope.fresh(f"{node.name}_length"), "Squeeze", (filled.inputs[0], front), names[:1], None, node.origin
    )
    add_node(scope, scope.fresh(f"{node.name}_range"), "Range", (zero, names[0], one), names[1:], None, node.origin)
    add_node(scope, node.name, "Unsqueeze", (names[1], front), (result,), None, node.origin)
    return 1


def _settle_comparison(node: Node, scope: GraphScope) -> int:
    place, margin = _COMPARISONS[node.op]
    greater, smaller = (read_affine(node.inputs[index], scope) for index in (place, 1 - place))
    if greater is None or smaller is None:
        return 0
    distance = add_affine(greater, smaller.scale(-1))
    result = node.outputs[0]
    if (
        distance is None
        or not distance.is_at_least(margin)
        or not may_narrow(result, (1,) * len(distance.shape), scope)
    ):
        return 0
    scope.graph.remove(node.name)
    redirect(scope.graph, result, scope.define_constant(result, np.ones((1,) * len(distance.shape), np.bool_)))
    return 1
