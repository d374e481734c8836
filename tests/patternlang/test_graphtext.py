"""Graph text: what it spells, and where its errors are."""

from __future__ import annotations

import pytest

from autofusion.diagnostics import Span
from autofusion.errors import PatternError
from autofusion.patternlang.graphtext import parse_form
from autofusion.patternlang.lexer import Source
from autofusion.patternlang.model import Form, Number, Reference, Wildcard


def parse(text: str) -> Form:
    return parse_form(Source(text, Span("f.toml", 10, 1)))


def test_statements_calls_and_terms() -> None:
    form = parse("a, b? = Split<axis = last>(x, _, 2.5, y?, _?, ...)\nr = com.acme::Whirl | some_pattern (a, b)")
    first, second = form.statements
    assert (first.names, first.optional, first.name) == (("a", "b"), True, "a")
    (call,) = first.calls
    assert (call.key, call.has_rest) == ("Split", True)
    assert [(test.name, test.is_last) for test in call.attributes] == [("axis", True)]
    x, any_, number, y, optional_any = call.arguments
    assert (x, y) == (Reference("x", False, Span("f.toml", 10, 28)), Reference("y", True, Span("f.toml", 10, 39)))
    assert (any_, optional_any) == (
        Wildcard(False, Span("f.toml", 10, 31)),
        Wildcard(True, Span("f.toml", 10, 43)),
    )
    assert number == Number(2.5, Span("f.toml", 10, 34))
    assert [call.key for call in second.calls] == ["com.acme::Whirl", "@some_pattern"]
    assert second.calls[0].arguments == second.calls[1].arguments
    assert second.text == "r = com.acme::Whirl | some_pattern (a, b)"


def test_lines_continue_comments_vanish() -> None:
    form = parse(
        """
# the gate
a = Relu(x)   # or another

  | Elu(x)
  # a comment between
  | Clip(x,
         lo?,   # low
         hi?)
b = Neg(a)
"""
    )
    assert [statement.name for statement in form.statements] == ["a", "b"]
    assert [call.op for call in form.statements[0].calls] == ["Relu", "Elu", "Clip"]
    assert form.statements[0].span == Span("f.toml", 12, 1)
    assert form.statements[0].calls[2].arguments[2] == Reference("hi", True, Span("f.toml", 18, 10))


def test_attribute_values() -> None:
    form = parse(
        "a = T<i = 1, f = -2.5e-1, s = 'x', t = \"y\", l = [1, 2], e = [], g = [1, 0.5], w = ['a']>(x)\nb = N(a)"
    )
    tests = {test.name: test.value for test in form.statements[0].calls[0].attributes}
    assert tests == {"i": 1, "f": -0.25, "s": "x", "t": "y", "l": (1, 2), "e": (), "g": (1.0, 0.5), "w": ("a",)}
    assert type(tests["i"]) is int


def test_what_every_match_binds() -> None:
    form = parse("a = A(x)\nb? = B(a)\nc = C | D (b, y)\nd? = E(c)\ne? = F(d)")
    assert [statement.name for statement in form.required] == ["a", "c"]
    assert [statement.name for statement in form.roots] == ["e", "d", "c"]
    assert form.anchor.name == "a"
    assert form.values == ("x", "y")


def test_names_that_only_one_alternative_reads_are_not_required() -> None:
    form = parse("a = A(x)\nb = B(x)\nc = C(a, b) | D(a)")
    assert [statement.name for statement in form.required] == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 10, 1, "a form needs at least one statement"),
        ("a = Relu(x", 10, 11, "expected ',', found the end"),
        ("a = Relu(x))", 10, 12, "expected `|` or the end of the line, found ')'"),
        ("a = Relu(x)\nb Relu(a)", 11, 3, "expected '=', found 'Relu'"),
        ("a = Relu(x)\nb = $(a)", 11, 5, "unexpected character '$'"),
        ("a = Relu\n", 10, 5, "Relu has no argument list"),
        ("a = Relu(x) | Elu", 10, 15, "Elu has no argument list"),
        ("a = Relu(..., x)", 10, 13, "expected ')', found ','"),
        ("a = Relu(x) b", 10, 13, "expected `|` or the end of the line, found 'b'"),
        ("a = Relu<alpha>(x)", 10, 15, "expected '=', found '>'"),
        ("a = Relu<alpha = >(x)", 10, 18, "expected a value, found '>'"),
        ("a = Relu<alpha = 1 beta = 2>(x)", 10, 20, "expected ',', found 'beta'"),
        ("a = Relu<alpha = [1, 'x']>(x)", 10, 26, "expected a list of numbers or of strings, found '>'"),
        ("_ = Relu(x)", 10, 1, "`_` is no name for a statement"),
        ("a = com.acme(x)", 10, 13, "expected '::', found '('"),
        ("1 = Relu(x)", 10, 1, "expected a statement, found '1'"),
        ("a = = Relu(x)", 10, 5, "expected an operator, found '='"),
        ("a =\nb = Relu(a)", 10, 4, "expected an operator, found the end of the line"),
        ("a, = Relu(x)", 10, 4, "expected the name of a further result, found '='"),
        ("a = Relu(x, )", 10, 13, "expected an argument, found ')'"),
    ],
)
def test_errors_have_line_and_column(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse(text)
    diagnostic = caught.value.diagnostic
    assert (diagnostic.code, diagnostic.message) == ("AF403", message)
    assert diagnostic.span == Span("f.toml", line, column)
