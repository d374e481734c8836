"""Finding a sequence of building blocks in dataflow order, and how far the best attempt came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from autofusion.fusion.manual.blocks import find_blocks
from autofusion.fusion.manual.legality import Fault, Outputs, check_group, find_way_back
from autofusion.fusion.manual.rules import EVERY_RESULT, Rule
from autofusion.fusion.manual.survey import Picture
from autofusion.fusion.manual.view import is_between, readers_past
from autofusion.fusion.manual.words import WORDS
from autofusion.fusion.node_names import fits_any, names_of
from autofusion.fusion.scope import Scope
from autofusion.ir import Node

Block = frozenset[str]
Bar = Callable[[Node], Fault | None]
"""Why a node may stand in no group, None where it may."""

_MAX_STEPS = 4096
"""Blocks tried from one beginning: rules that fit in very many ways are given up there."""


@dataclass(frozen=True)
class Shortfall:
    """The attempt that came furthest: how many blocks were found, and what was in the way."""

    found: int
    text: str
    help: str = ""


class SequenceFinder:
    """Finds the places of one rule in one graph, in topological order; `shortfall` is the best that failed.

    A place that was found must be taken out of the graph, or be barred, before the next one is asked for.
    """

    def __init__(self, scope: Scope, picture: Picture, rule: Rule, bar: Bar) -> None:
        self._scope = scope
        self._picture = picture
        self._rule = rule
        self._bar = bar
        found = {word: self._find_blocks(word) for word in dict.fromkeys(rule.items)}
        holders = {word: _index_holders(blocks) for word, blocks in found.items()}
        self._blocks = [found[word] for word in rule.items]
        self._holders = [holders[word] for word in rule.items]
        self.shortfall = Shortfall(0, f"there is no {rule.items[0]}")

    def find(self) -> Iterator[frozenset[str]]:
        """The members of each place, what lies between its blocks included."""
        graph = self._scope.graph
        order = {node.name: place for place, node in enumerate(graph.topological())}
        for start in sorted(self._blocks[0], key=lambda block: min(order[name] for name in block)):
            place = self._search(start) if all(name in graph for name in start) else None
            if place is not None:
                yield place

    def _find_blocks(self, word: str) -> tuple[Block, ...]:
        graph, scope = self._scope.graph, self._rule.scope
        blocks = find_blocks(graph, self._picture, word)
        if not scope:
            return blocks
        return tuple(block for block in blocks if all(fits_any(names_of(graph.node(name)), scope) for name in block))

    def _search(self, start: Block) -> frozenset[str] | None:
        """The members of the first place that begins with `start` and may be a group, depth first."""
        pending: list[tuple[tuple[Block, ...], Block]] = [((start,), start)]
        for _ in range(_MAX_STEPS):
            if not pending:
                return None
            blocks, members = pending.pop()
            if len(blocks) < len(self._rule.items):
                pending += reversed(self._extend(blocks, members))
                continue
            closed = self._close(members)
            fault = self._check(blocks, closed)
            if fault is None:
                return closed
            if len(blocks) > self.shortfall.found:
                text = f"the group at {self._spell(blocks[0])} {fault.text}"
                self.shortfall = Shortfall(len(blocks), text, fault.help)
        return None

    def _extend(self, blocks: tuple[Block, ...], members: frozenset[str]) -> list[tuple[tuple[Block, ...], Block]]:
        """`blocks` with each block that may come next, and the members then."""
        ways = self._find_ways(blocks[-1])
        following = self._following(len(blocks), ways, members)
        if not following and len(blocks) > self.shortfall.found:
            self.shortfall = self._explain_end(blocks, ways)
        extended: list[tuple[tuple[Block, ...], Block]] = []
        for block in following:
            between = frozenset(name for reader in block & ways.keys() for name in ways[reader])
            extended.append(((*blocks, block), members | block | between))
        return extended

    def _find_ways(self, block: Block) -> dict[str, frozenset[str]]:
        """The nodes outside of `block` that read its results, with what is passed on the way to them."""
        graph = self._scope.graph
        ways: dict[str, frozenset[str]] = {}
        for value in (value for name in sorted(block) for value in graph.node(name).results):
            for reader, way, _ in readers_past(self._scope, value):
                if reader.name not in block:
                    ways[reader.name] = ways.get(reader.name, frozenset()) | (frozenset(way) - block)
        return ways

    def _following(self, place: int, ways: Mapping[str, frozenset[str]], members: frozenset[str]) -> list[Block]:
        holders, graph = self._holders[place], self._scope.graph
        found = {index: None for reader in ways for index in holders.get(reader, ())}
        blocks = [self._blocks[place][index] for index in sorted(found)]
        return [block for block in blocks if block.isdisjoint(members) and all(name in graph for name in block)]

    def _close(self, members: frozenset[str]) -> frozenset[str]:
        """`members` with the nodes that stand between them and only move elements or compute indices."""
        graph = self._scope.graph
        while way := find_way_back(graph, members):
            if not all(is_between(self._scope, graph.node(name)) for name in way):
                break
            members |= frozenset(way)
        return members

    def _check(self, blocks: tuple[Block, ...], members: frozenset[str]) -> Fault | None:
        graph = self._scope.graph
        for name in sorted(members):
            fault = self._bar(graph.node(name))
            if fault is not None:
                return fault
        words = {name: word for word, block in zip(self._rule.items, blocks, strict=True) for name in block}

        def spell(value: str) -> str:
            producer = graph.producer(value)
            return words.get(producer.name, EVERY_RESULT) if producer is not None else EVERY_RESULT

        listed = self._rule.outputs
        return check_group(
            graph, members, Outputs(lambda value: EVERY_RESULT in listed or spell(value) in listed, spell)
        )

    def _explain_end(self, blocks: tuple[Block, ...], ways: Mapping[str, frozenset[str]]) -> Shortfall:
        items = self._rule.items
        before, wanted = items[len(blocks) - 1], items[len(blocks)]
        where = f"{before} at {self._spell(blocks[-1])}"
        passed = {name for way in ways.values() for name in way}
        nearest = [name for name in ways if name not in passed]
        if not nearest:
            return Shortfall(len(blocks), f"nothing reads the result of {where}, {wanted} was expected")
        standing = ", ".join(self._describe(name) for name in nearest)
        fitting = [word for word in sorted(WORDS) if any(set(nearest) & block for block in self._find_blocks(word))]
        advice = f"blocks there: {', '.join(fitting)}" if fitting else ""
        return Shortfall(len(blocks), f"after {where} stands {standing}, {wanted} was expected", advice)

    def _describe(self, name: str) -> str:
        node = self._scope.graph.node(name)
        for part, behind in self._picture.parts.items():
            if name in behind:
                whole = self._picture.scope.graph.node(part)
                return f"{names_of(node)[0]} ({whole.display or whole.op})"
        return f"{names_of(node)[0]} ({node.display or node.op})"

    def _spell(self, block: Block) -> str:
        """The ONNX name of the block's last node."""
        last = [node for node in self._scope.graph.topological() if node.name in block][-1]
        return names_of(last)[-1]


def _index_holders(blocks: tuple[Block, ...]) -> dict[str, list[int]]:
    holders: dict[str, list[int]] = {}
    for index, block in enumerate(blocks):
        for name in block:
            holders.setdefault(name, []).append(index)
    return holders
