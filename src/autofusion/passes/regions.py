"""Transposes round elementwise operators: those that the operators do not need.

A region is what can be computed before a permutation as well as after it.  It starts behind Transposes of one
permutation and ends where something else reads its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from autofusion.ir import Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops import find_operator
from autofusion.ops.operands import integer, integers
from autofusion.passes.build import add_node
from autofusion.passes.redirect import hand_on
from autofusion.passes.sweep import sweep

_ALONG_AXIS = frozenset({"Concat", "LogSoftmax", "Softmax", "Split"})
_MOST_NODES = 256


@dataclass
class _Region:
    """Nodes by name, and the Transposes that feed them; with `takes_others` they may read other computed values."""

    order: tuple[int, ...]
    takes_others: bool
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    feeding: dict[str, Node] = field(default_factory=dict[str, Node])

    def holds(self, value: str, graph: Graph) -> bool:
        """True where `value` is computed in the region, or by a Transpose that feeds it."""
        node = graph.producer(value)
        return node is not None and (node.name in self.nodes or _turns(node, self.order))


def merge_regions(graph: Graph) -> int:
    """Compute elementwise operators before the Transposes that they follow, where that leaves fewer Transposes.

    Constant operands are transposed once and for all; axes of Softmax, Concat and Split move along; other operands get
    a Transpose of their own, which counts.  Returns the Transposes that went.
    """
    return sweep(graph, _merge)


def _merge(node: Node, scope: GraphScope) -> int:
    order = integers(node, "perm") if node.op == "Transpose" else None
    if order is None:
        return 0
    return _move(node, order, False, scope) or _move(node, order, True, scope)


def _move(start: Node, order: tuple[int, ...], takes_others: bool, scope: GraphScope) -> int:
    region = _grow(start, order, takes_others, scope)
    if not region.nodes:
        return 0
    opened = _find_opened(region, scope.graph)
    closed = [name for name in _results(region) if _is_read_outside(name, region, scope.graph)]
    spent = [turn for turn in region.feeding.values() if _is_spent(turn, region, scope.graph)]
    others = _find_others(region, scope)
    gain = len(spent) + len(opened) - len(closed) - len(others)
    if gain <= 0:
        return 0
    _rewrite(region, opened, closed, others, scope)
    return gain


def _grow(start: Node, order: tuple[int, ...], takes_others: bool, scope: GraphScope) -> _Region:
    """What hangs together with `start` and may be computed before its permutation."""
    movable = _Region(order, takes_others)
    pending = [node.outputs[0] for node in scope.graph if _turns(node, order)]
    while pending and len(movable.nodes) < _MOST_NODES:
        for use in scope.graph.consumers(pending.pop()):
            if use.node.name not in movable.nodes and _may_move(use.node, movable, scope):
                movable.nodes[use.node.name] = use.node
                pending += use.node.outputs
    return _connect(start, movable, scope.graph)


def _connect(start: Node, movable: _Region, graph: Graph) -> _Region:
    region = _Region(movable.order, movable.takes_others)
    pending = [start.outputs[0]]
    reached = set(pending)
    while pending:
        value = pending.pop()
        turn = graph.producer(value)
        found = [use.node for use in graph.consumers(value) if use.node.name in movable.nodes]
        if turn is not None and turn.name in movable.nodes:
            found.append(turn)
        elif turn is not None and found:
            region.feeding[turn.name] = turn
        for node in found:
            region.nodes[node.name] = node
            touched = [*node.outputs, *(name for name in node.inputs if movable.holds(name, graph))]
            pending += [name for name in touched if name not in reached]
            reached.update(touched)
    return region


def _turns(node: Node, order: tuple[int, ...]) -> bool:
    return node.op == "Transpose" and not node.domain and not node.opaque and node.attributes.get("perm") == order


def _may_move(node: Node, region: _Region, scope: GraphScope) -> bool:
    """True for an operator that works alike on permuted operands, if the region may hold what it reads."""
    if node.domain or node.opaque or node.body is not None or node.subgraphs() or node.op == "Identity":
        return False
    rank = len(region.order)
    operator = find_operator(node.op)
    along = node.op in _ALONG_AXIS
    if operator is None or not (operator.pointwise or along) or len(node.results) != len(node.outputs):
        return False
    if any(scope.value(name).rank != rank for name in node.outputs):
        return False
    moved = [name for place, name in enumerate(node.inputs) if name and not _is_parameter(node, place)]
    held = [name for name in moved if region.holds(name, scope.graph)]
    if node.op == "PRelu" or not held:
        return False
    return all(_may_be_read(name, region, along, scope) for name in moved if name not in held)


def _may_be_read(name: str, region: _Region, along: bool, scope: GraphScope) -> bool:
    """True for an operand from outside that broadcasts to the same after it is transposed, or needs no such."""
    rank = scope.value(name).rank
    if scope.constant(name) is not None or rank == 0:
        return not along
    return region.takes_others and rank == len(region.order)


def _find_others(region: _Region, scope: GraphScope) -> list[str]:
    """What is computed otherwise and read in the region, as it must be transposed first."""
    read = [
        name
        for node in region.nodes.values()
        for place, name in enumerate(node.inputs)
        if name and not _is_parameter(node, place) and not region.holds(name, scope.graph)
    ]
    return [name for name in dict.fromkeys(read) if scope.constant(name) is None and scope.value(name).rank != 0]


def _is_parameter(node: Node, place: int) -> bool:
    return node.op == "Split" and place == 1


def _results(region: _Region) -> list[str]:
    return [name for node in region.nodes.values() for name in node.outputs]


def _find_opened(region: _Region, graph: Graph) -> list[Node]:
    """Transposes behind the region that undo its permutation."""
    back = tuple(int(place) for place in np.argsort(region.order))
    readers = [use.node for name in _results(region) for use in graph.consumers(name)]
    return [node for node in readers if _turns(node, back)]


def _is_read_outside(value: str, region: _Region, graph: Graph) -> bool:
    back = tuple(int(place) for place in np.argsort(region.order))
    readers = [use.node for use in graph.consumers(value)]
    outside = [node for node in readers if node.name not in region.nodes and not _turns(node, back)]
    return value in graph.outputs or bool(outside)


def _is_spent(turn: Node, region: _Region, graph: Graph) -> bool:
    value = turn.outputs[0]
    return value not in graph.outputs and all(use.node.name in region.nodes for use in graph.consumers(value))


def _rewrite(
    region: _Region, opened: Sequence[Node], closed: Sequence[str], others: Sequence[str], scope: GraphScope
) -> None:
    graph = scope.graph
    origin = tuple(dict.fromkeys(part for turn in region.feeding.values() for part in turn.origin))
    ordered = [node for node in graph.topological() if node.name in region.nodes]
    moved = {turn.outputs[0]: turn.inputs[0] for turn in region.feeding.values()}
    back = {"perm": tuple(int(place) for place in np.argsort(region.order))}
    for name in others:
        moved[name] = scope.fresh(f"{name}_turn")
        add_node(scope, scope.fresh(f"{name}_turn"), "Transpose", (name,), (moved[name],), back, origin)
    for node in ordered:
        graph.remove(node.name)
        moved.update((name, scope.fresh(name)) for name in node.outputs)
    for node in ordered:
        rank = scope.value(node.outputs[0]).rank or 0
        inputs = [
            name if not name or _is_parameter(node, place) else moved.get(name) or _turn_constant(name, region, scope)
            for place, name in enumerate(node.inputs)
        ]
        attributes = dict(node.attributes)
        if node.op in _ALONG_AXIS:
            attributes["axis"] = region.order[integer(node, "axis") % rank]
        results = [moved[name] for name in node.outputs]
        add_node(scope, node.name, node.op, inputs, results, attributes, node.origin)
    for turn in opened:
        hand_on(scope, turn, moved[turn.inputs[0]])
    for name in closed:
        attributes = {"perm": region.order}
        add_node(scope, scope.fresh(f"{name}_turn"), "Transpose", (moved[name],), (name,), attributes, origin)


def _turn_constant(name: str, region: _Region, scope: GraphScope) -> str:
    """The constant that is to the operands before the permutation what `name` is to those after it."""
    array = scope.constant(name)
    if array is None or array.size == 1:
        return name
    whole = array.reshape((1,) * (len(region.order) - array.ndim) + array.shape)
    turned = np.ascontiguousarray(np.transpose(whole, np.argsort(region.order)))
    turned.flags.writeable = False
    return scope.define_constant(f"{name}_turned", turned)
