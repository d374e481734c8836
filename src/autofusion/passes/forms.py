"""Old forms of operators whose canonical form depends on what was not known when the model was read."""

from __future__ import annotations

from dataclasses import replace

from autofusion.ir import Graph
from autofusion.ir.scope import GraphScope
from autofusion.ops.canonical import canonicalize
from autofusion.passes.nested import edit_nested
from autofusion.passes.shapes import refine_results


def convert_forms(graph: Graph) -> int:
    """Bring opaque nodes into canonical form where a rank, an extent or a constant is known by now.

    Returns the number of nodes changed.  Raises ModelError where what became known contradicts a node.
    """
    return _convert(GraphScope(graph))


def _convert(scope: GraphScope) -> int:
    graph, changes = scope.graph, 0
    for name in [node.name for node in graph.topological()]:
        node = graph.node(name)
        if node.subgraphs():
            changes += edit_nested(graph, node, lambda nested: _convert(scope.nest(nested)))
            continue
        if not node.opaque or node.body is not None:
            continue
        parts = canonicalize(replace(node, opaque=False), node.opset, scope)
        if any(part.opaque for part in parts):
            continue
        graph.remove(name)
        for part in parts:
            graph.add(part)
            refine_results(part, scope)
        changes += 1
    return changes
