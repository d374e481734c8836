"""Everything a pattern can match, spelt out: each choice of form, alternatives, presence and optional operands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from autofusion.patternlang.model import Call, Form, Pattern, Reference, Statement, Template
from autofusion.patternlang.templates import render_template, spell_display, strip_suffix


@dataclass(frozen=True)
class Variant:
    """One shape that a match can have: the call of every present statement, and the names that are absent."""

    form: Form
    calls: Mapping[str, Call] = field(default_factory=dict[str, Call])
    absent: frozenset[str] = frozenset()

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The present statements in the order of the text; the last is the root."""
        return tuple(statement for statement in self.form.statements if statement.name in self.calls)

    @property
    def names(self) -> frozenset[str]:
        """The names that a match of this shape binds."""
        values = [ref.name for call in self.calls.values() for ref in call.references]
        results = [name for statement in self.statements for name in statement.names]
        return frozenset(name for name in (*results, *values) if name not in self.absent)

    def resolve(self, name: str) -> str:
        """The present statement or the value that `name` means."""
        statement = self.form.by_name.get(name)
        while statement is not None and statement.name in self.absent:
            below = statement.stand_in
            assert isinstance(below, Reference)
            name = below.name
            statement = self.form.by_name.get(name)
        return name


def enumerate_variants(pattern: Pattern) -> Iterator[Variant]:
    """Every shape that a match of `pattern` can have, two nodes or more, in the order of the text."""
    for form in pattern.forms:
        for place, root in enumerate(form.roots):
            above = frozenset(statement.name for statement in form.roots[:place])
            for variant in _expand(Variant(form, absent=above), (root,), is_root=True):
                if len(variant.calls) > 1:
                    yield variant


def enumerate_names(patterns: Sequence[Pattern]) -> dict[str, frozenset[str]]:
    """By pattern name: the display names and operator names that its nodes can have."""
    pairs = enumerate_name_pairs(patterns)
    return {name: frozenset(text for pair in pairs[name] for text in pair) for name in pairs}


def enumerate_name_pairs(patterns: Sequence[Pattern]) -> dict[str, frozenset[tuple[str, str]]]:
    """By pattern name: the display name and the operator, together, that its nodes can have.

    A normal form has its own display name inside another one, such as QuickGelu in `MatMul+QuickGelu`.
    """
    displays: dict[str, frozenset[tuple[str, str]]] = {}
    for pattern in patterns:
        emission = pattern.emission
        if emission is not None and pattern.display.text:
            plain = (spell_display(emission.op, {}), emission.op)
            displays[emission.op] = displays.get(emission.op, frozenset({plain})) | {
                (pattern.display.text, emission.op)
            }
    for pattern in sorted(patterns, key=lambda pattern: pattern.stage):
        names = set(_render_pass_names(pattern) if pattern.pass_name else ())
        for variant in enumerate_variants(pattern):
            names |= set(_render_names(pattern, variant, displays))
        displays[pattern.name] = frozenset(names)
    return {pattern.name: displays[pattern.name] for pattern in patterns}


def _expand(variant: Variant, pending: tuple[Statement, ...], *, is_root: bool = False) -> Iterator[Variant]:
    """Decide the statements in `pending` one after the other."""
    if not pending:
        yield variant
        return
    statement, rest = pending[0], pending[1:]
    if statement.name in variant.calls or statement.name in variant.absent:
        yield from _expand(variant, rest)
        return
    for call in statement.calls:
        present = replace(variant, calls={**variant.calls, statement.name: call})
        for chosen in _choose_operands(present, call):
            needed = (chosen.form.by_name.get(ref.name) for ref in call.references)
            yield from _expand(chosen, (*(item for item in needed if item is not None), *rest))
    if statement.optional and not is_root:
        below = statement.stand_in
        following = variant.form.by_name.get(below.name) if isinstance(below, Reference) else None
        absent = replace(variant, absent=variant.absent | {statement.name})
        yield from _expand(absent, (*((following,) if following is not None else ()), *rest))


def _choose_operands(variant: Variant, call: Call) -> Iterator[Variant]:
    """The variant with each optional operand of `call` present or absent; later ones only after earlier ones."""
    optional = [ref.name for ref in call.references if ref.optional and ref.name not in variant.form.by_name]
    for kept in range(len(optional), -1, -1):
        yield replace(variant, absent=variant.absent | set(optional[kept:]))


def _render_names(
    pattern: Pattern, variant: Variant, inner: Mapping[str, Iterable[tuple[str, str]]]
) -> Iterator[tuple[str, str]]:
    wrapped = [
        statement.name
        for statement in variant.statements
        if variant.calls[statement.name].op in inner and _is_spelled(pattern, statement.name)
    ]
    choices: list[dict[str, tuple[str, str]]] = [{}]
    for name in wrapped:
        pairs = inner.get(variant.calls[name].op, ())
        choices = [{**choice, name: pair} for choice in choices for pair in pairs]
    for choice in choices:

        def spell(statement: str, choice: Mapping[str, tuple[str, str]] = choice) -> str:
            if statement in choice:
                return choice[statement][0]
            return spell_display(variant.calls[statement].op, pattern.spelling)

        def spell_op(statement: str, choice: Mapping[str, tuple[str, str]] = choice) -> str:
            return strip_suffix(choice[statement][1] if statement in choice else variant.calls[statement].op)

        yield (
            render_template(pattern.display, variant.names, spell),
            render_template(pattern.op, variant.names, spell_op),
        )


def _render_pass_names(pattern: Pattern) -> Iterator[tuple[str, str]]:
    """The names that a pass can give: with every choice of the parts that may be absent."""
    templates = (pattern.display, pattern.op)
    conditions = sorted({part.condition for template in templates for part in template.parts if part.condition})
    for count in range(len(conditions) + 1):
        for bound in combinations(conditions, count):
            display, op = (render_template(template, bound, lambda word: word) for template in templates)
            yield display, op


def _is_spelled(pattern: Pattern, statement: str) -> bool:
    templates: tuple[Template, ...] = (pattern.display, pattern.op)
    return any(part.is_spelled and part.condition == statement for template in templates for part in template.parts)
