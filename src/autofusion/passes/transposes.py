"""Transposes in a row are one, or none."""

from __future__ import annotations

from dataclasses import replace

from autofusion.ir import Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops.operands import integers
from autofusion.passes.redirect import hand_on, is_inner
from autofusion.passes.sweep import sweep


def merge_transposes(graph: Graph) -> int:
    """Take out Transposes that move no axis, alone or together with the one before; let one do what two do.

    Returns the number of Transposes changed.  Of two that move axes together, the first stays where others read it.
    """
    return sweep(graph, _merge)


def _merge(node: Node, scope: GraphScope) -> int:
    if node.op != "Transpose":
        return 0
    graph, order = scope.graph, integers(node, "perm")
    if order is not None and _is_identity(order):
        return hand_on(scope, node, node.inputs[0])
    first = graph.producer(node.inputs[0])
    if first is None or first.op != "Transpose" or first.domain or first.opaque:
        return 0
    moved = integers(first, "perm")
    if order is None and moved is None:
        return hand_on(scope, node, first.inputs[0])
    if order is None or moved is None:
        return 0
    composed = tuple(moved[axis] for axis in order)
    if _is_identity(composed):
        return hand_on(scope, node, first.inputs[0])
    if not is_inner(graph, node.inputs[0]):
        return 0
    origin = tuple(dict.fromkeys((*first.origin, *node.origin)))
    attributes = {**node.attributes, "perm": composed}
    graph.update(replace(node, inputs=first.inputs, attributes=attributes, origin=origin))
    return 1


def _is_identity(order: tuple[int, ...]) -> bool:
    return order == tuple(range(len(order)))
