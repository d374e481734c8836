"""Repeated inference: what has become known reaches the values behind it."""

from __future__ import annotations

from autofusion.ir import Graph, Node, Value
from autofusion.ir.scope import GraphScope
from autofusion.ops import infer, refine
from autofusion.passes.bodies import edit_body
from autofusion.passes.nested import edit_nested


def infer_shapes(graph: Graph) -> int:
    """Infer every node anew, producers first; returns how many values and nodes are better known than before.

    What was known stays known; attributes that waited for a rank (negative axes) take their canonical form.
    Raises ModelError where operands contradict each other.
    """
    return _infer(GraphScope(graph))


def refine_results(node: Node, scope: GraphScope) -> list[str]:
    """Infer one node anew; returns the results that are better known than before."""
    changed: list[str] = []
    for found in infer(node, scope):
        known = scope.graph.value(found.name)
        better = _merge(known, found)
        if better != known:
            scope.graph.set_value(better)
            changed.append(found.name)
    return changed


def _infer(scope: GraphScope) -> int:
    changes = 0
    for node in scope.graph.topological():
        if node.subgraphs():
            changes += edit_nested(scope.graph, node, lambda nested: _infer(scope.nest(nested)))
        changes += edit_body(scope, scope.graph.node(node.name), _infer)
        current = scope.graph.node(node.name)
        refined = refine(current, scope)
        if refined is not current:
            scope.graph.update(refined)
            changes += 1
        changes += len(refine_results(refined, scope))
    return changes


def _merge(known: Value, found: Value) -> Value:
    """Everything that is known of a value; the newer inference, which knows more of the operands, wins."""
    return Value(
        known.name,
        found.dtype or known.dtype,
        known.shape if found.shape is None else found.shape,
        known.content if found.content is None else found.content,
    )
