"""What a pattern file says, as frozen records: statements, clauses, templates, header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from autofusion.diagnostics import Span

Scalar = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
"""A value that graph text or a clause can spell."""

Role = Literal["normalize", "fuse"]


@dataclass(frozen=True)
class Reference:
    """An argument given by name: a statement's result, or a value that the match binds."""

    name: str
    optional: bool
    span: Span


@dataclass(frozen=True)
class Number:
    """An argument that is a constant of one element."""

    value: float
    span: Span


@dataclass(frozen=True)
class Wildcard:
    """The argument `_`: any value; with `optional` also none."""

    optional: bool
    span: Span


Term = Reference | Number | Wildcard


@dataclass(frozen=True)
class AttributeTest:
    """`name = value` between angle brackets; the value "last" of `is_last` is the last axis of the first operand."""

    name: str
    value: Scalar
    is_last: bool
    span: Span


@dataclass(frozen=True)
class Call:
    """One alternative of a statement: an operator, or the pattern that made a fused node, with its arguments.

    `has_rest` says that further operands are allowed (`...`).
    """

    op: str
    domain: str
    is_pattern: bool
    attributes: tuple[AttributeTest, ...]
    arguments: tuple[Term, ...]
    has_rest: bool
    span: Span

    @cached_property
    def key(self) -> str:
        """The name under which nodes that may stand here are found: `Op`, `domain::Op` or `@pattern`."""
        if self.is_pattern:
            return f"@{self.op}"
        return f"{self.domain}::{self.op}" if self.domain else self.op

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """The arguments that are names, in order."""
        return tuple(term for term in self.arguments if isinstance(term, Reference))


@dataclass(frozen=True)
class Statement:
    """One line of graph text: one node.  `names[0]` names the node and its first result, the rest its other results."""

    names: tuple[str, ...]
    optional: bool
    calls: tuple[Call, ...]
    span: Span
    text: str

    @property
    def name(self) -> str:
        """The name of the statement."""
        return self.names[0]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of all alternatives."""
        return tuple(dict.fromkeys(call.key for call in self.calls))

    @property
    def stand_in(self) -> Term | None:
        """What the name means where the statement is absent: its first argument."""
        return self.calls[0].arguments[0] if self.calls[0].arguments else None


@dataclass(frozen=True)
class Form:
    """One spelling of a pattern; the last statement is the root."""

    statements: tuple[Statement, ...]
    span: Span

    @cached_property
    def by_name(self) -> Mapping[str, Statement]:
        """Statements by their name and by the names of their further results."""
        return {name: statement for statement in self.statements for name in statement.names}

    @property
    def root(self) -> Statement:
        """The last statement."""
        return self.statements[-1]

    @cached_property
    def roots(self) -> tuple[Statement, ...]:
        """The statements that may end a match: the last one and, while they are optional, the ones they stand for."""
        chain = [self.root]
        while chain[-1].optional:
            below = chain[-1].stand_in
            if not isinstance(below, Reference) or below.name not in self.by_name:
                break
            chain.append(self.by_name[below.name])
        return tuple(chain)

    def feeds(self, statement: Statement) -> bool:
        """True where `statement` reads the result of another one."""
        return any(reference.name in self.by_name for call in statement.calls for reference in call.references)

    @cached_property
    def required(self) -> tuple[Statement, ...]:
        """The statements that every match binds, in the order of the text."""
        needed: set[str] = set()
        pending = [self.roots[-1]] if not self.roots[-1].optional else []
        while pending:
            statement = pending.pop()
            if statement.name in needed:
                continue
            needed.add(statement.name)
            for name in _names_in_all(statement.calls):
                following = self.resolve(name)
                if following is not None:
                    pending.append(following)
        return tuple(statement for statement in self.statements if statement.name in needed)

    @property
    def anchor(self) -> Statement:
        """The first required statement: the node that a report names when the pattern nearly matched."""
        return self.required[0] if self.required else self.root

    def resolve(self, name: str) -> Statement | None:
        """The statement that is bound whatever optional ones above it do, None for a value."""
        statement = self.by_name.get(name)
        while statement is not None and statement.optional:
            below = statement.stand_in
            statement = self.by_name.get(below.name) if isinstance(below, Reference) else None
        return statement

    @cached_property
    def values(self) -> tuple[str, ...]:
        """Names of the values that are no statement's result, in order of appearance."""
        names = [ref.name for statement in self.statements for call in statement.calls for ref in call.references]
        return tuple(dict.fromkeys(name for name in names if name not in self.by_name))


