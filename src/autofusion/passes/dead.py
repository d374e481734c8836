"""Removal of what nothing reads."""

from __future__ import annotations

from autofusion.ir import Graph
from autofusion.passes.nested import edit_nested


def remove_dead(graph: Graph) -> int:
    """Take out nodes without a read result, and constants that nobody reads; readings by nested graphs count.

    Graph inputs stay, read or not.  Returns the number of nodes and constants removed.
    """
    changes = 0
    for node in reversed(graph.topological()):
        if any(value in graph.outputs or graph.consumers(value) for value in node.results):
            changes += edit_nested(graph, graph.node(node.name), remove_dead)
            continue
        graph.remove(node.name)
        changes += 1
    before = len(graph.constants)
    graph.discard_unused()
    return changes + before - len(graph.constants)
