"""Nodes of declared operators: passes work in their bodies, with what is known of the operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from autofusion.ir import Graph, Node, Value
from autofusion.ir.scope import GraphScope


def edit_body(scope: GraphScope, node: Node, edit: Callable[[GraphScope], int]) -> int:
    """Apply `edit` to a copy of the body of `node`, for the operands as they are known now; returns its changes.

    What it makes known of the results is kept.  A node without a body has no changes.
    """
    if node.body is None:
        return 0
    graph, body = scope.graph, node.body.copy()
    for name in body.inputs:
        # Elements of operands are known to the readers inside by their own names only.
        body.set_value(replace(scope.value(name), content=None))
    changes = edit(scope.nest(body))
    if changes or any(body.value(name) != node.body.value(name) for name in body.inputs):
        graph.update(replace(node, body=body))
    return changes + sum(_learn(graph, body.value(name)) for name in body.outputs)


def _learn(graph: Graph, found: Value) -> int:
    """Keep what the body knows of a result; returns 1 where that is more than was known."""
    known = graph.value(found.name)
    better = replace(known, dtype=found.dtype or known.dtype, shape=known.shape if found.shape is None else found.shape)
    if better == known:
        return 0
    graph.set_value(better)
    return 1
