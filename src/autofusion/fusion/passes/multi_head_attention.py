"""The pass `multi_head_attention`: attention takes in what only it reads of the views round it.

Heads are split and turned, repeated, scaled and joined with past rows on the way to the products, and merged again
behind them.  The kernel reads and writes through strides, so all of that can go, as far as nobody else reads it and
strides still say where the elements lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autofusion.fusion.attention.core import Core
from autofusion.fusion.attention.nodes import flatten_attention, index_results, key_of
from autofusion.fusion.attention.reading import (
    SIDES,
    Reading,
    find_core,
    operands_of,
    read_operand,
    read_split,
    split_heads,
)
from autofusion.fusion.attention.sides import Link
from autofusion.fusion.attention.surroundings import Surroundings
from autofusion.fusion.misses import Miss
from autofusion.fusion.passes.ways import climb_graph, cut_way, descend_graph, find_leak, find_operand, find_reader
from autofusion.fusion.reasons import Reason
from autofusion.fusion.region import Found, Region, order_nodes, region_miss
from autofusion.fusion.scope import Scope
from autofusion.ir import Node, Shape
from autofusion.ops.table import Known
from autofusion.patternlang.model import Pattern

Ways = Mapping[str, Sequence[Link]]


@dataclass(frozen=True)
class _Fit:
    """A kernel call, and the ways and the nodes behind the core that it takes in."""

    reading: Reading
    ways: Ways
    after: Sequence[Node]

    inside: frozenset[str]

    @property
    def nodes(self) -> list[Node]:
        """The nodes round the core, some twice; those `inside` of it are none."""
        links = [link.node for way in self.ways.values() for link in way]
        return [*(node for node in links if key_of(node) not in self.inside), *self.after]


def find_heads(scope: Scope, pattern: Pattern) -> Found:
    """A region for each attention of the graph that has something to take in, or is the operator Attention."""
    regions: list[Region] = []
    misses: list[Miss] = []
    for position, node in enumerate(scope.graph.topological()):
        if not _is_attention(node, pattern):
            continue
        growth = _Growth(scope, node, pattern)
        region = growth.grow(position)
        regions += [region] if region is not None else []
        misses += growth.misses
    return Found(tuple(regions), tuple(misses))


def _is_attention(node: Node, pattern: Pattern) -> bool:
    """True for what the patterns that `pattern` wraps made, and for the operator."""
    if node.body is None:
        return node.op == "Attention" and not node.domain and not node.opaque
    return any(node.pattern == reference.name for reference in pattern.wraps)


class _Growth:
    """One attention, and what may go into it."""

    def __init__(self, scope: Scope, core: Node, pattern: Pattern) -> None:
        self._scope = scope
        self._node = core
        self._pattern = pattern
        self._known: Known = Surroundings(scope, [core])
        self._inner = flatten_attention(core)
        self._masks: list[Node] = []
        self.misses: list[Miss] = []

    def grow(self, position: int) -> Region | None:
        """The largest region round the core that is one kernel call, None where there is nothing to gain."""
        core = find_core(self._inner, self._known)
        if isinstance(core, Reason):
            self._tell(self._node, core, [])
            return None
        core = self._take_mask(core)
        inside = index_results(self._inner)
        ways: Ways = {
            side: climb_graph(self._scope, self._known, value, scales=side != "v", inside=inside)
            for side, value in operands_of(core).items()
        }
        fit = self._fit(core, ways, descend_graph(self._scope, self._known, core.y))
        leak = None if fit is None else self._find_leak(fit)
        while fit is not None and leak is not None:
            self._tell(leak[0], leak[1], fit.nodes)
            # Where a node must stay for another reader, what stands before it stays as well.
            fit = self._fit(core, {side: cut_way(way, leak[0]) for side, way in fit.ways.items()}, fit.after)
            leak = None if fit is None else self._find_leak(fit)
        if fit is None or (not fit.nodes and not self._masks and self._node.body is not None):
            return None
        return self._region(fit, position)

    def _take_mask(self, core: Core) -> Core:
        """The core with a mask of numbers, made of truth values for it alone, as those truth values."""
        for term in core.added:
            node = self._scope.graph.producer(term.value)
            if (
                node is None
                or node.op != "Where"
                or find_reader(self._scope, term.value, {self._node.name}) is not None
            ):
                continue
            longer = find_core((*self._inner, node), self._known)
            if not isinstance(longer, Reason) and longer.keep is not None and core.keep is None:
                self._masks.append(node)
                self._inner = (*self._inner, node)
                return longer
        return core

    def _region(self, fit: _Fit, position: int) -> Region:
        members = order_nodes(self._scope, [self._node, *self._masks, *fit.nodes])
        inner = {node.name for node in members}
        present = [name for name in fit.reading.present if name and find_reader(self._scope, name, inner) is not None]
        return Region(
            pattern=self._pattern,
            nodes=members,
            root=fit.after[-1] if fit.after else self._node,
            position=position,
            results=(fit.reading.result, *present),
            bindings={"core": self._node.name},
        )

    def _fit(self, core: Core, ways: Ways, after: Sequence[Node]) -> _Fit | None:
        """The longest ways, of no more than these, that strides can say."""
        fits: list[_Fit] = []
        for heads in split_heads(core, ways, after, self._known):
            shorter = {side: self._shorten(core, side, ways[side], heads) for side in SIDES}
            for op in ("RepeatKV", "Concat"):
                if _has(shorter["k"], op) != _has(shorter["v"], op):
                    cut = {side: self._shorten(core, side, _cut_at(shorter[side], op), heads) for side in ("k", "v")}
                    shorter = {**shorter, **cut}
            for count in range(len(after), -1, -1):
                reading = read_split(core, shorter, after[:count], self._known, heads)
                if reading is not None:
                    fits.append(_Fit(reading, shorter, after[:count], frozenset(map(key_of, self._inner))))
                    break
        return max(fits, key=lambda fit: len(fit.nodes), default=None)

    def _shorten(self, core: Core, side: str, way: Sequence[Link], heads: Shape) -> Sequence[Link]:
        """The longest beginning of `way` that is a view for the kernel."""
        beginnings = (way[:count] for count in range(len(way), 0, -1))
        fitting = (part for part in beginnings if read_operand(core, side, part, self._known, heads) is not None)
        return next(fitting, ())

    def _find_leak(self, fit: _Fit) -> tuple[Node, Reason] | None:
        inner = {self._node.name, *(node.name for node in fit.nodes)}
        leak = find_leak(self._scope, fit.nodes, inner, {fit.reading.result, *fit.reading.present})
        return leak or find_operand(fit.nodes, fit.reading.operands, self._node.name)

    def _tell(self, node: Node, reason: Reason, nodes: Sequence[Node]) -> None:
        """Note that `node`, one of `nodes` or the core, must stay as it is."""
        others = [other for other in order_nodes(self._scope, nodes) if other.name != node.name]
        found = {"core": self._node, **{f"{other.op} {place}": other for place, other in enumerate(others)}}
        bound = found if node.name == self._node.name else {**found, node.op: node}
        part = next(name for name, other in bound.items() if other is node)
        self.misses.append(region_miss(self._scope, self._pattern, bound, part, reason, len(bound) + 1))


def _has(way: Sequence[Link], op: str) -> bool:
    return any(link.node.op == op for link in way)


def _cut_at(way: Sequence[Link], op: str) -> Sequence[Link]:
    """The part of `way` below its first node of operator `op`."""
    places = [place for place, link in enumerate(way) if link.node.op == op]
    return way[: places[0]] if places else way
