"""The part of lint that follows names: clauses, `escape`, templates and what a normalize pattern emits."""

from __future__ import annotations

from collections.abc import Iterator

from autofusion.diagnostics import Diagnostic, Span
from autofusion.patternlang.findings import report_unknown
from autofusion.patternlang.model import (
    Clause,
    Comparison,
    KindClause,
    Pattern,
    PredicateClause,
    Subject,
    Wildcard,
)
from autofusion.patternlang.surroundings import Surroundings
from autofusion.patternlang.vocabulary import PREDICATES

VALUE_PROPERTIES = ("value", "first", "rank", "dtype", "shape")
"""What can be asked of a value; of a statement also `op` and the attributes of its operators."""


def check_clauses(pattern: Pattern, surroundings: Surroundings) -> Iterator[Diagnostic]:
    """Clauses name what the forms bind, known predicates and known properties."""
    for clause in pattern.where:
        for name, span in _names_of(clause):
            yield from _check_name(pattern, name, span)
        match clause:
            case PredicateClause():
                yield from _check_predicate(pattern, clause)
            case Comparison(left, _, Subject() as right):
                yield from _check_subject(pattern, left, surroundings)
                yield from _check_subject(pattern, right, surroundings)
            case Comparison(left):
                yield from _check_subject(pattern, left, surroundings)
            case KindClause():
                pass


def check_predicates(pattern: Pattern) -> Iterator[Diagnostic]:
    """Clauses name known predicates, and as many names as those take; the names themselves are not looked at."""
    for clause in pattern.where:
        if isinstance(clause, PredicateClause):
            yield from _check_count(clause)


def check_escape(pattern: Pattern) -> Iterator[Diagnostic]:
    """Escaping names are results of statements other than the root."""
    for reference in pattern.escape:
        if reference.name not in _statements(pattern):
            message = f"escape names {reference.name!r}, which is no statement"
            yield report_unknown("AF407", message, reference.name, _statements(pattern), reference.span)
        elif all(form.by_name.get(reference.name) in (None, form.root) for form in pattern.forms):
            yield Diagnostic("AF407", f"the root {reference.name!r} leaves the match anyway", span=reference.span)


def check_templates(pattern: Pattern) -> Iterator[Diagnostic]:
    """Every part of a template depends on a name of the forms; what a pass binds is its own affair."""
    if pattern.pass_name:
        return
    names = _all_names(pattern)
    for template in (pattern.display, pattern.op):
        for part in template.parts:
            if part.condition and part.condition not in names:
                yield Diagnostic(
                    "AF414",
                    f"template part {part.prefix + part.word!r} depends on {part.condition!r}, which no form binds",
                    help="write {text?name} to name the statement",
                    span=template.span,
                )


def check_emission(pattern: Pattern) -> Iterator[Diagnostic]:
    """A normalize pattern emits every value it reads, or knows it as a constant."""
    emission = pattern.emission
    if emission is None:
        return
    names = _all_names(pattern)
    for name in emission.inputs:
        if name not in names:
            yield report_unknown("AF407", f"[emit] names {name!r}, which no form binds", name, names, emission.span)
        elif name in _statements(pattern):
            yield Diagnostic("AF416", f"input {name!r} of [emit] is computed inside the match", span=emission.span)
    for name in sorted((emission.ones | emission.flat).difference(emission.inputs)):
        message = f"{name!r} is not among the inputs of [emit]"
        yield report_unknown("AF407", message, name, emission.inputs, emission.span)
    for attribute in emission.attributes.values():
        if isinstance(attribute, Subject) and attribute.name not in names:
            message = f"[emit] names {attribute.name!r}, which no form binds"
            yield report_unknown("AF407", message, attribute.name, names, attribute.span)
    constant = {
        reference.name
        for clause in pattern.where
        if isinstance(clause, KindClause) and clause.is_const
        for reference in clause.names
    }
    yield from _check_emitted_forms(pattern, {*emission.inputs, *constant}, emission.span)


def _check_emitted_forms(pattern: Pattern, known: set[str], span: Span) -> Iterator[Diagnostic]:
    for form in pattern.forms:
        for name in form.values:
            if name not in known:
                yield Diagnostic(
                    "AF416",
                    f"value {name!r} is neither among the inputs of [emit] nor constant",
                    help=f"add it to inputs, or say `{name} is const`",
                    span=span,
                )
        for call in (call for statement in form.statements for call in statement.calls):
            if call.has_rest or any(isinstance(term, Wildcard) for term in call.arguments):
                yield Diagnostic(
                    "AF416",
                    "a normalize pattern must name every operand",
                    help="write no `_` and no `...`",
                    span=call.span,
                )


def _names_of(clause: Clause) -> list[tuple[str, Span]]:
    match clause:
        case KindClause() | PredicateClause():
            return [(reference.name, reference.span) for reference in clause.names]
        case Comparison(left, _, right):
            subjects = [left, right] if isinstance(right, Subject) else [left]
            return [(subject.name, subject.span) for subject in subjects]


def _check_name(pattern: Pattern, name: str, span: Span) -> Iterator[Diagnostic]:
    names = _all_names(pattern)
    if name not in names:
        yield report_unknown("AF407", f"{name!r} is bound by no form", name, names, span)


def _check_count(clause: PredicateClause) -> Iterator[Diagnostic]:
    rule = PREDICATES.get(clause.predicate)
    if rule is None:
        message = f"unknown predicate {clause.predicate!r}"
        yield report_unknown("AF408", message, clause.predicate, PREDICATES, clause.span)
        return
    least, given = len(rule.kinds), len(clause.names)
    if given < least or (given > least and not rule.is_variadic):
        wanted = f"at least {least}" if rule.is_variadic else str(least)
        yield Diagnostic("AF408", f"{clause.predicate} takes {wanted} names, not {given}", span=clause.span)


def _check_predicate(pattern: Pattern, clause: PredicateClause) -> Iterator[Diagnostic]:
    found = [*_check_count(clause)]
    if found:
        yield from found
        return
    rule = PREDICATES[clause.predicate]
    kinds = (*rule.kinds, *rule.kinds[-1:] * (len(clause.names) - len(rule.kinds)))
    for reference, kind in zip(clause.names, kinds, strict=True):
        if kind == "statement" and reference.name in _all_names(pattern) - _statements(pattern):
            message = f"{clause.predicate} wants a statement, {reference.name!r} is a value"
            yield Diagnostic("AF408", message, span=reference.span)


def _check_subject(pattern: Pattern, subject: Subject, surroundings: Surroundings) -> Iterator[Diagnostic]:
    if subject.property in VALUE_PROPERTIES or subject.name not in _all_names(pattern):
        return
    statements = [form.by_name[subject.name] for form in pattern.forms if subject.name in form.by_name]
    if not statements:
        message = f"value {subject.name!r} has no property {subject.property!r}"
        yield report_unknown("AF405", message, subject.property, VALUE_PROPERTIES, subject.span)
        return
    attributes = {"op"}
    for call in (call for statement in statements for call in statement.calls):
        signatures = surroundings.signatures(call)
        if call.domain and not signatures:
            return
        attributes |= {name for signature in signatures for name in signature.attributes}
    if subject.property not in attributes:
        message = f"no operator of {subject.name!r} has an attribute {subject.property!r}"
        yield report_unknown("AF405", message, subject.property, attributes, subject.span)


def _statements(pattern: Pattern) -> set[str]:
    return {name for form in pattern.forms for name in form.by_name}


def _all_names(pattern: Pattern) -> set[str]:
    return _statements(pattern) | {name for form in pattern.forms for name in form.values}
