"""The where-clauses.

    clause     = names ("is" | "are") kind | subject comparison (value | subject) | predicate "(" names ")"
    kind       = "const" | "scalar" | "scalar const" | "const scalar"
    subject    = name ["." property ["[" index "]"]]
    comparison = "==" | "!=" | "<" | "<=" | ">" | ">="

A subject without a property is the value of a scalar constant.
"""

from __future__ import annotations

from autofusion.diagnostics import Diagnostic
from autofusion.errors import PatternError
from autofusion.patternlang.graphtext import read_scalar
from autofusion.patternlang.lexer import Source, TokenReader, tokenize
from autofusion.patternlang.model import Clause, Comparison, KindClause, PredicateClause, Reference, Scalar, Subject

COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")


def parse_clause(source: Source) -> Clause:
    """The clause that `source` spells; raises PatternError AF408 with line and column where it is none."""
    try:
        reader = TokenReader(tokenize(source))
        clause = _read_clause(reader, source)
        if reader.peek().kind != "end":
            raise reader.unexpected("the end of the clause")
    except PatternError as error:
        found = error.diagnostic
        advice = "a clause is `names are const`, a comparison such as `w.rank == 2`, or a predicate such as `f(x, y)`"
        raise PatternError(Diagnostic("AF408", found.message, help=advice, span=found.span)) from error
    return clause


def parse_source(source: Source) -> Subject | Scalar:
    """The subject or the value that an emitted attribute is taken from; raises PatternError AF403."""
    reader = TokenReader(tokenize(source))
    found = _read_subject(reader) if reader.peek().kind == "name" else read_scalar(reader)
    if reader.peek().kind != "end":
        raise reader.unexpected("the end")
    return found


def _read_clause(reader: TokenReader, source: Source) -> Clause:
    start = reader.peek()
    if reader.peek(1).text == "(":
        return _read_predicate(reader, source)
    if reader.peek(1).text in (",", "is", "are"):
        return _read_kind(reader, source)
    left = _read_subject(reader)
    operator = reader.peek()
    if operator.text not in COMPARISONS:
        raise reader.unexpected("`is`, a comparison or `(`")
    reader.next()
    if reader.peek().kind == "name":
        return Comparison(left, operator.text, _read_subject(reader), source.text, start.span)
    return Comparison(left, operator.text, read_scalar(reader), source.text, start.span)


def _read_predicate(reader: TokenReader, source: Source) -> PredicateClause:
    predicate = reader.take_kind("name", "a predicate")
    reader.take("(")
    names = _read_names(reader)
    reader.take(")")
    return PredicateClause(predicate.text, names, source.text, predicate.span)


def _read_kind(reader: TokenReader, source: Source) -> KindClause:
    start = reader.peek()
    names = _read_names(reader)
    if not reader.accept("is"):
        reader.take("are")
    words: list[str] = []
    while reader.peek().text in ("const", "scalar") and reader.peek().text not in words:
        words.append(reader.next().text)
    if not words:
        raise reader.unexpected("`const` or `scalar`")
    return KindClause(names, "const" in words, "scalar" in words, source.text, start.span)


def _read_names(reader: TokenReader) -> tuple[Reference, ...]:
    names: list[Reference] = []
    while True:
        token = reader.take_kind("name", "a name")
        names.append(Reference(token.text, False, token.span))
        if not reader.accept(","):
            return tuple(names)


def _read_subject(reader: TokenReader) -> Subject:
    name = reader.take_kind("name", "a name")
    if not reader.accept("."):
        return Subject(name.text, "value", None, name.span)
    field = reader.take_kind("name", "an attribute or a property").text
    index = None
    if field == "shape" and reader.accept("["):
        place = reader.take_kind("number", "an index")
        if not place.text.lstrip("-").isdigit():
            raise reader.unexpected("an index")
        index = int(place.text)
        reader.take("]")
    return Subject(name.text, field, index, name.span)
