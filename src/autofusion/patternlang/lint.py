"""What can be wrong with a pattern that reads well: names, operators, arguments, reachability, ambiguity."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from autofusion.diagnostics import Diagnostic
from autofusion.ops.rows import operators
from autofusion.patternlang.findings import report_unknown
from autofusion.patternlang.lint_names import check_clauses, check_emission, check_escape, check_templates
from autofusion.patternlang.model import Call, Form, Number, Pattern, Reference, Statement, Wildcard
from autofusion.patternlang.surroundings import Signature, Surroundings


def check_pattern(pattern: Pattern, surroundings: Surroundings) -> Iterator[Diagnostic]:
    """Every semantic finding in `pattern` (AF404 to AF416)."""
    yield from check_forms(pattern, surroundings)
    yield from check_clauses(pattern, surroundings)
    yield from check_escape(pattern)
    yield from check_templates(pattern)
    yield from check_emission(pattern)
    yield from _check_wraps(pattern, surroundings)


def check_forms(pattern: Pattern, surroundings: Surroundings) -> Iterator[Diagnostic]:
    """What is wrong within each form (AF404 to AF406, AF409 to AF413, AF415)."""
    for form in pattern.forms:
        yield from _check_definitions(form)
        yield from _check_reachable(form)
        yield from _check_correlation(form)
        yield from check_statements(pattern, form.statements, surroundings)


def check_statements(
    pattern: Pattern, statements: Iterable[Statement], surroundings: Surroundings
) -> Iterator[Diagnostic]:
    """What is wrong with each statement by itself, whatever stands round it (AF404 to AF406, AF411, AF415)."""
    for statement in statements:
        yield from _check_stand_in(statement)
        for call in statement.calls:
            yield from _check_call(pattern, call, surroundings)


def _check_definitions(form: Form) -> Iterator[Diagnostic]:
    """Names are defined once, above their uses, and a form can bind two nodes."""
    defined: set[str] = set()
    for statement in form.statements:
        for call in statement.calls:
            for reference in call.references:
                if reference.name in form.by_name and reference.name not in defined:
                    yield Diagnostic(
                        "AF409",
                        f"{reference.name!r} is used here but defined below",
                        help="a statement may use only the statements above it",
                        span=reference.span,
                    )
        for name in statement.names:
            if name in defined:
                yield Diagnostic("AF409", f"{name!r} is defined twice", span=statement.span)
            defined.add(name)
    if len(form.statements) < 2:
        yield Diagnostic(
            "AF413", "a form of one statement fuses nothing", help="a match binds at least two nodes", span=form.span
        )
    elif not form.required:
        yield Diagnostic("AF413", "every statement is optional", help="leave out one question mark", span=form.span)


def _check_reachable(form: Form) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    pending = [form.root]
    while pending:
        statement = pending.pop()
        if statement.name in seen:
            continue
        seen.add(statement.name)
        names = [reference.name for call in statement.calls for reference in call.references]
        pending += [form.by_name[name] for name in names if name in form.by_name]
    for statement in form.statements:
        if statement.name not in seen:
            # A misspelt name reads as a value of its own.
            meant = difflib.get_close_matches(statement.name, form.values, n=1)
            typo = f"{meant[0]!r} is no statement: did you mean {statement.name}?\n" if meant else ""
            yield Diagnostic(
                "AF410",
                f"statement {statement.name!r} is not reachable from the root {form.root.name!r}",
                help=f"{typo}the last statement is the root; every other one must feed it",
                span=statement.span,
            )


def _check_stand_in(statement: Statement) -> Iterator[Diagnostic]:
    """An absent statement means its first argument, so that must be one name."""
    if not statement.optional:
        return
    if len(statement.names) > 1:
        yield Diagnostic("AF411", f"optional statement {statement.name!r} has several results", span=statement.span)
    firsts = [call.arguments[0] if call.arguments else None for call in statement.calls]
    names = {first.name if isinstance(first, Reference) and not first.optional else "" for first in firsts}
    if len(names) > 1 or "" in names:
        yield Diagnostic(
            "AF411",
            f"optional statement {statement.name!r} has no single first argument to stand for it",
            help="give every alternative the same name as its first argument",
            span=statement.span,
        )


def _check_correlation(form: Form) -> Iterator[Diagnostic]:
    """No two statements may choose between alternatives by the same name or number (rule 8)."""
    choices = [(statement, _conditional_terms(statement)) for statement in form.statements]
    for place, (statement, terms) in enumerate(choices):
        for earlier, earlier_terms in choices[:place]:
            shared = sorted(terms & earlier_terms)
            if shared:
                yield Diagnostic(
                    "AF412",
                    f"the alternatives of {statement.name!r} and of {earlier.name!r} both depend on {shared[0]}",
                    help="every combination would match, also those that mean something else: write two [[form]]s",
                    span=statement.span,
                )


def _conditional_terms(statement: Statement) -> set[str]:
    """What some alternatives of a statement read and others do not."""
    spelled = [{_spell_term(term) for term in call.arguments} - {""} for call in statement.calls]
    return {term for terms in spelled for term in terms if any(term not in other for other in spelled)}


def _spell_term(term: Reference | Number | Wildcard) -> str:
    match term:
        case Reference():
            return term.name
        case Number():
            return f"{term.value:g}"
        case Wildcard():
            return ""


def _check_call(pattern: Pattern, call: Call, surroundings: Surroundings) -> Iterator[Diagnostic]:
    if call.is_pattern:
        yield from _check_pattern_call(pattern, call, surroundings)
        return
    signatures = surroundings.signatures(call)
    if not signatures and call.domain:
        known = ["::".join(key) for key in surroundings.operators]
        found = report_unknown("AF404", f"unknown operator {call.key!r}", call.key, known, call.span)
        advice = "an operator of another domain is declared in a folder `operators` beside the patterns"
        yield found._replace(help=f"{found.help}\n{advice}".strip())
        return
    if not signatures:
        names = [name for domain, name in operators() if not domain]
        yield report_unknown(
            "AF404", f"unknown operator {call.op!r}", call.op, [*names, *surroundings.normal_forms], call.span
        )
    if not signatures:
        return
    yield from _check_arity(call, signatures)
    for test in call.attributes:
        names = {name for signature in signatures for name in signature.attributes}
        if test.name not in names:
            yield report_unknown("AF405", f"{call.op} has no attribute {test.name!r}", test.name, names, test.span)


def _check_pattern_call(pattern: Pattern, call: Call, surroundings: Surroundings) -> Iterator[Diagnostic]:
    stage = surroundings.stages.get(call.op)
    if stage is None:
        yield report_unknown("AF404", f"unknown pattern {call.op!r}", call.op, surroundings.stages, call.span)
    elif stage >= pattern.stage:
        yield Diagnostic(
            "AF415",
            f"pattern {call.op!r} is of stage {stage}, it cannot stand in a pattern of stage {pattern.stage}",
            help="a pattern wraps nodes made in earlier stages",
            span=call.span,
        )
    for test in call.attributes:
        yield Diagnostic("AF405", f"a node made by {call.op!r} has no attribute {test.name!r}", span=test.span)


def _check_wraps(pattern: Pattern, surroundings: Surroundings) -> Iterator[Diagnostic]:
    """A pass runs after the patterns of its stage, so it may wrap nodes of those and of earlier ones."""
    for reference in pattern.wraps:
        stage = surroundings.stages.get(reference.name)
        if stage is None:
            message = f"unknown pattern {reference.name!r}"
            yield report_unknown("AF404", message, reference.name, surroundings.stages, reference.span)
        elif stage > pattern.stage:
            yield Diagnostic(
                "AF415",
                f"pattern {reference.name!r} is of stage {stage}, out of reach for a pass of stage {pattern.stage}",
                help="a pass wraps nodes of its own stage and of earlier ones",
                span=reference.span,
            )


def _check_arity(call: Call, signatures: list[Signature]) -> Iterator[Diagnostic]:
    given = len(call.arguments)
    least = 0 if call.has_rest else min(signature.operands[0] for signature in signatures)
    most = max(signature.operands[1] for signature in signatures)
    if least <= given <= most:
        return
    wanted = f"{least}" if least == most else f"at least {least}" if given < least else f"at most {most}"
    yield Diagnostic(
        "AF406",
        f"{call.op} takes {wanted} operands, not {given}",
        help="an operand may be left out with `...` at the end" if given < least else "",
        span=call.span,
    )
