"""Editing of control-flow graphs: always on copies, since copies of a graph share its nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from autofusion.ir import Graph, Node


def map_nested(node: Node, edit: Callable[[Graph], int]) -> tuple[Node, int]:
    """`node` with `edit` applied to copies of its nested graphs, and the changes that `edit` counted.

    The node itself comes back where there were none.
    """
    changed: dict[str, Graph] = {}
    total = 0
    for key, nested in node.subgraphs():
        twin = nested.copy()
        count = edit(twin)
        if count:
            changed[key] = twin
            total += count
    return (replace(node, attributes={**node.attributes, **changed}) if changed else node), total


def edit_nested(graph: Graph, node: Node, edit: Callable[[Graph], int]) -> int:
    """Apply `edit` to the nested graphs of `node` of `graph`; returns the changes that it counted."""
    edited, changes = map_nested(node, edit)
    if changes:
        graph.update(edited)
    return changes
