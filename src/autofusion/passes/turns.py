"""Views on both sides of a Transpose: one of them does for both.

A view that merges neighbouring axes, and a Transpose of what it gives, are a Transpose that moves the axes of each
group together, and then the view.  A Transpose, and a view that splits its axes, are the view and then the
Transpose.  Axes of extent 1 may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.ir import Graph, Node, Shape
from autofusion.ir.dims import multiply
from autofusion.ir.scope import GraphScope
from autofusion.ops.operands import integers
from autofusion.passes.build import add_node, add_view
from autofusion.passes.redirect import is_inner
from autofusion.passes.spelling import VIEWS, spell_view
from autofusion.passes.sweep import sweep

_PRODUCTS = frozenset({"Gemm", "MatMul"})


def merge_turned_views(graph: Graph) -> int:
    """Bring views together that a Transpose stands between, and Transposes that a view stands between.

    A Transpose that moves only axes of extent 1 becomes a Reshape, unless it turns an operand of a product.  Views
    before and behind an Expand, which repeat heads, stay at it.
    Returns the number of changes: each leaves one node less, a view in the place of a Transpose, or unit axes at rest.
    """
    return sweep(graph, _merge)


def _merge(node: Node, scope: GraphScope) -> int:
    if node.op == "Transpose":
        return _flatten(node, scope) or _turn_first(node, scope) or _settle_units(node, scope)
    return _view_first(node, scope) if node.op in VIEWS else 0


def _flatten(node: Node, scope: GraphScope) -> int:
    """Make a Reshape of a Transpose that leaves the elements in order."""
    order, given = integers(node, "perm"), scope.value(node.inputs[0]).shape
    result = scope.value(node.outputs[0]).shape
    if order is None or given is None or result is None or 0 in given:
        return 0
    moved = [axis for axis in order if given[axis] != 1]
    target = spell_view(result, given)
    if moved != sorted(moved) or target is None or list(order) == sorted(order):
        return 0
    readers = scope.graph.consumers(node.outputs[0])
    if order[-1] != len(order) - 1 and any(use.node.op in _PRODUCTS for use in readers):
        return 0
    scope.graph.remove(node.name)
    add_view(scope, node.name, node.inputs[0], target, node.outputs[0], node.origin)
    return 1


def _turn_first(node: Node, scope: GraphScope) -> int:
    """Move a Transpose before the view that it reads, where a Transpose stands there or a view comes behind."""
    graph, order = scope.graph, integers(node, "perm")
    view = graph.producer(node.inputs[0])
    if order is None or view is None or not _is_view(view) or not is_inner(graph, node.inputs[0]):
        return 0
    source, given = scope.value(view.inputs[0]).shape, scope.value(view.outputs[0]).shape
    result = scope.value(node.outputs[0]).shape
    if source is None or given is None or result is None:
        return 0
    before = graph.producer(view.inputs[0])
    follows = before is not None and _is_transpose(before) and is_inner(graph, view.inputs[0])
    wanted = result if follows else _read_shape(node.outputs[0], scope)
    # A view behind that splits axes goes before the Transpose instead.
    stays = (before is not None and before.op == "Expand") or wanted is None or group_axes(wanted, result) is not None
    groups = group_axes(source, given)
    if groups is None or (stays and not follows):
        return 0
    turned = place_units([axis for place in order for axis in groups[place]], source, wanted)
    shape = tuple(source[axis] for axis in turned)
    target = spell_view(result, shape)
    if target is None:
        return 0
    middle = scope.fresh(view.outputs[0])
    graph.remove(node.name)
    graph.remove(view.name)
    add_node(scope, node.name, "Transpose", (view.inputs[0],), (middle,), {"perm": tuple(turned)}, node.origin)
    add_view(scope, view.name, middle, target, node.outputs[0], view.origin)
    return 1


def _settle_units(node: Node, scope: GraphScope) -> int:
    """Leave axes of extent 1 where they are, if a view says what shape comes of them."""
    order, given = integers(node, "perm"), scope.value(node.inputs[0]).shape
    shape = _read_shape(node.outputs[0], scope)
    if order is None or given is None or shape is None:
        return 0
    turned = tuple(place_units(order, given, given))
    target = spell_view(shape, tuple(given[axis] for axis in turned))
    if turned == order or target is None:
        return 0
    view = scope.graph.consumers(node.outputs[0])[0].node
    middle = scope.fresh(node.outputs[0])
    scope.graph.remove(view.name)
    scope.graph.remove(node.name)
    add_node(scope, node.name, "Transpose", node.inputs, (middle,), {"perm": turned}, node.origin)
    add_view(scope, view.name, middle, target, view.outputs[0], view.origin)
    return 1


def _view_first(node: Node, scope: GraphScope) -> int:
    """Move a view before the Transpose that it reads, where a view stands before that."""
    graph = scope.graph
    turn = graph.producer(node.inputs[0])
    if turn is None or not _is_transpose(turn) or not is_inner(graph, node.inputs[0]):
        return 0
    view, order = graph.producer(turn.inputs[0]), integers(turn, "perm")
    if view is None or not _is_view(view) or not is_inner(graph, turn.inputs[0]) or order is None:
        return 0
    source, given = scope.value(view.inputs[0]).shape, scope.value(turn.outputs[0]).shape
    result = scope.value(node.outputs[0]).shape
    groups = group_axes(result, given) if result is not None and given is not None else None
    spreads = any(use.node.op == "Expand" for use in graph.consumers(node.outputs[0]))
    if source is None or result is None or groups is None or spreads:
        return 0
    split = [axis for place in range(len(order)) for axis in groups[order.index(place)]]
    arranged = place_units(split, result, result)
    shape = tuple(result[axis] for axis in arranged)
    target = spell_view(shape, source)
    if target is None:
        return 0
    middle = scope.fresh(view.outputs[0])
    for gone in (node, turn, view):
        graph.remove(gone.name)
    origin = tuple(dict.fromkeys((*view.origin, *node.origin)))
    add_view(scope, view.name, view.inputs[0], target, middle, origin)
    perm = tuple(arranged.index(axis) for axis in range(len(result)))
    add_node(scope, turn.name, "Transpose", (middle,), (node.outputs[0],), {"perm": perm}, turn.origin)
    return 1


def _read_shape(value: str, scope: GraphScope) -> Shape | None:
    """The shape that the only reader of `value`, a view, gives it; None where something else reads it."""
    readers = scope.graph.consumers(value)
    if not is_inner(scope.graph, value) or not _is_view(readers[0].node):
        return None
    return scope.value(readers[0].node.outputs[0]).shape


def _is_view(node: Node) -> bool:
    return node.op in VIEWS and not node.domain and not node.opaque


def _is_transpose(node: Node) -> bool:
    return node.op == "Transpose" and not node.domain and not node.opaque


def group_axes(fine: Shape, coarse: Shape) -> list[list[int]] | None:
    """For each axis of `coarse` the neighbouring axes of `fine` that it holds, all of them in order.

    None where some axis of `coarse` is no product of whole axes, or an extent is 0.
    """
    if 0 in fine or 0 in coarse:
        return None
    groups: list[list[int]] = []
    place = 0
    for extent in coarse:
        group: list[int] = []
        reached = 1
        while reached != extent and place < len(fine):
            reached = multiply(reached, fine[place])
            group.append(place)
            place += 1
        if reached != extent:
            return None
        groups.append(group)
    rest = list(range(place, len(fine)))
    if any(fine[axis] != 1 for axis in rest) or (rest and not groups):
        return None
    if rest:
        groups[-1] += rest
    return groups


def place_units(axes: Sequence[int], shape: Shape, wanted: Shape | None) -> list[int]:
    """`axes` of `shape` with those of extent 1 where `wanted` has extents of 1, as far as it has as many."""
    units = [axis for axis in sorted(axes) if shape[axis] == 1]
    others = [axis for axis in axes if shape[axis] != 1]
    if wanted is None or len(wanted) != len(axes) or wanted.count(1) != len(units):
        return list(axes)
    return [(units if extent == 1 else others).pop(0) for extent in wanted]
