"""Scalar expressions: what they parse to, what they compute, and every finding with line and column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from autofusion.diagnostics import Span
from autofusion.errors import PatternError
from autofusion.ops.custom import Apply, CustomAttribute, CustomInput, CustomOperator, Literal64, Symbol, Term
from autofusion.ops.custom_function import build_function
from autofusion.patternlang.expression import FUNCTIONS, parse_expression
from autofusion.patternlang.lexer import Source

KINDS = {"alpha": "float", "count": "int", "word": "string"}
A = np.array([[-2.5, -0.5, -0.0], [0.25, 1.5, 3.0]])
B = np.array([0.5, -1.5, 2.0])


def parse(text: str, inputs: str = "a b") -> Term:
    return parse_expression(Source(text, Span("f.toml", 7, 15)), inputs.split(), KINDS)


def spell(term: Term) -> str:
    match term:
        case Literal64(value):
            return f"{value:g}"
        case Symbol(name, is_attribute):
            return f"@{name}" if is_attribute else name
        case Apply(op, operands):
            return f"{op}({', '.join(map(spell, operands))})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a + b * 2 - 3 / a", "Sub(Add(a, Mul(b, 2)), Div(3, a))"),
        ("(a + b) * -2", "Mul(Add(a, b), -2)"),
        ("-a - -b - -0", "Sub(Sub(Neg(a), Neg(b)), Neg(0))"),
        ("a - b - 1", "Sub(Sub(a, b), 1)"),
        ("max(a, b, 0) / min(a, 1e-3)", "Div(Max(a, b, 0), Min(a, 0.001))"),
        ("select(a > b, alpha, count)", "Where(Greater(a, b), @alpha, @count)"),
        ("select(a != 0 and not b <= 1, a, b)", "Where(And(Not(Equal(a, 0)), Not(LessOrEqual(b, 1))), a, b)"),
        ("select(a > 1 and b > 1 or a == b, a, b)", "Where(Or(And(Greater(a, 1), Greater(b, 1)), Equal(a, b)), a, b)"),
        ("a # as it is\n + b", "Add(a, b)"),
        ("pow(a, .5) + 2. * b", "Add(Pow(a, 0.5), Mul(2, b))"),
    ],
)  # fmt: skip
def test_parses(text: str, tree: str) -> None:
    assert spell(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a + ", 7, 19, "expected a number, a name, a function or `(`, found the end"),
        ("a + b)", 7, 20, "expected an operator or the end, found ')'"),
        ("(a + b", 7, 21, "expected `)`, found the end"),
        ("a +\n  b $ 2", 8, 5, "unexpected character '$'"),
        ("a + bb", 7, 19, "unknown name 'bb'"),
        ("a + b + word", 7, 23, "attribute 'word' is of type string, which is no number"),
        ("tahn(a) + b", 7, 15, "unknown function 'tahn'"),
        ("pow(a) + b", 7, 15, "pow takes 2 arguments, not 1"),
        ("a + max(b)", 7, 19, "max takes at least 2 arguments, not 1"),
        ("exp(a, b)", 7, 15, "exp takes 1 argument, not 2"),
        ("a + (b > 0)", 7, 19, "a truth value stands where a number belongs"),
        ("a > b", 7, 15, "a truth value stands where a number belongs"),
        ("select(a, a, b)", 7, 22, "a number stands where a truth value belongs"),
        ("select(a > 0 and b, a, b)", 7, 32, "a number stands where a truth value belongs"),
        ("a < b < 2", 7, 21, "expected an operator or the end, found '<'"),
        ("and + b", 7, 15, "expected a number, a name, a function or `(`, found 'and'"),
        ("a * 2", 7, 15, "the expression does not read input 'b'"),
        ("a + b + 1e999", 7, 23, "1e999 is too large a number"),
        ("(" * 80 + "a", 7, 79, "the expression is nested more than 64 deep"),
        ("-" * 80 + "a", 7, 79, "the expression is nested more than 64 deep"),
        ("select(" + "not " * 80 + "a > b, a, b)", 7, 274, "the expression is nested more than 64 deep"),
        ("a + b" + " + 1" * 200, 7, 815, "the expression has more than 400 words"),
        ("", 7, 15, "expected a number, a name, a function or `(`, found the end"),
    ],
)
def test_findings(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse(text)
    found = caught.value.diagnostic
    assert found.span is not None
    assert ("AF421", message, line, column) == (found.code, found.message, found.span.line, found.span.column)


def run(text: str, dtype: type = np.float64, **attributes: float) -> np.ndarray:
    """What an independent implementation makes of the function that the expression becomes."""
    declared = {name: CustomAttribute(name, "int" if name == "count" else "float") for name in attributes}
    inputs = (CustomInput("a"), CustomInput("b"))
    operator = CustomOperator("com.acme", "Whirl", inputs, ("y",), declared, parse(text))
    proto = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = helper.make_node("Whirl", ["a", "b"], ["y"], domain="com.acme", **attributes)
    shapes = [helper.make_tensor_value_info("a", proto, A.shape), helper.make_tensor_value_info("b", proto, B.shape)]
    graph = helper.make_graph([node], "g", shapes, [helper.make_tensor_value_info("y", proto, None)])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    model = helper.make_model(graph, functions=[build_function(operator)], opset_imports=imports)
    return ReferenceEvaluator(model).run(None, {"a": A.astype(dtype), "b": B.astype(dtype)})[0]


NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": np.vectorize(__import__("math").erf),
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "round": np.round,
    "select": lambda c, x, y: np.where(c > 0, x, y),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": np.sign,
    "sin": np.sin,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*invalid value.*:RuntimeWarning", "ignore:divide:RuntimeWarning")
def test_every_function_computes_what_it_says(name: str) -> None:
    count = FUNCTIONS[name][1]
    text = {1: f"{name}(a) + 0 * b", 2: f"{name}(a, b)", 3: f"{name}(a > 0, b, a)"}[count]
    expected = {1: (A,), 2: (A, B), 3: (A, B, A)}[count]
    np.testing.assert_allclose(run(text), NUMPY[name](*np.broadcast_arrays(*expected)), rtol=1e-6)


def test_signs_comparisons_and_attributes() -> None:
    text = "select(a >= b or a < -1 and b != 2, alpha * a - b / count, -(a + 0.1))"
    expected = np.where((A >= B) | ((A < -1) & (B != 2)), 1.5 * A - B / 4, -(A + 0.1))
    np.testing.assert_allclose(run(text, alpha=1.5, count=4), expected, rtol=1e-15)


def test_constants_take_the_type_of_the_inputs() -> None:
    assert run("a * 0.1 + b", np.float16).dtype == np.float16
    np.testing.assert_array_equal(
        run("a * 0.1 + b", np.float32), A.astype(np.float32) * np.float32(0.1) + B.astype(np.float32)
    )


def test_equal_parts_are_computed_once() -> None:
    operator = CustomOperator(
        "d", "O", (CustomInput("a"), CustomInput("b")), ("y",), {}, parse("exp(a) * b + exp(a) * b")
    )
    assert [node.op_type for node in build_function(operator).node] == ["Exp", "Mul", "Add"]


def test_names_of_inputs_do_not_clash_with_inner_ones() -> None:
    inputs = ("t0", "t1", "y_")
    term = parse_expression(Source("t0 * 2 + exp(t1) - y_", Span("f", 1, 1)), inputs, {})
    function = build_function(CustomOperator("d", "O", tuple(map(CustomInput, inputs)), ("y",), {}, term))
    outputs = [name for node in function.node for name in node.output]
    assert len(outputs) == len({*outputs, *inputs}) - 3
