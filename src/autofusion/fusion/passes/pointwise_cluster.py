"""Elementwise nodes that nothing else took, as many as hand values of one shape on to one result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from autofusion.fusion.passes.ways import find_reader
from autofusion.fusion.pointwise import Program, is_pointwise, know_bodies, read_program
from autofusion.fusion.pointwise.vocabulary import REDUCTIONS
from autofusion.fusion.reasons import Code, Reason
from autofusion.fusion.region import Found, Region, order_nodes, region_miss
from autofusion.fusion.scope import Scope
from autofusion.ir import MANUAL, DType, Node
from autofusion.patternlang.model import Pattern

_TOLD = frozenset({Code.MULTI_READER, Code.GRAPH_OUTPUT, Code.KERNEL_LIMIT})
"""Why nodes of one shape are not put together; of other reasons nothing is said."""


def find_clusters(scope: Scope, pattern: Pattern) -> Found:
    """A region for each group of two nodes or more, found from its result upwards, and the nodes that ended one.

    The last nodes come first, and each takes in what only it and its own need: a node is in one region at most.
    """
    ordered = scope.graph.topological()
    regions: list[Region] = []
    stops: list[tuple[Node, Node, Reason]] = []
    taken: set[str] = set()
    for node in reversed(ordered):
        if node.name in taken or not _is_root(scope, node):
            continue
        nodes, stopped = _grow(scope, node, taken)
        stops += [(other, node, reason) for other, reason in stopped]
        if len(nodes) < 2:
            continue
        taken |= {member.name for member in nodes}
        regions.append(_make_region(pattern, nodes, ordered.index(node)))
    # Any other pattern that nearly applied has more to say.
    misses = [
        replace(region_miss(scope, pattern, {"part": other, "root": root}, "part", reason, 2), satisfied=1)
        for other, root, reason in stops
        if other.name not in taken or root.name not in taken
    ]
    return Found(tuple(reversed(regions)), tuple(misses))


def _make_region(pattern: Pattern, nodes: Sequence[Node], position: int) -> Region:
    root = nodes[-1]
    bindings = {f"{node.op}_{place}": node.name for place, node in enumerate(nodes, 1)}
    return Region(pattern, tuple(nodes), root, position, root.results, bindings=bindings)


def _is_member(node: Node) -> bool:
    """True for an elementwise operator, and for a normal form or a declared operator that is made of them alone."""
    if node.body is None:
        return is_pointwise(node)
    parts = _flatten(node)
    return node.pattern != MANUAL and len(node.results) == 1 and all(map(is_pointwise, parts))


def _is_root(scope: Scope, node: Node) -> bool:
    if not _is_member(node) and (node.body is not None or node.op not in REDUCTIONS):
        return False
    if scope.value(node.outputs[0]).dtype not in (DType.FLOAT, DType.DOUBLE):
        return False
    return isinstance(_read(scope, [node]), Program) or node.op in REDUCTIONS


def _grow(scope: Scope, root: Node, taken: set[str]) -> tuple[tuple[Node, ...], list[tuple[Node, Reason]]]:
    """`root` and the nodes above that may be with it, producers first; those that may not, and why."""
    members: dict[str, Node] = {root.name: root}
    stopped: dict[str, tuple[Node, Reason]] = {}
    pending = True
    while pending:
        pending = False
        for node in _producers(scope, members.values()):
            if node.name in members or node.name in taken or not _is_member(node):
                continue
            reason = _refuse(scope, members, node)
            if reason is None:
                members[node.name] = node
                stopped.pop(node.name, None)
                pending = True
            elif reason.code in _TOLD:
                stopped[node.name] = (node, reason)
    return order_nodes(scope, members.values()), list(stopped.values())


def _producers(scope: Scope, nodes: Iterable[Node]) -> list[Node]:
    found = [scope.graph.producer(name) for node in nodes for name in node.operands]
    return [node for node in found if node is not None]


def _refuse(scope: Scope, members: Mapping[str, Node], node: Node) -> Reason | None:
    """Why `node` may not be one of `members`, None where it may."""
    program = _read(scope, order_nodes(scope, [*members.values(), node]))
    if isinstance(program, Reason):
        return program
    return find_reader(scope, node.outputs[0], {*members, node.name})


def _read(scope: Scope, nodes: Sequence[Node]) -> Program | Reason:
    parts = [part for node in nodes for part in _flatten(node)]
    return read_program(parts, nodes[-1].outputs[0], know_bodies(nodes, scope))


def _flatten(node: Node) -> tuple[Node, ...]:
    if node.body is None:
        return (node,)
    return tuple(part for inner in node.body.topological() for part in _flatten(inner))
