"""Making a group: nodes of a graph move into the body of one new node."""

from __future__ import annotations

from collections.abc import Collection

from autofusion.fusion.manual.rules import Rule
from autofusion.fusion.node_names import names_of
from autofusion.fusion.scope import Scope
from autofusion.ir import FUSED_DOMAIN, MANUAL, Graph, Node


def make_group(scope: Scope, rule: Rule, members: Collection[str], name: str) -> Node:
    """Replace the nodes `members`, which must be a legal group, by one node called `name`, and return it.

    Its operands are what the members read from elsewhere, in the order of the members; its results are what
    others read and what the graph gives out.
    """
    graph = scope.graph
    nodes = [node for node in graph.topological() if node.name in members]
    inner = dict.fromkeys(value for node in nodes for value in node.results)
    operands = tuple(dict.fromkeys(value for node in nodes for value in node.operands if value not in inner))
    results = tuple(value for value in inner if _is_needed(graph, value, members))
    body = Graph(rule.op, operands, results)
    body.opsets = dict(graph.opsets)
    for value in (*operands, *inner):
        body.set_value(scope.value(value))
    for node in nodes:
        body.add(node)
    group = Node(
        name=name,
        op=rule.op,
        inputs=operands,
        outputs=results,
        domain=FUSED_DOMAIN,
        origin=tuple(dict.fromkeys(origin for node in nodes for origin in names_of(node))),
        body=body,
        pattern=MANUAL,
        display=rule.name,
    )
    graph.replace([node.name for node in nodes], [group])
    return group


def _is_needed(graph: Graph, value: str, members: Collection[str]) -> bool:
    return value in graph.outputs or any(use.node.name not in members for use in graph.consumers(value))
