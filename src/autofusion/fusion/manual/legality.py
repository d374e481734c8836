"""What a group of nodes must be to become one: free of control flow, convex, and closed but for its results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from autofusion.fusion.node_names import names_of
from autofusion.ir import CAPTURED, Graph, Node

RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
"""Operators that draw numbers: a group has a meaning of its own, which these lack."""


@dataclass(frozen=True)
class Fault:
    """Why nodes cannot become one: a diagnostic code, the words after the rule's name, and a remedy."""

    code: str
    text: str
    help: str


def check_node(node: Node) -> Fault | None:
    """What keeps a single node out of every group."""
    name = names_of(node)[0]
    if node.subgraphs():
        return Fault("AF335", f"holds {name!r}, the control flow of an {node.op}", f"leave {name} out of the rule")
    if node.opaque:
        what = f"{node.domain}::{node.op}" if node.domain else f"{node.op} of opset {node.opset}"
        return Fault("AF336", f"holds {name!r}, of the unknown operator {what}", f"leave {name} out of the rule")
    if node.op in RANDOM and not node.domain:
        return Fault("AF336", f"holds {name!r}, and {node.op} draws random numbers", f"leave {name} out of the rule")
    return None


@dataclass(frozen=True)
class Outputs:
    """Which results may be read inside and outside of a group: `allows` them, and `spell` is what to list for one."""

    allows: Callable[[str], bool]
    spell: Callable[[str], str]


def check_group(graph: Graph, members: Collection[str], outputs: Outputs) -> Fault | None:
    """Why the nodes `members` of `graph` cannot become one node, None where they can.

    A result that members and others read, or that members read and the graph gives out, must be one that
    `outputs` allows.
    """
    for node in (graph.node(name) for name in sorted(members)):
        fault = check_node(node)
        if fault is not None:
            return fault
    way = find_way_back(graph, members)
    if way:
        return _explain_way(graph, members, way)
    return next(_escapes(graph, members, outputs), None)


def find_way_back(graph: Graph, members: Collection[str]) -> tuple[str, ...]:
    """The nodes outside of `members` on a path that leaves them and comes back, in order; () where there is none."""
    order = {node.name: place for place, node in enumerate(graph.topological())}
    last = max((order[name] for name in members), default=-1)
    before: dict[str, str] = {}
    pending = [name for name in order if name in members]
    for name in pending:
        for result in graph.node(name).results:
            for reader in (use.node.name for use in graph.consumers(result)):
                if reader in members and name not in members:
                    return _trace(before, name)
                if reader not in members and reader not in before and order[reader] < last:
                    before[reader] = name
                    pending.append(reader)
    return ()


def _trace(before: dict[str, str], name: str) -> tuple[str, ...]:
    way = [name]
    while before.get(way[-1]) in before:
        way.append(before[way[-1]])
    return tuple(reversed(way))


def _explain_way(graph: Graph, members: Collection[str], way: tuple[str, ...]) -> Fault:
    first, last = graph.node(way[0]), graph.node(way[-1])
    out = next(name for name in first.operands if _producer(graph, name) in members)
    back = next(name for name in last.results if any(use.node.name in members for use in graph.consumers(name)))
    reader = next(use.node for use in graph.consumers(back) if use.node.name in members)
    names = [names_of(graph.node(name))[0] for name in way]
    source = names_of(graph.node(_producer(graph, out)))[0]
    text = (
        f"is not convex: {out!r} goes from {source} to {names[0]} outside of it, "
        f"and {back!r} comes back from {names[-1]} to {names_of(reader)[0]}"
    )
    return Fault("AF333", text, f"take {', '.join(names)} into the rule, or take {names_of(reader)[0]} out")


def _escapes(graph: Graph, members: Collection[str], outputs: Outputs) -> Iterator[Fault]:
    for node in (node for node in graph.topological() if node.name in members):
        for value in node.results:
            uses = graph.consumers(value)
            inside = next((use.node for use in uses if use.node.name in members), None)
            outside = next((use for use in uses if use.node.name not in members), None)
            if inside is None or outputs.allows(value):
                continue
            within = f"{value!r}, which {names_of(inside)[0]} inside of it reads, "
            if value in graph.outputs:
                listed = f"list {outputs.spell(value)!r} under its outputs"
                yield Fault("AF334", f"lets {within}be an output of the graph", listed)
            elif outside is not None:
                reader = names_of(outside.node)[0]
                how = "a nested graph of " if outside.index == CAPTURED else ""
                listed = f"take {reader} into the rule, or list {outputs.spell(value)!r} under its outputs"
                yield Fault("AF334", f"lets {within}go to {how}{reader} outside", listed)


def _producer(graph: Graph, value: str) -> str:
    node = graph.producer(value)
    return "" if node is None else node.name
