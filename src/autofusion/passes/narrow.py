"""Broadcasts that readers would do anyway."""

from __future__ import annotations

from autofusion.ir import Dim, Node, Shape
from autofusion.ir.scope import GraphScope
from autofusion.ops import find_operator
from autofusion.ops.broadcast import broadcast_shapes

_MOST_READERS = 256


def may_narrow(value: str, shape: Shape, scope: GraphScope) -> bool:
    """True where nothing can tell that `value` has the shape `shape` only, which broadcasts to the one it has.

    Its readers are elementwise, and either have other operands as wide, or are read by such in turn.
    """
    return _may_narrow(value, shape, scope, [_MOST_READERS])


def _may_narrow(value: str, shape: Shape, scope: GraphScope, left: list[int]) -> bool:
    graph, known = scope.graph, scope.value(value).shape
    readers = graph.consumers(value)
    if value in graph.outputs or known is None or not readers or not _broadcasts(shape, known):
        return False
    left[0] -= len(readers)
    return left[0] >= 0 and all(_tolerates(use.node, value, shape, scope, left) for use in readers)


def _tolerates(node: Node, value: str, shape: Shape, scope: GraphScope, left: list[int]) -> bool:
    if node.domain or node.opaque or value not in node.inputs or len(node.outputs) != 1:
        return False
    if node.op == "Expand":
        return value == node.inputs[0]
    operator = find_operator(node.op)
    if operator is None or not operator.pointwise or node.op == "PRelu":
        return False
    shapes = [shape if name == value else scope.value(name).shape for name in node.inputs if name]
    result = scope.value(node.outputs[0]).shape
    known = [each for each in shapes if each is not None]
    if result is None or len(known) != len(shapes):
        return False
    try:
        narrowed = broadcast_shapes(known)
    except ValueError:
        return False
    return narrowed == result or _may_narrow(node.outputs[0], narrowed, scope, left)


def _broadcasts(shape: Shape, known: Shape) -> bool:
    """True where `shape` is `known`, with extents of 1 for some or axes missing at the front."""
    if len(shape) > len(known):
        return False
    tail: tuple[Dim, ...] = known[len(known) - len(shape) :]
    return all(extent in (1, whole) for extent, whole in zip(shape, tail, strict=True))
