"""What a pass in Python found: nodes that are to become one, without a form that bound them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autofusion.fusion.candidate import Proposal
from autofusion.fusion.misses import Miss
from autofusion.fusion.reasons import Code, Reason, border_reason
from autofusion.fusion.scope import Scope
from autofusion.ir import CAPTURED, Node
from autofusion.patternlang.model import Pattern
from autofusion.patternlang.templates import render_template


@dataclass(frozen=True, eq=False)
class Region(Proposal):
    """`nodes`, producers first, that `pattern` makes one; the node is named after `root`, one of them.

    `results` are the values that leave it, in the order in which the fused node gives them; `words` those that
    the templates of the pattern ask for; `bindings` name the parts for reports and for lowering.
    """

    results: tuple[str, ...]
    words: frozenset[str] = frozenset()
    bindings: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def display(self) -> str:
        """The display name, such as `MultiHeadAttention`."""
        return render_template(self.pattern.display, self.words, lambda word: word)

    @property
    def op(self) -> str:
        """The operator of the node that the region becomes."""
        return render_template(self.pattern.op, self.words, lambda word: word)


@dataclass(frozen=True)
class Found:
    """What one pass found in one graph: regions, which may overlap, and what nearly was one."""

    regions: tuple[Region, ...] = ()
    misses: tuple[Miss, ...] = ()


def check_region(scope: Scope, region: Region) -> Reason | None:
    """The first rule that `region` breaks in the graph as it is now, None where it may become one node.

    Values that leave it are results of the region, and no path leads out of it and back.
    """
    for node in region.nodes:
        for value in node.results:
            reason = None if value in region.results else _check_inner(scope, region, value)
            if reason is not None:
                return reason
    return _check_cycle(scope, region)


def region_miss(
    scope: Scope, pattern: Pattern, nodes: Mapping[str, Node], part: str, reason: Reason, needed: int
) -> Miss:
    """A near miss of a pass: the parts it had by name, root last; the part that was wanting, of `needed` in all."""
    display = render_template(pattern.display, frozenset(), lambda word: word)
    return _make_miss(scope, pattern, display, nodes, part, reason, needed)


def refused_region(scope: Scope, region: Region, reason: Reason) -> Miss:
    """The miss of a region that is whole, but may not be applied for `reason`."""
    names = {node: part for part, node in region.bindings.items()}
    nodes = {names.get(node.name, node.name): node for node in region.nodes}
    root = names.get(region.root.name, region.root.name)
    return _make_miss(scope, region.pattern, region.display, nodes, root, reason, region.size)


def _make_miss(
    scope: Scope,
    pattern: Pattern,
    display: str,
    nodes: Mapping[str, Node],
    part: str,
    reason: Reason,
    needed: int,
) -> Miss:
    members = list(nodes.values())
    order = {node.name: place for place, node in enumerate(scope.graph.topological())}
    return Miss(
        pattern=pattern.name,
        display=display,
        anchor=members[0].name,
        root=members[-1].name,
        bound={name: node.name for name, node in nodes.items()},
        satisfied=len(members),
        needed=max(needed, len(members)),
        statement=part,
        reason=reason,
        span=pattern.span,
        text=pattern.summary,
        position=order[members[-1].name],
        graph=scope.path,
        origin=tuple(dict.fromkeys(name for node in members for name in node.origin)),
        benefit=pattern.benefit,
    )


def order_nodes(scope: Scope, nodes: Iterable[Node]) -> tuple[Node, ...]:
    """`nodes` without repetition, producers first."""
    names = {node.name for node in nodes}
    return tuple(node for node in scope.graph.topological() if node.name in names)


def _check_inner(scope: Scope, region: Region, value: str) -> Reason | None:
    if scope.leaves_group(value):
        return border_reason(scope.rule, value)
    if value in scope.graph.outputs:
        detail = f"{value!r} is an output of the graph, so it must be computed by itself"
        return Reason(Code.GRAPH_OUTPUT, (value,), detail, value=value)
    for use in scope.graph.consumers(value):
        if use.index == CAPTURED:
            detail = f"{value!r} is also read by a nested graph of {use.node.name}"
            return Reason(Code.NESTED_GRAPH, (value, use.node.name), detail, use.node.name, value)
        if use.node.name not in region.members:
            detail = f"{value!r} is also read by {use.node.name}"
            return Reason(Code.MULTI_READER, (value, use.node.name), detail, use.node.name, value)
    return None


def _check_cycle(scope: Scope, region: Region) -> Reason | None:
    """The reason where a node outside of the region reads from it and is read in it, by whatever way."""
    if set(region.results) <= set(region.root.results):
        # All members feed the root, so that a way from it back to one of them would be a cycle of the graph itself.
        return None
    order = {node.name: place for place, node in enumerate(scope.graph.topological())}
    last = max(order[name] for name in region.members)
    seen: set[str] = set()
    pending = [value for node in region.nodes for value in node.results]
    while pending:
        value = pending.pop()
        for use in scope.graph.consumers(value):
            name = use.node.name
            # What comes after the last member cannot lead back to one.
            if name in region.members or name in seen or order[name] > last:
                continue
            seen.add(name)
            back = [result for result in use.node.results if _is_read_in(scope, region, result)]
            if back:
                detail = f"{back[0]!r} is computed from the region by {name}, and read in it"
                return Reason(Code.CYCLE, (back[0],), detail, name, back[0])
            pending += use.node.results
    return None


def _is_read_in(scope: Scope, region: Region, value: str) -> bool:
    return any(use.node.name in region.members for use in scope.graph.consumers(value))
