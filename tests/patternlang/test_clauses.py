"""Where-clauses and templates: what they spell, and where their errors are."""

from __future__ import annotations

import pytest

from autofusion.diagnostics import Span
from autofusion.errors import PatternError
from autofusion.patternlang.clauses import parse_clause, parse_source
from autofusion.patternlang.lexer import Source
from autofusion.patternlang.model import Clause, Comparison, KindClause, PredicateClause, Subject
from autofusion.patternlang.templates import parse_template, render_template, spell_display, strip_suffix


def parse(text: str) -> Clause:
    return parse_clause(Source(text, Span("f.toml", 3, 7)))


@pytest.mark.parametrize(
    ("text", "names", "is_const", "is_scalar"),
    [
        ("w is const", ["w"], True, False),
        ("w, b are const", ["w", "b"], True, False),
        ("lo, hi are scalar const", ["lo", "hi"], True, True),
        ("s is const scalar", ["s"], True, True),
        ("s is scalar", ["s"], False, True),
    ],
)
def test_kinds(text: str, names: list[str], is_const: bool, is_scalar: bool) -> None:
    clause = parse(text)
    assert isinstance(clause, KindClause)
    assert [reference.name for reference in clause.names] == names
    assert (clause.is_const, clause.is_scalar, clause.text) == (is_const, is_scalar, text)


@pytest.mark.parametrize(
    ("text", "left", "operator", "right"),
    [
        ("w.rank == 2", "w.rank", "==", 2),
        ("scale > 0", "scale", ">", 0),
        ("x.shape[-1] != 3", "x.shape[-1]", "!=", 3),
        ("bn.epsilon <= 1e-3", "bn.epsilon", "<=", 0.001),
        ("x.dtype == 'float16'", "x.dtype", "==", "float16"),
        ("pool.pads == [0, 0]", "pool.pads", "==", (0, 0)),
        ("x.shape[1] == w.shape[0]", "x.shape[1]", "==", "w.shape[0]"),
    ],
)
def test_comparisons(text: str, left: str, operator: str, right: object) -> None:
    clause = parse(text)
    assert isinstance(clause, Comparison)
    spelled = str(clause.right) if isinstance(clause.right, Subject) else clause.right
    assert (str(clause.left), clause.operator, spelled) == (left, operator, right)


def test_predicates() -> None:
    clause = parse("same_shape(residual, conv)")
    assert isinstance(clause, PredicateClause)
    assert (clause.predicate, [reference.name for reference in clause.names]) == ("same_shape", ["residual", "conv"])
    assert clause.names[1].span == Span("f.toml", 3, 28)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("w is constant", 12, "expected `const` or `scalar`, found 'constant'"),
        ("w, are const", 14, "expected 'are', found 'const'"),
        ("w == ", 12, "expected a value, found the end"),
        ("w.rank = 2", 14, "expected `is`, a comparison or `(`, found '='"),
        ("w.rank == 2 and x.rank == 2", 19, "expected the end of the clause, found 'and'"),
        ("f(x, 2)", 12, "expected a name, found '2'"),
        ("x.shape[a] == 2", 15, "expected an index, found 'a'"),
        ("", 7, "expected a name, found the end"),
    ],
)
def test_errors_of_clauses(text: str, column: int, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse(text)
    diagnostic = caught.value.diagnostic
    assert (diagnostic.code, diagnostic.message, diagnostic.span) == ("AF408", message, Span("f.toml", 3, column))
    assert diagnostic.help


def test_subjects_of_emitted_attributes() -> None:
    assert str(parse_source(Source("bn.epsilon", Span("f.toml", 1, 1)))) == "bn.epsilon"
    with pytest.raises(PatternError, match="expected the end"):
        parse_source(Source("bn.epsilon 2", Span("f.toml", 1, 1)))


NAMES = ("conv", "bn", "sum", "act", "bias")


@pytest.mark.parametrize(
    ("text", "bound", "name"),
    [
        ("Conv{+BN}{+Add?sum}{+act}", {"conv", "bn", "act"}, "Conv+BN+<act>"),
        ("Conv{+BN}{+Add?sum}{+act}", {"conv", "sum"}, "Conv+Add"),
        ("Conv{BN}{act}FusionOp", {"bn", "act"}, "ConvBN<act>FusionOp"),
        ("MatMul{+BiasAdd?bias}", {"bias"}, "MatMul+BiasAdd"),
        ("MatMul{+BiasAdd?bias}", set(), "MatMul"),
        ("{conv}+Pool", {"conv"}, "<conv>+Pool"),
        ("Plain", set(), "Plain"),
    ],
)
def test_templates(text: str, bound: set[str], name: str) -> None:
    template = parse_template(Source(text, Span("f.toml", 1, 1)), NAMES)
    assert render_template(template, bound, lambda statement: f"<{statement}>") == name


@pytest.mark.parametrize(
    ("text", "column"), [("Conv{+BN", 5), ("Conv}", 5), ("Conv{}", 5), ("a{+b c}", 2), ("{x}{y?}", 4)]
)
def test_errors_of_templates(text: str, column: int) -> None:
    with pytest.raises(PatternError) as caught:
        parse_template(Source(text, Span("f.toml", 1, 1)), NAMES)
    assert caught.value.diagnostic.span == Span("f.toml", 1, column)


def test_spelling() -> None:
    assert [spell_display(op, {}) for op in ("Relu", "Clip", "SiLU")] == ["ReLU", "Clip", "SiLU"]
    assert spell_display("Relu", {"Relu": "Relu"}) == "Relu"
    assert [strip_suffix(op) for op in ("ConvBNFusionOp", "Conv")] == ["ConvBN", "Conv"]
