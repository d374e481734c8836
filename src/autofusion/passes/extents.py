"""Small integer tensors whose elements follow from the shapes of the graph's inputs: one node for each, said once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from autofusion.ir import DType, Graph, Node, Shape
from autofusion.ir.dims import Expr, Monomial
from autofusion.ir.scope import GraphScope
from autofusion.ops.operands import int64_constant
from autofusion.passes.build import add_node
from autofusion.passes.nested import edit_nested
from autofusion.passes.redirect import hand_on

_NUMBER: tuple[str, Mapping[str, int]] = ("", {})


def share_extents(graph: Graph) -> int:
    """Let equal tensors of extents be one, and what has the extents of an input be that input's Shape.

    Numbers without symbols are constants already.  Returns the number of nodes changed.
    """
    return _share(GraphScope(graph))


def _share(scope: GraphScope) -> int:
    graph, changes = scope.graph, 0
    known: dict[Hashable, str] = {}
    for name in [node.name for node in graph.topological()]:
        node = graph.node(name)
        if node.subgraphs():
            changes += edit_nested(graph, node, lambda nested: _share(scope.nest(nested)))
            continue
        key = _key(node, scope)
        if key is None:
            continue
        if key in known:
            changes += hand_on(scope, node, known[key])
            continue
        known[key] = node.outputs[0]
        changes += _read_from_input(node, scope)
    return changes


def _key(node: Node, scope: GraphScope) -> Hashable | None:
    """What makes a tensor of extents equal to another, None for what is no such."""
    if len(node.outputs) != 1 or node.opaque or node.domain or node.body is not None or node.op == "Identity":
        return None
    value = scope.value(node.outputs[0])
    if value.content is None or value.dtype is not DType.INT64 or value.rank not in (0, 1) or not value.is_static:
        return None
    return (value.rank, value.content) if any(isinstance(extent, Expr) for extent in value.content) else None


def _read_from_input(node: Node, scope: GraphScope) -> int:
    """Let a Shape of an input, and for a single number a Squeeze behind, give the result of `node`."""
    graph, value = scope.graph, scope.value(node.outputs[0])
    content = value.content or ()
    if node.op == "Shape" and node.inputs[0] in graph.inputs:
        return 0
    if node.op == "Squeeze" and _is_shape(graph.producer(node.inputs[0])):
        return 0
    for name in graph.inputs:
        window = _find_window(content, graph.value(name).shape)
        if window is None:
            continue
        start, end, whole = window
        bounds = {"start": start} if whole else {"start": start, "end": end}
        graph.remove(node.name)
        if value.rank == 1:
            add_node(scope, node.name, "Shape", (name,), node.outputs, bounds, node.origin)
            return 1
        vector = scope.fresh(f"{node.outputs[0]}_extents")
        add_node(scope, scope.fresh(f"{node.name}_extents"), "Shape", (name,), (vector,), bounds, node.origin)
        axes = int64_constant(f"{node.name}_axes", [0], scope)
        add_node(scope, node.name, "Squeeze", (vector, axes), node.outputs, {}, node.origin)
        return 1
    return _add_up(node, scope)


def _add_up(node: Node, scope: GraphScope) -> int:
    """Let inputs give one extent that is picked from the Shape of a computed value, where it is a sum of theirs.

    The extents of attention's scores, of which one is a past and a new length, are so read from no inner value.
    """
    graph, value = scope.graph, scope.value(node.outputs[0])
    before = graph.producer(node.inputs[0]) if node.inputs else None
    if node.op not in ("Gather", "Slice") or not _is_shape(before) or not value.content or len(value.content) != 1:
        return 0
    extent = value.content[0]
    if not isinstance(extent, Expr):
        return 0
    places = [_find_place(monomial, graph) for monomial, _ in extent.terms]
    if None in places:
        return 0
    graph.remove(node.name)
    total = ""
    for place, (_, factor) in zip(places, extent.terms, strict=True):
        term = _write_term(node, place or _NUMBER, factor, scope)
        total = _write(node, "Add", (total, term), scope) if total else term
    wanted = scope.value(node.outputs[0])
    axes = int64_constant(f"{node.name}_axes", [0], scope)
    operands = (total, axes) if value.rank else (total,)
    add_node(scope, node.name, "Unsqueeze" if value.rank else "Identity", operands, (wanted.name,), {}, node.origin)
    return 1


def _find_place(monomial: Monomial, graph: Graph) -> tuple[str, Mapping[str, int]] | None:
    """The input that has the symbol as an extent, and the window of it for Shape; `_NUMBER` for the number of a sum."""
    if not monomial:
        return _NUMBER
    for name in graph.inputs:
        window = _find_window((Expr(((monomial, 1),)),), graph.value(name).shape)
        if window is not None:
            start, end, whole = window
            return name, {"start": start} if whole else {"start": start, "end": end}
    return None


def _write_term(node: Node, place: tuple[str, Mapping[str, int]], factor: int, scope: GraphScope) -> str:
    name, bounds = place
    number = scope.define_constant(f"{node.name}_factor", np.array(factor, np.int64))
    if not name:
        return number
    vector = _write(node, "Shape", (name,), scope, bounds)
    extent = _write(node, "Squeeze", (vector, int64_constant(f"{node.name}_axes", [0], scope)), scope)
    return extent if factor == 1 else _write(node, "Mul", (extent, number), scope)


def _write(
    node: Node, op: str, operands: tuple[str, ...], scope: GraphScope, attributes: Mapping[str, int] | None = None
) -> str:
    result = scope.fresh(f"{node.outputs[0]}_{op.lower()}")
    add_node(scope, scope.fresh(f"{node.name}_{op.lower()}"), op, operands, (result,), attributes, node.origin)
    return result


def _is_shape(node: Node | None) -> bool:
    return node is not None and node.op == "Shape"


def _find_window(content: Shape, shape: Shape | None) -> tuple[int, int, bool] | None:
    """Where `content` stands in a row in `shape`, and whether it reaches the end."""
    if shape is None or not content:
        return None
    for start in range(len(shape) - len(content) + 1):
        end = start + len(content)
        if shape[start:end] == content:
            return start, end, end == len(shape)
    return None
