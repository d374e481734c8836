"""Enumeration of everything that a pattern can match, and of the names it can give."""

from __future__ import annotations

from autofusion.diagnostics import Span
from autofusion.patternlang import Pattern, find_builtin_patterns, load_patterns
from autofusion.patternlang.graphtext import parse_form
from autofusion.patternlang.lexer import Source
from autofusion.patternlang.model import Template
from autofusion.patternlang.variants import enumerate_names, enumerate_variants


def pattern(*forms: str) -> Pattern:
    span = Span("f.toml", 1, 1)
    template = Template("", (), span)
    parsed = tuple(parse_form(Source(text, span)) for text in forms)
    return Pattern("p", "", template, template, "", 1, 0, 1, (), (), parsed, {}, span)


def shapes(*forms: str) -> list[str]:
    return [
        " ".join(f"{statement.name}={variant.calls[statement.name].op}" for statement in variant.statements)
        for variant in enumerate_variants(pattern(*forms))
    ]


def test_presence_and_alternatives() -> None:
    assert shapes("a = A(x)\nb? = B(a)\nc = C | D (b)") == ["a=A b=B c=C", "a=A c=C", "a=A b=B c=D", "a=A c=D"]


def test_optional_ends_leave_two_nodes_at_least() -> None:
    assert shapes("a = A(x)\nb? = B(a)\nc? = C(b)") == ["a=A b=B c=C", "a=A c=C", "a=A b=B"]


def test_forms_follow_one_another() -> None:
    assert shapes("a = A(x)\nb = B(a)", "c = C(x)\nd = D(c)") == ["a=A b=B", "c=C d=D"]


def test_a_statement_read_twice_is_decided_once() -> None:
    assert shapes("a = A | B (x)\nc? = C(a)\nd = D(a, c)") == ["a=A c=C d=D", "a=A d=D", "a=B c=C d=D", "a=B d=D"]


def test_statements_that_one_alternative_reads() -> None:
    assert shapes("a = A(x)\nb = B(x)\nc = C(a) | D(a, b)") == ["a=A c=C", "a=A b=B c=D"]


def test_optional_operands() -> None:
    variants = list(enumerate_variants(pattern("a = A(x, y?, z?)\nb = B(a)")))
    assert [sorted(variant.absent) for variant in variants] == [[], ["z"], ["y", "z"]]
    assert variants[1].names == {"a", "b", "x", "y"}
    assert variants[0].resolve("a") == "a"


def test_an_absent_statement_means_its_first_argument() -> None:
    variants = list(enumerate_variants(pattern("a = A(x)\nb? = B(a)\nc? = C(b)\nd = D(c)")))
    assert [variant.resolve("c") for variant in variants] == ["c", "c", "b", "a"]


def test_names_of_the_built_in_patterns() -> None:
    names = enumerate_names(load_patterns([find_builtin_patterns()]))
    assert names["conv_bn_act"] >= {
        "Conv+BN+ReLU",
        "ConvBNReluFusionOp",
        "Conv+BN+Add+ReLU",
        "ConvBNAddReluFusionOp",
        "Conv+BN",
        "ConvBNFusionOp",
        "Conv+ReLU",
        "Conv+Add+ReLU",
        "Conv+Clip",
        "Conv+SiLU",
        "Conv+BN+Clip",
    }
    assert names["matmul_bias_act"] >= {"MatMul+BiasAdd+Relu", "MatMulBiasReluFusionOp", "MatMul+BiasAdd"}
    assert names["conv_pool"] >= {"Conv+BN+ReLU+Pool", "ConvBNReluPoolFusionOp", "Conv+Pool"}
    assert names["conv_pool_fc"] == {"Conv+Pool+FC", "ConvPoolFCFusionOp"}
    assert names["silu"] == {"SiLU"}
    assert "Conv" not in names["conv_bn_act"]
