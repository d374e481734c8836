"""One walk over a graph and the graphs nested in it, node by node."""

from __future__ import annotations

from collections.abc import Callable

from autofusion.ir import Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.passes.nested import edit_nested

Visit = Callable[[Node, GraphScope], int]
"""Looks at one node, may edit its graph, and returns how many changes it made."""


def sweep(graph: Graph, visit: Visit) -> int:
    """Hand every ONNX node of `graph` and of its nested graphs to `visit`, producers first; returns all changes.

    Opaque and fused nodes, those of other domains and those that an earlier visit removed are passed over.
    """
    return _sweep(GraphScope(graph), visit)


def _sweep(scope: GraphScope, visit: Visit) -> int:
    graph = scope.graph
    changes = 0
    for name in [node.name for node in graph.topological()]:
        if name not in graph:
            continue
        node = graph.node(name)
        if node.subgraphs():
            changes += edit_nested(graph, node, lambda nested: _sweep(scope.nest(nested), visit))
            node = graph.node(name)
        if not (node.opaque or node.domain or node.body is not None):
            changes += visit(node, scope)
    return changes
