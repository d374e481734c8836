"""Finding all legal matches of one stage in a graph, and choosing among those that overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from autofusion.fusion.candidate import Candidate, Proposal
from autofusion.fusion.conditions import check_clauses
from autofusion.fusion.controls import Block, Switches
from autofusion.fusion.legality import check_cycle, check_flow
from autofusion.fusion.matcher import Failure, Matcher, keys_of
from autofusion.fusion.scope import Scope
from autofusion.ir import Node
from autofusion.patternlang.model import Form, Pattern, Statement


@dataclass(frozen=True)
class Entry:
    """A statement that may end a match of a form."""

    pattern: Pattern
    form: Form
    root: Statement


RootIndex = Mapping[str, tuple[Entry, ...]]
"""Entries by the key of the nodes that they may match."""


@dataclass(frozen=True)
class Attempt:
    """The best failed attempt of a pattern at a node."""

    pattern: Pattern
    node: Node
    position: int
    failure: Failure


@dataclass(frozen=True)
class Findings:
    """What one sweep over a graph found: matches, those that the controls block, and failed attempts."""

    candidates: tuple[Candidate, ...]
    blocked: tuple[tuple[Candidate, Block], ...]
    attempts: tuple[Attempt, ...]


P = TypeVar("P", bound=Proposal)


@dataclass(frozen=True)
class Selection(Generic[P]):
    """Proposals that are disjoint, in topological order of their roots, and those that lost, with the winner."""

    chosen: tuple[P, ...]
    lost: tuple[tuple[P, P], ...]


def index_roots(patterns: Iterable[Pattern]) -> RootIndex:
    """The statements of `patterns` that may end a match of two nodes or more, by the key of their operators."""
    index: dict[str, list[Entry]] = {}
    for pattern in patterns:
        for form in pattern.forms:
            for root in filter(form.feeds, form.roots):
                for key in root.keys:
                    index.setdefault(key, []).append(Entry(pattern, form, root))
    return {key: tuple(entries) for key, entries in index.items()}


def find_candidates(scope: Scope, index: RootIndex, switches: Switches) -> Findings:
    """Match every node of the graph against the entries for its operator."""
    candidates: list[Candidate] = []
    blocked: list[tuple[Candidate, Block]] = []
    attempts: list[Attempt] = []
    for position, node in enumerate(scope.graph.topological()):
        for pattern, entries in _entries_by_pattern(index, node):
            found, failure = _match_pattern(scope, pattern, entries, node, position)
            if not found and failure is not None:
                attempts.append(Attempt(pattern, node, position, failure))
            for candidate in found:
                block = switches.block(candidate)
                if block is not None:
                    blocked.append((candidate, block))
                if block is None or block.provisional:
                    candidates.append(candidate)
    return Findings(tuple(candidates), tuple(blocked), tuple(attempts))


def select_candidates(candidates: Iterable[P]) -> Selection[P]:
    """Of overlapping proposals the one with more benefit, then more nodes, then the earlier root, then the name."""
    order = sorted(
        candidates,
        # Python's sort is stable: what is left equal keeps the order in which it was found.
        key=lambda item: (-item.pattern.benefit, -item.size, item.position, item.pattern.name),
    )
    owner: dict[str, P] = {}
    lost: list[tuple[P, P]] = []
    for candidate in order:
        winners = [owner[node.name] for node in candidate.nodes if node.name in owner]
        if winners:
            lost.append((candidate, winners[0]))
        else:
            owner.update(dict.fromkeys(candidate.members, candidate))
    chosen = sorted(dict.fromkeys(owner.values()), key=lambda item: item.position)
    return Selection(tuple(chosen), tuple(lost))


def _entries_by_pattern(index: RootIndex, node: Node) -> Iterator[tuple[Pattern, list[Entry]]]:
    entries = [entry for key in keys_of(node) for entry in index.get(key, ())]
    for pattern in dict.fromkeys(entry.pattern.name for entry in entries):
        own = [entry for entry in entries if entry.pattern.name == pattern]
        yield own[0].pattern, own


def _match_pattern(
    scope: Scope, pattern: Pattern, entries: list[Entry], node: Node, position: int
) -> tuple[list[Candidate], Failure | None]:
    """All legal matches of a pattern that end in `node`, one for each set of nodes, and the best failure."""
    found: dict[frozenset[str], Candidate] = {}
    failures: list[Failure] = []
    matchers: dict[int, Matcher] = {}
    for entry in entries:
        matcher = matchers.setdefault(id(entry.form), Matcher(scope, entry.form))
        for binding in matcher.find(entry.root, node):
            candidate = Candidate.of(pattern, binding, position)
            if candidate.members not in found and _is_legal(scope, candidate, matcher):
                found[candidate.members] = candidate
    failures = [matcher.failure for matcher in matchers.values() if matcher.failure is not None]
    return list(found.values()), max(failures, key=_nearness, default=None)


def _nearness(failure: Failure) -> tuple[int, bool, tuple[int, int]]:
    """Few missing statements first, then conditions that fail once all is bound, then how far the attempt came."""
    needed = failure.needed
    return failure.satisfied - needed, len(failure.binding.nodes) == needed, failure.rank


def _is_legal(scope: Scope, candidate: Candidate, matcher: Matcher) -> bool:
    pattern, binding = candidate.pattern, candidate.binding
    breach = check_flow(scope, pattern, binding) or check_cycle(scope, pattern, binding)
    if breach is not None:
        statement = binding.form.by_name[breach.statement]
        matcher.fail(binding, statement, breach.reason, candidate.size - breach.count)
        return False
    violation = check_clauses(scope, binding, pattern.where)
    if violation is not None:
        statement = binding.form.by_name[violation.statement]
        matcher.fail(binding, statement, violation.reason, candidate.size - 1)
        return False
    return True
