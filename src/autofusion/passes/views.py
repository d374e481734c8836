"""Reshapes in a row: Reshape, Flatten, Squeeze and Unsqueeze change the extents and leave the elements in order."""

from __future__ import annotations

from autofusion.ir import Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops.bounds import is_at_least
from autofusion.ops.operands import content_of
from autofusion.passes.build import add_node, add_view
from autofusion.passes.redirect import hand_on, is_inner
from autofusion.passes.spelling import VIEWS, spell_view
from autofusion.passes.sweep import sweep


def merge_views(graph: Graph) -> int:
    """Take out views that give a value the shape it has, and let one Reshape do what several views in a row do.

    Returns the number of views changed.  A view that others read stays.  Targets that are computed from shapes become
    constants where an extent to be copied (0) and one left open (-1) can say them.
    """
    return sweep(graph, _merge)


def _merge(node: Node, scope: GraphScope) -> int:
    if node.op not in VIEWS:
        return 0
    shape = scope.value(node.outputs[0]).shape
    source = node.inputs[0]
    while (before := _viewed(source, scope.graph)) is not None:
        source = before
        if shape is not None and scope.value(source).shape == shape:
            return hand_on(scope, node, source)
    if shape is not None and scope.value(node.inputs[0]).shape == shape:
        return hand_on(scope, node, node.inputs[0])
    return _collapse(node, scope) or _settle(node, scope)


def _viewed(value: str, graph: Graph) -> str | None:
    """What `value` is a view of, None where it is not the result of one in this graph."""
    producer = graph.producer(value)
    if producer is None or producer.op not in VIEWS or producer.domain or producer.opaque:
        return None
    return producer.inputs[0]


def _collapse(node: Node, scope: GraphScope) -> int:
    """Let `node` read what its operand is a view of."""
    graph = scope.graph
    before = graph.producer(node.inputs[0])
    source = _viewed(node.inputs[0], graph)
    if before is None or source is None or not is_inner(graph, node.inputs[0]):
        return 0
    origin = tuple(dict.fromkeys((*before.origin, *node.origin)))
    if node.op == "Reshape" and _copies_nothing(node, scope):
        attributes = {"allowzero": int(bool(node.attributes.get("allowzero")))}
        scope.graph.remove(node.name)
        add_node(scope, node.name, "Reshape", (source, node.inputs[1]), node.outputs, attributes, origin)
        return 1
    return _target(node, source, origin, scope)


def _settle(node: Node, scope: GraphScope) -> int:
    """Give a Reshape whose target is computed from shapes a constant one."""
    if node.op != "Reshape" or scope.constant(node.inputs[1]) is not None:
        return 0
    return _target(node, node.inputs[0], node.origin, scope) if content_of(node.inputs[1], scope) is not None else 0


def _target(node: Node, source: str, origin: tuple[str, ...], scope: GraphScope) -> int:
    shape, given = scope.value(node.outputs[0]).shape, scope.value(source).shape
    if shape is None or given is None:
        return 0
    view = spell_view(shape, given)
    if view is None:
        return 0
    scope.graph.remove(node.name)
    add_view(scope, node.name, source, view, node.outputs[0], origin)
    return 1


def _copies_nothing(node: Node, scope: GraphScope) -> bool:
    """True where no element of the target is a 0 that stands for an extent of the operand."""
    if node.attributes.get("allowzero"):
        return True
    content = content_of(node.inputs[1], scope)
    return content is not None and all(extent == -1 or is_at_least(extent, 1) for extent in content)
