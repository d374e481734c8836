"""From the findings of a sweep to misses: failed attempts, blocked and lost matches, nodes that nothing followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from autofusion.fusion.binding import Binding
from autofusion.fusion.candidate import Candidate
from autofusion.fusion.conditions import check_clauses
from autofusion.fusion.legality import check_flow, output_reason, readers_reason
from autofusion.fusion.matcher import Failure, Matcher, keys_of, operator_reason
from autofusion.fusion.misses import Miss, is_worth_telling
from autofusion.fusion.reasons import Code, Reason
from autofusion.fusion.scope import Scope
from autofusion.fusion.select import Attempt, Entry, Findings, RootIndex, Selection
from autofusion.ir import CAPTURED, Node
from autofusion.patternlang.model import Form, Pattern, Reference, Statement
from autofusion.patternlang.templates import render_template, spell_display


def index_beginnings(patterns: Iterable[Pattern]) -> RootIndex:
    """The statements of `patterns` that something must follow, by the key of their operators: anchors, inner ones."""
    index: dict[str, list[Entry]] = {}
    for pattern in patterns:
        for form in pattern.forms:
            for statement in form.statements:
                if statement is form.anchor or statement not in form.roots:
                    for key in statement.keys:
                        index.setdefault(key, []).append(Entry(pattern, form, statement))
    return {key: tuple(entries) for key, entries in index.items()}


def collect_misses(
    scope: Scope, beginnings: RootIndex, findings: Findings, selection: Selection[Candidate]
) -> list[Miss]:
    """Everything in the findings of one sweep that did not apply, of nodes as they were before any rewrite."""
    misses = [_from_attempt(scope, attempt) for attempt in findings.attempts]
    misses += [_from_match(scope, candidate, block.reason) for candidate, block in findings.blocked]
    for candidate, winner in selection.lost:
        name = winner.root.name
        detail = f"{winner.display} at {name} takes nodes of it"
        advice = f"disable {winner.display} where this one is wanted in its place"
        reason = Reason(Code.TAKEN_BY, (winner.pattern.name,), detail, name, help=advice)
        misses.append(_from_match(scope, candidate, reason))
    taken = {name for candidate in selection.chosen for name in candidate.members}
    for position, node in enumerate(scope.graph.topological()):
        if node.name not in taken and not node.pattern:
            misses += _from_beginning(scope, beginnings, node, position)
    return misses


def collect_left_out(scope: Scope, findings: Findings) -> list[Miss]:
    """What was left out because results were beyond their limits with it, which is told of later sweeps too."""
    return [
        _from_match(scope, candidate, block.reason)
        for candidate, block in findings.blocked
        if block.reason.is_automatic
    ]


def _binds_required(failure: Failure) -> bool:
    """False where another operator stands at the beginning: what was bound, all of it optional, may follow anything."""
    required = {statement.name for statement in failure.binding.form.required}
    return failure.reason.code is not Code.OPERATOR or not required.isdisjoint(failure.binding.nodes)


def _from_attempt(scope: Scope, attempt: Attempt) -> Miss:
    failure = attempt.failure
    count = (failure.satisfied, failure.needed)
    miss = _make_miss(
        scope, attempt.pattern, failure.binding, failure.statement, failure.reason, count, attempt.position
    )
    is_near = _binds_required(failure) and is_worth_telling(miss, is_spelling=not attempt.pattern.stage)
    return replace(miss, is_near=is_near)


def _from_match(scope: Scope, candidate: Candidate, reason: Reason) -> Miss:
    count = (candidate.size, candidate.size)
    statement = candidate.binding.root.statement
    return _make_miss(scope, candidate.pattern, candidate.binding, statement, reason, count, candidate.position)


def _make_miss(
    scope: Scope,
    pattern: Pattern,
    binding: Binding,
    statement: Statement,
    reason: Reason,
    count: tuple[int, int],
    position: int,
) -> Miss:
    anchor = binding.nodes.get(binding.form.anchor.name)
    root = binding.root.node.name
    return Miss(
        pattern=pattern.name,
        display=_display(pattern, binding),
        anchor=anchor.node.name if anchor is not None else root,
        root=root,
        bound={bound.statement.name: bound.node.name for bound in binding.members},
        satisfied=count[0],
        needed=count[1],
        statement=statement.name,
        reason=reason,
        span=statement.span,
        text=statement.text,
        position=position,
        graph=scope.path,
        origin=tuple(dict.fromkeys(name for bound in binding.members for name in bound.node.origin)),
        benefit=pattern.benefit,
    )


def _display(pattern: Pattern, binding: Binding) -> str:
    """The name that the match would have had, as far as it is bound."""

    def spell(name: str) -> str:
        node = binding.node(name)
        return "?" if node is None else node.display or spell_display(node.op, pattern.spelling)

    return render_template(pattern.display, binding.names, spell)


def _from_beginning(scope: Scope, beginnings: RootIndex, node: Node, position: int) -> Iterator[Miss]:
    """What keeps the beginning of a pattern that ends in `node` alone: nothing that follows belongs to the pattern."""
    for entry in (entry for key in keys_of(node) for entry in beginnings.get(key, ())):
        binding = next(Matcher(scope, entry.form).find_inner(entry.root, node), None)
        if binding is None or check_clauses(scope, binding, entry.pattern.where) is not None:
            continue
        following = _following_statements(entry.form, entry.root)
        found = _explain_readers(scope, entry, node.outputs[0], following)
        if found is None or check_flow(scope, entry.pattern, binding) is not None:
            continue
        statement, reason = found
        bound = len(binding.nodes)
        required = {statement.name for statement in entry.form.required}
        count = (bound, max(len(required.union(binding.nodes)), bound + 1))
        miss = _make_miss(scope, entry.pattern, binding, statement, reason, count, position)
        # What is optional says nothing of how near the rest is.
        certain = len(required.intersection(binding.nodes))
        yield replace(miss, is_near=certain * 2 >= max(len(required), certain + 1))


def _following_statements(form: Form, statement: Statement) -> list[Statement]:
    """The statements that may read the result of `statement`, past optional ones that are absent."""
    found: list[Statement] = []
    names = {statement.name}
    for reader in form.statements:
        if any(isinstance(term, Reference) and term.name in names for call in reader.calls for term in call.arguments):
            found.append(reader)
            below = reader.stand_in
            if reader.optional and isinstance(below, Reference) and below.name in names:
                names.add(reader.name)
    return found


def _explain_readers(
    scope: Scope, entry: Entry, value: str, following: list[Statement]
) -> tuple[Statement, Reason] | None:
    """The statement that would have gone on, and why no reader of `value` is one; None where a reader may be."""
    if value in scope.graph.outputs:
        # Where nothing else reads it the model just ends here, and dropping the output would change nothing.
        if scope.graph.consumers(value) or scope.leaves_group(value):
            return following[0], output_reason(scope, entry.pattern, value, entry.root.name)
        return following[0], Reason(Code.GRAPH_OUTPUT, (value,), f"{value!r} is an output of the graph", value=value)
    readers = list(scope.graph.consumers(value))
    if not readers:
        return None
    keys = tuple(key for statement in following for key in statement.keys)
    captured = next((use for use in readers if use.index == CAPTURED), None)
    if captured is not None:
        detail = f"{value!r} is read by a nested graph of {captured.node.name}"
        return following[0], Reason(Code.NESTED_GRAPH, (value, captured.node.name), detail, captured.node.name, value)
    fitting = [use for use in readers if not set(keys).isdisjoint(keys_of(use.node))]
    if not fitting:
        return following[0], operator_reason(readers[0].node, keys, f"{value!r} feeds {readers[0].node.name}", value)
    others = [use for use in readers if use is not fitting[0]]
    if others:
        return following[0], readers_reason(entry.pattern, value, others, entry.root.name)
    return _explain_refusal(scope, entry.form, fitting[0].node, following)


def _explain_refusal(
    scope: Scope, form: Form, reader: Node, following: list[Statement]
) -> tuple[Statement, Reason] | None:
    """Why `reader`, which has the operator of one of the statements, is none of them all the same."""
    matcher = Matcher(scope, form)
    fitting = [statement for statement in following if not set(statement.keys).isdisjoint(keys_of(reader))]
    refusals = [(statement, matcher.refuse(statement, reader)) for statement in fitting]
    if any(reason is None for _, reason in refusals):
        return None
    return next(((statement, reason) for statement, reason in refusals if reason is not None), None)
