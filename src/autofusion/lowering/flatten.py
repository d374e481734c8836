"""Fused nodes as the nodes that they stand for."""

from __future__ import annotations

from autofusion.ir import Node


def flatten_node(node: Node) -> tuple[Node, ...]:
    """The nodes of a fused node's body, bodies inside it taken apart as well, producers first; a plain node alone."""
    if node.body is None:
        return (node,)
    return tuple(part for inner in node.body.topological() for part in flatten_node(inner))
