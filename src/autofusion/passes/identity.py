"""Removal of nodes that hand a value on: Identity, and Dropout outside training."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from autofusion.ir import Attribute, DType, Graph, Node, Value
from autofusion.ir.scope import GraphScope
from autofusion.ops import find_operator
from autofusion.passes.nested import edit_nested
from autofusion.passes.redirect import redirect, rename_result

_MASK_BUDGET = 1 << 20


def remove_identities(graph: Graph) -> int:
    """Let readers of an Identity or idle Dropout read its operand; returns how many nodes changed.

    Graph outputs keep their names: the node that computes the value takes the output's name, and where it
    cannot (an input, a constant, a captured value, another output), an Identity stays.  The
    mask of a Dropout that is read becomes all true.
    """
    return _remove(GraphScope(graph))


def _remove(scope: GraphScope) -> int:
    graph = scope.graph
    changes = 0
    for name in [node.name for node in graph.topological()]:
        node = graph.node(name)
        if node.subgraphs():
            changes += edit_nested(graph, node, lambda nested: _remove(scope.nest(nested)))
        elif _is_idle_dropout(node, scope):
            changes += _split_dropout(node, scope)
            changes += _remove_identity(graph.node(name), graph) if name in graph else 0
        elif node.op == "Identity" and not node.domain:
            changes += _remove_identity(node, graph)
    return changes


def _is_idle_dropout(node: Node, scope: GraphScope) -> bool:
    """True for a Dropout whose `training_mode` is absent or the constant false, whatever its ratio."""
    if node.op != "Dropout" or node.domain or node.opaque:
        return False
    training = node.input(2)
    array = scope.constant(training) if training else None
    return not training or (array is not None and not array.any())


def _split_dropout(node: Node, scope: GraphScope) -> int:
    """An Identity in place of an idle Dropout, and its mask, where it is read, computed apart."""
    graph = scope.graph
    graph.remove(node.name)
    mask = node.outputs[1] if len(node.outputs) > 1 else ""
    if mask and (mask in graph.outputs or graph.consumers(mask)):
        _define_mask(mask, node, scope)
    if any(node.outputs[:1]):
        graph.add(
            replace(
                node,
                op="Identity",
                inputs=node.inputs[:1],
                outputs=node.outputs[:1],
                attributes={},
                opset=_version("Identity"),
            )
        )
    return 1


def _define_mask(mask: str, node: Node, scope: GraphScope) -> None:
    graph, data = scope.graph, scope.value(node.inputs[0])
    extents = [extent for extent in data.shape or () if isinstance(extent, int)]
    if data.shape is not None and data.is_static and math.prod(extents) <= _MASK_BUDGET:
        array = np.ones(extents, np.bool_)
        array.flags.writeable = False
        graph.add_constant(mask, array)
        return
    shape = scope.fresh(f"{node.name}_shape")
    sizes = Value(shape, DType.INT64, None if data.rank is None else (data.rank,), data.shape)
    filling: dict[str, Attribute] = {"value": np.array([True])}
    graph.add(_node(node, "Shape", node.inputs[:1], shape, {"start": 0}, scope), [sizes])
    graph.add(_node(node, "ConstantOfShape", (shape,), mask, filling, scope), [Value(mask, DType.BOOL, data.shape)])


def _node(
    source: Node, op: str, inputs: tuple[str, ...], output: str, attributes: dict[str, Attribute], scope: GraphScope
) -> Node:
    name = scope.fresh(f"{source.name}_{op}")
    return Node(name, op, inputs, (output,), attributes, opset=_version(op), origin=source.origin)


def _version(op: str) -> int:
    row = find_operator(op)
    return 0 if row is None else row.version


def _remove_identity(node: Node, graph: Graph) -> int:
    source, result = node.inputs[0], node.outputs[0]
    if result not in graph.outputs:
        graph.remove(node.name)
        redirect(graph, result, source)
        return 1
    if graph.producer(source) is None or source in graph.outputs:
        return 0
    graph.remove(node.name)
    rename_result(graph, source, result)
    return 1
