"""Every finding of lint, with its line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.diagnostics import Diagnostic
from autofusion.patternlang import find_builtin_patterns, lint_file
from autofusion.patternlang.vocabulary import KERNELS

HEADER = """schema  = 1
name    = "sample"
summary = "s"
display = "Sample"
op      = "SampleFusionOp"
kernel  = "chain"
"""
NORMAL = """schema  = 1
name    = "sample"
summary = "s"
"""
FORM = """[[form]]
match = '''
a = Exp(x)
b = Neg(a)
'''
"""


def lint(folder: Path, text: str, name: str = "sample.toml") -> list[Diagnostic]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return lint_file(path)


def form(*lines: str) -> str:
    return "[[form]]\nmatch = '''\n" + "\n".join(lines) + "\n'''\n"


def places(findings: list[Diagnostic]) -> list[tuple[str, int, int]]:
    return [(item.code, item.span.line, item.span.column) for item in findings if item.span is not None]


def test_built_in_patterns_are_clean() -> None:
    files = sorted(find_builtin_patterns().rglob("*.toml"))
    assert len(files) >= 5
    assert [finding for path in files for finding in lint_file(path)] == []


def test_a_clean_file(tmp_path: Path) -> None:
    assert lint(tmp_path, HEADER + FORM) == []


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "message"),
    [
        ("schema = ", "AF401", 1, 10, "no valid TOML: invalid value"),
        (HEADER.replace("schema  = 1", "schema = 2") + FORM, "AF402", 1, 1, "schema is 2, this version reads 1"),
        (HEADER.replace('"s"', "5") + FORM, "AF402", 3, 1, "summary must be a string"),
        (HEADER.replace('"sample"\nsum', '"Sample"\nsum') + FORM, "AF402", 2, 1, "name 'Sample' is not in snake case"),
        (HEADER.replace('"sample"\nsum', '"other"\nsum') + FORM, "AF402", 2, 1, "name 'other' differs from the file's"),
        (HEADER.replace("kernel ", "kernal ") + FORM, "AF402", 6, 1, "unknown field 'kernal'"),
        (HEADER.replace('"chain"', '"convv"') + FORM, "AF402", 6, 1, "unknown kernel 'convv'"),
        (
            HEADER.replace('"chain"', '"conv"') + FORM,
            "AF402",
            6,
            1,
            "kernel 'conv' computes Conv, the form begins with",
        ),
        (
            HEADER.replace('"chain"', '"matmul"') + form("a = Conv(x, w, ...)", "b = Neg(a)"),
            "AF402",
            6,
            1,
            "kernel 'matmul' computes MatMul, Gemm, LayerNormalization, RMSNormalization, the form begins with Conv",
        ),
        (HEADER + "level = 4\n" + FORM, "AF402", 7, 1, "level is 4, not 1 or 2 or 3"),
        (HEADER + "level = true\n" + FORM, "AF402", 7, 1, "level must be an integer"),
        (HEADER + "stage = 3\n" + FORM, "AF402", 7, 1, "stage is 3, not 1 or 2"),
        (HEADER + "benefit = -1\n" + FORM, "AF402", 7, 1, "benefit is -1, it cannot be negative"),
        (HEADER + "where = 'x is const'\n" + FORM, "AF402", 7, 1, "where must be an array"),
        (HEADER + "where = [1]\n" + FORM, "AF402", 7, 1, "where must hold strings"),
        (HEADER, "AF402", 1, 1, "field 'form' is missing"),
        (HEADER + "form = []\n", "AF402", 7, 1, "a pattern needs at least one [[form]]"),
        (HEADER + "[[form]]\n", "AF402", 7, 1, "field 'match' is missing"),
        (HEADER + "[[form]]\nmatch = 'a = Exp(x)'\n", "AF402", 8, 1, "match must be written as a ''' block"),
        (HEADER + "[[form]]\nmatch = 1\n", "AF402", 8, 1, "match must be a string"),
        (HEADER + FORM + "[spelling]\nRelu = 1\n", "AF402", 13, 1, "the spelling of Relu must be a string"),
        (NORMAL + FORM + "[emit]\nop = 'E'\n", "AF402", 9, 1, "field 'inputs' of [emit] is missing"),
        (
            NORMAL + "stage = 1\n" + FORM + "[emit]\nop='E'\ninputs=['x']\n",
            "AF402",
            4,
            1,
            "a pattern with [emit] has no",
        ),
        (
            NORMAL + FORM + "[emit]\nop='E'\ninputs=['x']\nattrs = { k = [1] }\n",
            "AF402",
            12,
            11,
            "attribute k must be a",
        ),
        (HEADER + "pass = 'multi_head'\n", "AF402", 7, 1, "unknown pass 'multi_head'"),
        (HEADER + "pass = 'multi_head_attention'\n" + FORM, "AF402", 8, 1, "a pattern with a pass has no field 'form'"),
        (HEADER + "wraps = []\n" + FORM, "AF402", 7, 1, "a pattern with forms has no field 'wraps'"),
        (HEADER + "pass = 'multi_head_attention'\nwraps = ['conv_bn']\n", "AF404", 8, 11, "unknown pattern 'conv_bn'"),
        (
            HEADER + "pass = 'multi_head_attention'\nwraps = ['conv_pool_fc']\n",
            "AF415",
            8,
            11,
            "pattern 'conv_pool_fc' is of stage 2, out of reach for a pass of stage 1",
        ),
        (HEADER + form("a = Exp(x", "b = Neg(a)"), "AF403", 9, 10, "expected ',', found the end of the line"),
        (HEADER.replace('"Sample"', '"S{"') + FORM, "AF403", 4, 13, "a brace without its partner"),
        (HEADER + form("a = Exq(x)", "b = Neg(a)"), "AF404", 9, 5, "unknown operator 'Exq'"),
        (
            HEADER + "stage = 2\n" + form("a = conv_bn(x, ...)", "b = Neg(a)"),
            "AF404",
            10,
            5,
            "unknown pattern 'conv_bn'",
        ),
        (HEADER + form("a = Elu<alpa = 1>(x)", "b = Neg(a)"), "AF405", 9, 9, "Elu has no attribute 'alpa'"),
        (HEADER + 'where = ["a.alpha == 1"]\n' + FORM, "AF405", 7, 11, "no operator of 'a' has an attribute 'alpha'"),
        (HEADER + 'where = ["x.length == 1"]\n' + FORM, "AF405", 7, 11, "value 'x' has no property 'length'"),
        (HEADER + form("a = Exp(x, y)", "b = Neg(a)"), "AF406", 9, 5, "Exp takes 1 operands, not 2"),
        (HEADER + form("a = Conv(x)", "b = Neg(a)"), "AF406", 9, 5, "Conv takes at least 2 operands, not 1"),
        (HEADER + 'where = ["x is const",\n  "v is const"]\n' + FORM, "AF407", 8, 4, "'v' is bound by no form"),
        (HEADER + 'where = ["same_shape(x, v)"]\n' + FORM, "AF407", 7, 25, "'v' is bound by no form"),
        (HEADER + 'escape = ["c"]\n' + FORM, "AF407", 7, 12, "escape names 'c', which is no statement"),
        (HEADER + 'escape = ["b"]\n' + FORM, "AF407", 7, 12, "the root 'b' leaves the match anyway"),
        (HEADER + 'where = ["x is constant"]\n' + FORM, "AF408", 7, 16, "expected `const` or `scalar`"),
        (HEADER + 'where = ["same_shap(x, a)"]\n' + FORM, "AF408", 7, 11, "unknown predicate 'same_shap'"),
        (HEADER + 'where = ["same_shape(x)"]\n' + FORM, "AF408", 7, 11, "same_shape takes 2 names, not 1"),
        (
            HEADER + 'where = ["is_inference(x)"]\n' + FORM,
            "AF408",
            7,
            24,
            "is_inference wants a statement, 'x' is a value",
        ),
        (
            HEADER + form("b = Neg(a)", "a = Exp(x)", "c = Add(a, b)"),
            "AF409",
            9,
            9,
            "'a' is used here but defined below",
        ),
        (HEADER + form("a = Exp(x)", "a = Neg(a)"), "AF409", 10, 1, "'a' is defined twice"),
        (
            HEADER + form("a = Exp(x)", "n = Neg(x)", "b = Abs(a)"),
            "AF410",
            10,
            1,
            "statement 'n' is not reachable from",
        ),
        (
            HEADER + form("a = Exp(x)", "b? = Add(a, y) | Mul(y, a)", "c = Neg(b)"),
            "AF411",
            10,
            1,
            "optional statement 'b'",
        ),
        (
            HEADER + form("a = Exp(x)", "b? = Add(2, a)", "c = Neg(b)"),
            "AF411",
            10,
            1,
            "optional statement 'b' has no single",
        ),
        (
            HEADER + form("a = Exp(x)", "b, d? = Split(a, ...)", "c = Add(b, d)"),
            "AF411",
            10,
            1,
            "optional statement 'b' has",
        ),
        (
            HEADER + form("p = Exp(x)", "q = Mul(x, p) | Mul(x, 0.5)", "o = Mul(q, 0.5) | Mul(q, p)"),
            "AF412",
            11,
            1,
            "the alternatives of 'o' and of 'q' both depend on 0.5",
        ),
        (HEADER + form("a = Exp(x)"), "AF413", 9, 1, "a form of one statement fuses nothing"),
        (HEADER + form("a? = Exp(x)", "b? = Neg(a)"), "AF413", 9, 1, "every statement is optional"),
        (HEADER.replace('"Sample"', '"S{+BN}"') + FORM, "AF414", 4, 12, "template part '+BN' depends on 'bn'"),
        (HEADER + form("a = conv_bn_act(x, ...)", "b = Neg(a)"), "AF415", 9, 5, "pattern 'conv_bn_act' is of stage 1"),
        (NORMAL + FORM + "[emit]\nop='E'\ninputs=['v']\n", "AF407", 9, 1, "[emit] names 'v', which no form binds"),
        (
            NORMAL + FORM + "[emit]\nop='E'\ninputs=[]\n",
            "AF416",
            9,
            1,
            "value 'x' is neither among the inputs of [emit]",
        ),
        (
            NORMAL + FORM + "[emit]\nop='E'\ninputs=['x', 'a']\n",
            "AF416",
            9,
            1,
            "input 'a' of [emit] is computed inside",
        ),
        (NORMAL + FORM + "[emit]\nop='E'\ninputs=['x']\nattrs = { k = true }\n", "AF402", 12, 11, "attribute k must"),
        (
            NORMAL + form("a = Exp(x)", "b = Clip(a, ...)") + "[emit]\nop='E'\ninputs=['x']\n",
            "AF416",
            7,
            5,
            "a normalize pattern must name every operand",
        ),
    ],
)
def test_findings(tmp_path: Path, text: str, code: str, line: int, column: int, message: str) -> None:
    findings = lint(tmp_path, text)
    assert (code, line, column) in places(findings)
    finding = next(item for item in findings if item.code == code and item.span and item.span.line == line)
    assert finding.message.startswith(message)
    assert finding.span is not None
    assert finding.span.path == str(tmp_path / "sample.toml")
    assert not finding.message.endswith(".")


def test_all_findings_of_a_file_in_order(tmp_path: Path) -> None:
    text = HEADER + 'where = ["v is const", "w is const"]\n' + form("a = Exq(x)", "n = Neg(x)", "b = Abs(a)")
    assert places(lint(tmp_path, text)) == [("AF407", 7, 11), ("AF407", 7, 25), ("AF404", 10, 5), ("AF410", 11, 1)]


def test_close_names_are_offered(tmp_path: Path) -> None:
    (finding,) = lint(tmp_path, HEADER + form("a = Softmux(x)", "b = Neg(a)"))
    assert finding.help == "did you mean Softmax, LogSoftmax, Softplus?"


def test_normal_forms_of_the_built_in_patterns_are_known(tmp_path: Path) -> None:
    assert lint(tmp_path, HEADER + form("a = SiLU(x)", "b = Neg(a)")) == []
    assert places(lint(tmp_path, HEADER + form("a = SiLU(x, y)", "b = Neg(a)"))) == [("AF406", 9, 5)]


def test_normal_forms_of_neighbours_are_known(tmp_path: Path) -> None:
    for name in ("normalize", "fuse"):
        (tmp_path / name).mkdir()
    emit = NORMAL.replace("sample", "whirl") + FORM + "[emit]\nop = 'Whirl'\ninputs = ['x']\nattrs = { k = 2 }\n"
    assert lint(tmp_path / "normalize", emit, "whirl.toml") == []
    assert lint(tmp_path / "fuse", HEADER + form("a = Whirl<k = 2>(x)", "b = Neg(a)")) == []


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (finding,) = lint_file(tmp_path / "absent.toml")
    assert finding.code == "AF401"
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    assert [item.code for item in lint_file(tmp_path / "bytes.toml")] == ["AF401"]


def test_a_misspelt_statement_is_suggested(tmp_path: Path) -> None:
    (finding,) = lint(tmp_path, HEADER + form("conv = Conv(x, w, ...)", "e = Exp(cnv)"))
    assert finding.code == "AF410"
    assert "did you mean conv?" in finding.help


def test_known_kernels_are_listed(tmp_path: Path) -> None:
    (finding,) = lint(tmp_path, HEADER.replace('"chain"', '"convv"') + FORM)
    assert finding.help == f"did you mean conv? known are {', '.join(KERNELS)}"
