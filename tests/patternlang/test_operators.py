"""Declarations of operators: what is read, and every finding with line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.diagnostics import Diagnostic
from autofusion.errors import PatternError
from autofusion.ops.custom import CustomAttribute, CustomInput
from autofusion.ops.custom_function import build_function
from autofusion.patternlang import find_builtin_patterns, lint_file, load_operators, load_patterns

HEADER = """schema  = 1
domain  = "com.acme"
name    = "Whirl"
summary = "s"
inputs  = ["x", "gain"]
"""
EXPRESSION = 'expression = "x * gain"\n'
FUNCTION = """outputs = ["y", "kept"]
opset   = 17
function = '''
part = Mul(x, gain)   # } {
slope = Constant <value_float: float = @slope> ()
y    = LeakyRelu <alpha = 0.25> (part)
kept = Identity(slope)
'''
"""
SLOPE = '[attributes]\nslope = { type = "float", default = 2 }\n'


def write(folder: Path, text: str, name: str = "whirl.toml") -> Path:
    path = folder / "operators" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def lint(folder: Path, text: str) -> list[Diagnostic]:
    return lint_file(write(folder, text))


def test_reads_an_expression(tmp_path: Path) -> None:
    write(tmp_path, HEADER + EXPRESSION + '[attributes]\ntimes = { type = "ints" }\n')
    (operator,) = load_operators([tmp_path]).values()
    assert (operator.key, operator.inputs) == ("com.acme::Whirl", (CustomInput("x"), CustomInput("gain")))
    assert operator.attributes == {"times": CustomAttribute("times", "ints", None)}
    assert (operator.input_count, operator.summary, operator.body) == ((2, 2), "s", "")
    assert operator.span is not None
    assert operator.span.path == f"{tmp_path.name}/operators/whirl.toml"


def test_reads_a_function(tmp_path: Path) -> None:
    write(tmp_path, HEADER.replace('"gain"', '"gain?"') + FUNCTION + SLOPE)
    operators = load_operators([find_builtin_patterns(), tmp_path])
    operator = operators["com.acme", "Whirl"]
    assert (operator.input_count, operator.outputs, operator.opset) == ((1, 2), ("y", "kept"), 17)
    assert operator.attributes["slope"].default == 2.0
    function = build_function(operator)
    assert [node.op_type for node in function.node] == ["Mul", "Constant", "LeakyRelu", "Identity"]
    assert (function.domain, function.name, function.attribute_proto[0].f) == ("com.acme", "Whirl", 2.0)


FIELD_FAULTS = [
    (HEADER.replace("= 1", "= 2") + EXPRESSION, 1, 1, "schema is 2, this version reads 1"),
    (HEADER.replace('"com.acme"', '"com acme"') + EXPRESSION, 2, 1, "'com acme' is no domain"),
    (HEADER.replace('"com.acme"', '"ai.onnx"') + EXPRESSION, 2, 1, "the domain 'ai.onnx' is ONNX's own"),
    (HEADER.replace('"Whirl"', '"Whirl-2"') + EXPRESSION, 3, 1, "'Whirl-2' is no name"),
    (HEADER.replace('summary = "s"\n', "") + EXPRESSION, 1, 1, "field 'summary' is missing"),
    (HEADER.replace('"gain"', '"x"') + 'expression = "x"\n', 5, 18, "'x' is listed twice"),
    (HEADER.replace('"gain"', '"ga in"') + 'expression = "x"\n', 5, 18, "'ga in' is no name"),
    (HEADER.replace('"gain"', '"gain?"') + EXPRESSION, 5, 1, "input 'gain' of an expression cannot be absent"),
    (HEADER.replace('"x", "gain"', "") + 'expression = "1"\n', 5, 1, "an operator needs at least one input"),
    (HEADER, 1, 1, "the meaning is `expression` or `function`, neither is given"),
    (HEADER + EXPRESSION + FUNCTION + SLOPE, 6, 1, "the meaning is `expression` or `function`, both is given"),
    (HEADER + "opset = 17\n" + EXPRESSION, 6, 1, "an operator with an expression has no field 'opset'"),
    (HEADER + "kernel = 'conv'\n" + EXPRESSION, 6, 1, "unknown field 'kernel'"),
    (HEADER + FUNCTION.replace("= 17", "= 5") + SLOPE, 7, 1, "opset is 5, not 7 to"),
    (HEADER + FUNCTION.replace("outputs = [\"y\", \"kept\"]\n", "") + SLOPE, 1, 1, "field 'outputs' is missing"),
    (HEADER + FUNCTION.replace('"y"', '"y?"') + SLOPE, 6, 1, "output 'y' cannot be absent"),
    (HEADER + "outputs = []\nopset = 17\nfunction = '''\n'''\n", 6, 1, "an operator needs at least one output"),
    (HEADER + "outputs = ['y']\nopset = 17\nfunction = 'y = Neg(x)'\n", 8, 1, "function must be written as a '''"),
    (HEADER + EXPRESSION + "[attributes]\na = 1.0\n", 8, 1, 'attribute a must be { type = "..", default = .. }'),
    (HEADER + EXPRESSION + "[attributes]\na = { type = 'flot' }\n", 8, 1, 'attribute a must be { type = "..", default'),
    (HEADER + EXPRESSION + "[attributes]\na = { type = 'int', default = 0.5 }\n", 8, 1, "the default of attribute a"),
    (HEADER + EXPRESSION + f"[attributes]\na = {{ type = 'int', default = {2**63} }}\n", 8, 1, "the default of"),
    (HEADER + EXPRESSION + "[attributes]\na = { type = 'float', default = 1e39 }\n", 8, 1, "the default of"),
    (HEADER + EXPRESSION + f"[attributes]\na = {{ type = 'float', default = {10**400} }}\n", 8, 1, "the default of"),
    (HEADER + EXPRESSION + "[attributes]\nx = { type = 'int' }\n", 8, 1, "'x' is an input and an attribute"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), FIELD_FAULTS)
def test_faults_of_fields(tmp_path: Path, text: str, line: int, column: int, message: str) -> None:
    findings = [item for item in lint(tmp_path, text) if item.message.startswith(message)]
    assert [("AF402", line, column)] == [(item.code, *place(item)) for item in findings]


@pytest.mark.parametrize(
    ("line_of_text", "line", "column", "message"),
    [
        ("y = Mul(x, gain", 10, 1, "expected character ) not found"),
        ("y = Mul(x, gain)\n}", 10, 1, "a brace closes what none opened"),
        ("y = Mul(x, gain)\n} trailing (x) => (y) {", 10, 1, "a brace closes what none opened"),
        ("y = If (x) <then_branch = g () => () {>", 9, 38, "a brace is not closed"),
        ("y = Mull(x, gain)", 9, 5, "ONNX has no operator 'Mull' in opset 17"),
        ("y = Gelu(x)", 9, 5, "ONNX has no operator 'Gelu' in opset 17"),
        ("y = Mul(x)", 9, 5, "Mul takes 2 operands, not 1"),
        ("y = Elu <alpa = 1.0> (x)", 9, 5, "Elu has no attribute 'alpa'"),
        ("y = Elu <alpha: float = @a> (x)", 9, 5, "Elu refers to 'a', which is no attribute of com.acme::Whirl"),
        ("y = com.acme.Whirl(x, gain)", 9, 14, "com.acme::Whirl is of another domain than ONNX's own"),
        ("y = Mul(x, gian)", 9, 5, "Mul reads 'gian', which is no input and no result above it"),
        ("t = Exp(x)\ny = Neg(t)\nt = Abs(x)", 11, 5, "value 't' is defined twice"),
        ("x = Exp(gain)\ny = Neg(x)", 9, 5, "value 'x' is defined twice"),
        ("t = Mul(x, gain)", 9, 17, "output 'y' is not produced"),
    ],
)
def test_faults_of_bodies(tmp_path: Path, line_of_text: str, line: int, column: int, message: str) -> None:
    (found,) = lint(tmp_path, f"{HEADER}outputs = ['y']\nopset = 17\nfunction = '''\n{line_of_text}\n'''\n")
    assert ("AF422", message, line, column) == (found.code, found.message, *place(found))


def test_an_expression_is_placed(tmp_path: Path) -> None:
    (found,) = lint(tmp_path, HEADER + "expression = '''\n x *\n  gian'''\n")
    assert (found.code, found.message, *place(found)) == ("AF421", "unknown name 'gian'", 8, 3)


def test_onnx_has_it_already(tmp_path: Path) -> None:
    (found,) = lint(tmp_path, HEADER.replace("com.acme", "ai.onnx.ml").replace("Whirl", "Scaler") + EXPRESSION)
    assert (found.code, found.message, *place(found)) == ("AF423", "ONNX has an operator ai.onnx.ml::Scaler", 3, 1)


def test_two_files_declare_one_operator(tmp_path: Path) -> None:
    write(tmp_path, HEADER + EXPRESSION)
    second = write(tmp_path, HEADER + EXPRESSION, "again.toml")
    (found,) = lint_file(second)
    assert (found.code, *place(found)) == ("AF423", 3, 1)
    with pytest.raises(
        PatternError, match=r"operator com\.acme::Whirl is declared in .*/operators/again\.toml already"
    ):
        load_operators([tmp_path])


def test_a_fault_stops_loading_with_all_of_the_file_told(tmp_path: Path) -> None:
    write(tmp_path, HEADER.replace("= 1", "= 2") + 'expression = "x * gian"\n')
    with pytest.raises(PatternError) as caught:
        load_patterns([find_builtin_patterns(), tmp_path])
    found = caught.value.diagnostic
    assert (found.code, *place(found)) == ("AF402", 1, 1)
    assert found.notes == (f"{tmp_path.name}/operators/whirl.toml:6:19: unknown name 'gian'",)


def place(found: Diagnostic) -> tuple[int, int]:
    assert found.span is not None
    return found.span.line, found.span.column
