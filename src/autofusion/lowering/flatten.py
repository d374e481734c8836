"""Fused nodes as the nodes that they stand for."""

from __future__ import annotations

from collections.abc import Callable

from autofusion.ir import Node


def flatten_node(node: Node, keep: Callable[[Node], bool]) -> tuple[Node, ...]:
    """The nodes of a fused node's body, bodies inside it taken apart as well, producers first.

    Stops at plain nodes and at fused nodes that `keep` holds together.
    """
    if node.body is None or keep(node):
        return (node,)
    return tuple(part for inner in node.body.topological() for part in flatten_node(inner, keep))
