"""Parts of a packed axis that are picked one by one: queries, keys and values that came out of one product.

Exporters read the columns of the product as [parts, heads, size], move the axis of the parts to the front and take
each part by Gather, Slice or Split.  Here the columns are dealt out by one Split instead, and every part is read as
heads on its own: the form that models have which split first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autofusion.ir import Graph, Node, Shape
from autofusion.ir.dims import floor_divide, product
from autofusion.ir.scope import GraphScope
from autofusion.ops.operands import int64_constant, integer, integers, numbers_of
from autofusion.passes.build import add_node, add_view
from autofusion.passes.redirect import is_inner
from autofusion.passes.slices import read_cuts
from autofusion.passes.spelling import VIEWS, View, spell_view
from autofusion.passes.sweep import sweep


@dataclass(frozen=True)
class _Pick:
    """One place of an axis, as the result `result` of `node`, with an axis of extent 1 in its place or without."""

    node: Node
    result: str
    axis: int
    index: int
    keeps_axis: bool


@dataclass(frozen=True)
class _Packed:
    """A view of `source`, whose axis `source_axis` it cuts in places first, and the Transpose behind, if any."""

    view: Node
    turn: Node | None
    source_axis: int
    view_axis: int
    order: tuple[int, ...]


def split_parts(graph: Graph) -> int:
    """Deal out by Split what is picked place by place of an axis that a view cut off; returns the picks replaced."""
    return sweep(graph, _split)


def _split(node: Node, scope: GraphScope) -> int:
    if (node.op != "Transpose" and node.op not in VIEWS) or node.outputs[0] in scope.graph.outputs:
        return 0
    picks = _read_picks(node.outputs[0], scope)
    packed = _unpack(node, picks[0].axis, scope) if len(picks) > 1 else None
    if packed is None:
        return 0
    targets = [_spell_part(packed, pick, scope) for pick in picks]
    if None in targets:
        return 0
    parts = _add_split(packed, scope)
    for gone in dict.fromkeys(pick.node.name for pick in picks):
        scope.graph.remove(gone)
    for pick in picks:
        _add_part(packed, pick, parts[pick.index], scope)
    return len(picks)


def _read_picks(value: str, scope: GraphScope) -> list[_Pick]:
    """What is picked of `value`, all along one axis; empty where something else reads it."""
    shape = scope.value(value).shape
    picks: list[_Pick] = []
    for use in scope.graph.consumers(value):
        node = use.node
        found = _read_node(node, shape, scope) if shape is not None and use.index == 0 else ()
        if not found or node.domain or node.opaque:
            return []
        picks += found
    return picks if len({pick.axis for pick in picks}) == 1 else []


def _read_node(node: Node, shape: Shape, scope: GraphScope) -> Sequence[_Pick]:
    if node.op == "Gather":
        indices = scope.constant(node.inputs[1])
        axis = integer(node, "axis") % len(shape)
        if indices is None or indices.size != 1 or indices.ndim > 1:
            return ()
        return _pick(node, shape, axis, int(indices.reshape(())), bool(indices.ndim))
    if node.op == "Slice":
        cuts = read_cuts(node, scope)
        if cuts is None or len(cuts) != 1:
            return []
        ((axis, cut),) = cuts.items()
        extent = shape[axis]
        if not isinstance(extent, int) or not isinstance(cut.start, int) or not isinstance(cut.end, int):
            return []
        taken = range(*slice(cut.start, cut.end, cut.step).indices(extent))
        return _pick(node, shape, axis, taken[0], True) if len(taken) == 1 else []
    if node.op == "Split":
        sizes, axis = numbers_of(node.input(1), scope), integer(node, "axis") % len(shape)
        if sizes is None or set(sizes) != {1} or len(sizes) != shape[axis]:
            return []
        return [_Pick(node, name, axis, index, True) for index, name in enumerate(node.outputs) if name]
    return []


def _pick(node: Node, shape: Shape, axis: int, index: int, keeps_axis: bool) -> list[_Pick]:
    extent = shape[axis]
    if not isinstance(extent, int) or not -extent <= index < extent:
        return []
    return [_Pick(node, node.outputs[0], axis, index % extent, keeps_axis)]


def _unpack(node: Node, axis: int, scope: GraphScope) -> _Packed | None:
    """What is picked from, where the places of `axis` are runs of neighbours on an axis before a view."""
    graph = scope.graph
    turn = node if node.op == "Transpose" else None
    view = graph.producer(node.inputs[0]) if turn is not None else node
    if view is None or view.op not in VIEWS or view.domain or view.opaque:
        return None
    if turn is not None and not is_inner(graph, node.inputs[0]):
        return None
    source, shape = scope.value(view.inputs[0]).shape, scope.value(view.outputs[0]).shape
    order = integers(turn, "perm") if turn is not None else tuple(range(len(shape or ())))
    if source is None or shape is None or order is None:
        return None
    own = order[axis]
    source_axis = _find_axis(source, shape, own)
    return None if source_axis is None else _Packed(view, turn, source_axis, own, order)


def _find_axis(source: Shape, shape: Shape, axis: int) -> int | None:
    """The axis of `source` that `axis` and those behind it are cut out of, when read as `shape`."""
    if 0 in source or 0 in shape:
        return None
    for place, extent in enumerate(source):
        if not isinstance(extent, int) or product(source[:place]) != product(shape[:axis]):
            continue
        if any(product(shape[axis:end]) == extent for end in range(axis + 2, len(shape) + 1)):
            return place
    return None


def _part_shape(packed: _Packed, pick: _Pick, scope: GraphScope) -> Shape:
    shape = scope.value(packed.view.outputs[0]).shape
    assert shape is not None
    extents = [1 if axis == packed.view_axis else extent for axis, extent in enumerate(shape)]
    if not pick.keeps_axis:
        del extents[packed.view_axis]
    return tuple(extents)


def _spell_part(packed: _Packed, pick: _Pick, scope: GraphScope) -> View | None:
    source, shape = scope.value(packed.view.inputs[0]).shape, _part_shape(packed, pick, scope)
    assert source is not None
    own = scope.value(packed.view.outputs[0]).shape
    assert own is not None
    part = list(source)
    part[packed.source_axis] = floor_divide(part[packed.source_axis], own[packed.view_axis])
    return spell_view(shape, tuple(part)) if product(tuple(part)) == product(shape) else None


def _add_split(packed: _Packed, scope: GraphScope) -> list[str]:
    source, shape = scope.value(packed.view.inputs[0]).shape, scope.value(packed.view.outputs[0]).shape
    assert source is not None
    assert shape is not None
    count, width = shape[packed.view_axis], source[packed.source_axis]
    assert isinstance(count, int)
    assert isinstance(width, int)
    names = [scope.fresh(f"{packed.view.outputs[0]}_{index}") for index in range(count)]
    name = scope.fresh(f"{packed.view.name}_split")
    sizes = int64_constant(f"{name}_sizes", [width // count] * count, scope)
    attributes = {"axis": packed.source_axis}
    add_node(scope, name, "Split", (packed.view.inputs[0], sizes), names, attributes, packed.view.origin)
    return names


def _add_part(packed: _Packed, pick: _Pick, part: str, scope: GraphScope) -> None:
    target = _spell_part(packed, pick, scope)
    assert target is not None
    name, origin = scope.fresh(f"{pick.node.name}_view"), (*packed.view.origin, *pick.node.origin)
    if packed.turn is None:
        add_view(scope, name, part, target, pick.result, origin)
        return
    heads = scope.fresh(f"{pick.result}_view")
    add_view(scope, name, part, target, heads, origin)
    order = list(packed.order)
    if not pick.keeps_axis:
        order = [axis - (axis > packed.view_axis) for axis in order if axis != packed.view_axis]
    turn = scope.fresh(f"{pick.node.name}_turn")
    add_node(scope, turn, "Transpose", (heads,), (pick.result,), {"perm": tuple(order)}, packed.turn.origin)
