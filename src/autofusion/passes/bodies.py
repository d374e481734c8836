"""Nodes of declared operators: what is done to operands and results is done to the body as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from autofusion.ir import Graph, Node, Value
from autofusion.ir.scope import GraphScope


def rename_body(node: Node, renamed: Node, names: Mapping[str, str]) -> Node:
    """`renamed`, which is `node` with the values `names` called otherwise, with a body that calls them so too.

    The node itself where it has no body.
    """
    old = node.body
    if old is None:
        return renamed
    body = Graph(old.name, renamed.operands, renamed.results)
    body.opsets, body.constants = (
        dict(old.opsets),
        {names.get(name, name): old.constants[name] for name in old.constants},
    )
    for name, value in old.values.items():
        body.set_value(replace(value, name=names.get(name, name)))
    for inner in old.topological():
        body.add(_rename_node(inner, names))
    return replace(renamed, body=body)


def _rename_node(node: Node, names: Mapping[str, str]) -> Node:
    inputs, outputs = (tuple(names.get(name, name) for name in places) for places in (node.inputs, node.outputs))
    attributes = {key: _rename_captured(value, names) for key, value in node.attributes.items()}
    return replace(node, inputs=inputs, outputs=outputs, attributes=attributes)


def edit_body(scope: GraphScope, node: Node, edit: Callable[[GraphScope], int]) -> int:
    """Apply `edit` to a copy of the body of `node`, for the operands as they are known now; returns its changes.

    What it makes known of the results is kept.
    """
    if node.body is None:
        return 0
    graph, body = scope.graph, node.body.copy()
    for name in body.inputs:
        known = replace(scope.value(name), content=None)
        body.set_value(known)
    changes = edit(scope.nest(body))
    if changes or any(body.value(name) != node.body.value(name) for name in body.inputs):
        graph.update(replace(node, body=body))
    for name in body.outputs:
        changes += _learn(graph, body.value(name))
    return changes


def _learn(graph: Graph, found: Value) -> int:
    known = graph.value(found.name)
    better = replace(known, dtype=found.dtype or known.dtype, shape=known.shape if found.shape is None else found.shape)
    if better == known:
        return 0
    graph.set_value(better)
    return 1