def _names_in_all(calls: tuple[Call, ...]) -> list[str]:
    """The names that every call needs."""
    needed = [{reference.name for reference in call.references if not reference.optional} for call in calls]
    return [ref.name for ref in calls[0].references if all(ref.name in names for names in needed)]


@dataclass(frozen=True)
class Subject:
    """What a comparison looks at: an attribute, `op`, `rank`, `dtype`, `shape`, `shape[index]`, `first` or `value`."""

    name: str
    property: str
    index: int | None
    span: Span

    def __str__(self) -> str:
        text = self.name if self.property == "value" else f"{self.name}.{self.property}"
        return text if self.index is None else f"{text}[{self.index}]"


@dataclass(frozen=True)
class KindClause:
    """`a, b are const` and the like; a clause for each name."""

    names: tuple[Reference, ...]
    is_const: bool
    is_scalar: bool
    text: str
    span: Span


@dataclass(frozen=True)
class Comparison:
    """`left operator right`; `right` is a value or another subject."""

    left: Subject
    operator: str
    right: Subject | Scalar
    text: str
    span: Span


@dataclass(frozen=True)
class PredicateClause:
    """`predicate(names)`: a named check that knows its reason."""

    predicate: str
    names: tuple[Reference, ...]
    text: str
    span: Span


Clause = KindClause | Comparison | PredicateClause


@dataclass(frozen=True)
class Part:
    """A piece of a template: `literal`, or, in braces, `prefix`, `word` and `suffix` kept where `condition` is bound.

    `literal` is used for plain text; then `condition` is empty.  A part without `literal`
    text of its own (`is_spelled`) gives the spelling of the operator bound to `condition`.
    """

    prefix: str
    word: str
    condition: str
    is_spelled: bool
    suffix: str = ""


@dataclass(frozen=True)
class Template:
    """A display or operator name with optional parts."""

    text: str
    parts: tuple[Part, ...]
    span: Span


@dataclass(frozen=True)
class Emission:
    """The operator that a normalize pattern gives: operands by name, attributes as literals or subjects.

    Operands named in `ones` are ones where they are absent; constants named in `flat` are given as vectors.
    """

    op: str
    inputs: tuple[str, ...]
    attributes: Mapping[str, Subject | Scalar]
    span: Span
    ones: frozenset[str] = frozenset()
    flat: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pattern:
    """One pattern file.

    With `pass_name` a pass in Python finds its nodes and there are no forms; `wraps` are the patterns whose nodes
    that pass takes in.
    `stage` is 0 for a normalize pattern (it has an `emission`), 1 or 2 for fusions.
    `level` is the lowest fusion level at which it applies, `benefit` its rank among overlapping matches.
    `kernel` names what decodes the body of the fused node.  `spelling` overrides how display names spell operators.
    `is_builtin` is true of the patterns that come with the package, which no user is asked to change.
    """

    name: str
    summary: str
    display: Template
    op: Template
    kernel: str
    level: int
    benefit: int
    stage: int
    where: tuple[Clause, ...]
    escape: tuple[Reference, ...]
    forms: tuple[Form, ...]
    spelling: Mapping[str, str]
    span: Span
    emission: Emission | None = None
    path: str = field(default="")
    is_builtin: bool = False
    pass_name: str = ""
    wraps: tuple[Reference, ...] = ()

    @property
    def role(self) -> Role:
        """Whether the pattern normalizes spellings or fuses."""
        return "normalize" if self.emission is not None else "fuse"
