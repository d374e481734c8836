"""Chains of nodes round an operator that only it needs: the graph's side of what strides can say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from autofusion.fusion.attention.nodes import index_results
from autofusion.fusion.attention.sides import Link, climb, descend
from autofusion.fusion.reasons import Code, Reason
from autofusion.fusion.scope import Scope
from autofusion.ir import Node
from autofusion.ops.table import Known


def climb_graph(
    scope: Scope, known: Known, value: str, *, scales: bool, inside: Mapping[str, Node] | None = None
) -> list[Link]:
    """The longest way from `value` up through the graph, the nearest node first; nodes `inside` come first."""
    made = dict(inside or {})
    links = climb(value, made, known, scales=scales)
    source = links[-1].source if links else value
    while (node := scope.graph.producer(source)) is not None:
        made.update(index_results([node]))
        longer = climb(value, made, known, scales=scales)
        if len(longer) == len(links):
            break
        links, source = longer, longer[-1].source
    return links


def descend_graph(scope: Scope, known: Known, value: str) -> list[Node]:
    """The nodes that alone read `value`, one after the other, and leave all its elements."""
    made_from: dict[str, Node] = {}
    last = value
    while last not in scope.graph.outputs:
        uses = scope.graph.consumers(last)
        if len(uses) != 1 or uses[0].index != 0:
            break
        made_from[last] = uses[0].node
        last = uses[0].node.outputs[0]
    return descend(value, made_from, known)


def find_leak(
    scope: Scope, nodes: Sequence[Node], inner: Collection[str], leaving: Collection[str]
) -> tuple[Node, Reason] | None:
    """One of `nodes` that something outside of `inner` needs too, and why; values `leaving` may be needed."""
    for node in nodes:
        for value in node.results:
            reason = None if value in leaving else find_reader(scope, value, inner)
            if reason is not None:
                return node, reason
    return None


def find_operand(nodes: Sequence[Node], operands: Collection[str], reader: str) -> tuple[Node, Reason] | None:
    """One of `nodes` that must stay, as the kernel that node `reader` becomes reads one of its results: `operands`."""
    for node in nodes:
        for value in node.results:
            if value in operands:
                detail = f"{value!r} is also read by {reader} as it stands"
                return node, Reason(Code.MULTI_READER, (value, reader), detail, reader, value)
    return None


def find_reader(scope: Scope, value: str, inner: Collection[str]) -> Reason | None:
    """Who needs `value` outside of the nodes named `inner`, None where nobody does."""
    if value in scope.graph.outputs:
        return Reason(Code.GRAPH_OUTPUT, (value,), f"{value!r} is an output of the graph", value=value)
    for use in scope.graph.consumers(value):
        if use.node.name not in inner:
            detail = f"{value!r} is also read by {use.node.name}"
            return Reason(Code.MULTI_READER, (value, use.node.name), detail, use.node.name, value)
    return None


def cut_way(way: Sequence[Link], node: Node) -> Sequence[Link]:
    """The part of `way` below `node`."""
    places = [place for place, link in enumerate(way) if link.node.name == node.name]
    return way[: places[0]] if places else way
