"""Lint of several files: all findings of each, and names that are looked up in the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.diagnostics import Diagnostic
from autofusion.patternlang import find_builtin_patterns, lint_file, lint_files

PATTERN = """schema  = 1
name    = "{name}"
summary = "s"
display = "S"
op      = "SFusionOp"
kernel  = "chain"
{fields}
[[form]]
match = '''
{text}
'''
"""
OPERATOR = """schema = 1
domain = "com.acme"
name = "Whirl"
summary = "s"
inputs = ["x"]
expression = "x * speed"
attributes = { speed = { type = "float" } }
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def pattern(path: Path, *lines: str, fields: str = "") -> Path:
    return write(path, PATTERN.format(name=path.stem, text="\n".join(lines), fields=fields))


def places(findings: list[Diagnostic]) -> list[tuple[str, int, int]]:
    return [(item.code, item.span.line, item.span.column) for item in findings if item.span is not None]


def test_everything_wrong_with_a_file_is_found_at_once(tmp_path: Path) -> None:
    fields = 'level = 4\nwhere = ["v is const", "same_shap(a, b)", "a.rank ="]\nescape = ["q"]'
    path = pattern(
        tmp_path / "many.toml", "a = Exq(x, y)", "n = Neg(x)", "b? = Abs<k = 1>(a) | Add(y, a)", fields=fields
    )
    assert places(lint_file(path)) == [
        ("AF402", 7, 1),
        ("AF407", 8, 11),
        ("AF408", 8, 25),
        ("AF408", 8, 51),
        ("AF407", 9, 12),
        ("AF404", 12, 5),
        ("AF410", 13, 1),
        ("AF411", 14, 1),
        ("AF405", 14, 10),
    ]


def test_every_malformed_statement_is_found(tmp_path: Path) -> None:
    lines = ("a = Exp(x", "b = Neg(a))", "c ? Abs(b)", "d = Tanh(c) | ", "é = Exp(d)", "f = Log(d) $")
    path = pattern(tmp_path / "many.toml", *lines, fields='where = ["nobody is const"]')
    found = lint_file(path)
    assert {item.code for item in found} == {"AF403"}
    assert [(place[1:], item.message) for place, item in zip(places(found), found, strict=True)] == [
        ((10, 10), "expected ',', found the end of the line"),
        ((11, 11), "expected `|` or the end of the line, found ')'"),
        ((12, 5), "expected '=', found 'Abs'"),
        ((13, 15), "expected an operator, found the end of the line"),
        ((14, 1), "unexpected character 'é'"),
        ((15, 12), "unexpected character '$'"),
    ]


def test_what_stands_beside_a_malformed_statement_is_checked(tmp_path: Path) -> None:
    fields = 'where = ["same_shap(a, b)", "nobody is const"]'
    path = pattern(tmp_path / "many.toml", "a = Exp(x", "b = Exq(a)", "c? = Add(a, b) | Mul(b, a)", fields=fields)
    assert places(lint_file(path)) == [("AF408", 7, 11), ("AF403", 10, 10), ("AF404", 11, 5), ("AF411", 12, 1)]


def test_a_faulty_emission_is_not_told_twice(tmp_path: Path) -> None:
    text = (
        "schema = 1\nname = 'n'\nsummary = 's'\n[[form]]\nmatch = '''\na = Exp(x)\nb = Exq(a)\n'''\n[emit]\nop = 'E'\n"
    )
    assert places(lint_file(write(tmp_path / "n.toml", text))) == [("AF404", 7, 5), ("AF402", 9, 1)]


def test_names_of_built_in_patterns_are_taken(tmp_path: Path) -> None:
    (found,) = lint_file(pattern(tmp_path / "conv_bn_act.toml", "a = Exp(x)", "b = Neg(a)"))
    assert (places([found]), found.code) == ([("AF417", 2, 1)], "AF417")
    assert found.message.endswith("patterns/fuse/conv_bn_act.toml already")


def test_two_files_of_one_name(tmp_path: Path) -> None:
    files = [pattern(tmp_path / folder / "same.toml", "a = Exp(x)", "b = Neg(a)") for folder in ("fuse", "more")]
    assert places(lint_files(files)) == [("AF417", 2, 1), ("AF417", 2, 1)]
    assert lint_files([files[0], files[0]]) == []


def test_declared_operators_are_known(tmp_path: Path) -> None:
    write(tmp_path / "operators" / "whirl.toml", OPERATOR)
    assert (
        lint_file(pattern(tmp_path / "fuse" / "good.toml", "a = com.acme::Whirl<speed = 2.0>(x)", "b = Neg(a)")) == []
    )
    wrong = pattern(tmp_path / "fuse" / "wrong.toml", "a = com.acme::Whirl<sped = 2.0>(x, y)", "b = com.acme::Whril(a)")
    arity, attribute, unknown = lint_file(wrong)
    assert places([arity, attribute, unknown]) == [("AF406", 10, 5), ("AF405", 10, 21), ("AF404", 11, 5)]
    assert unknown.help.startswith("did you mean com.acme::Whirl?")


@pytest.mark.parametrize("code", ["AF401"])
def test_files_that_cannot_be_read(tmp_path: Path, code: str) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    assert [item.code for item in lint_files([tmp_path / "bytes.toml", tmp_path / "absent.toml"])] == [code, code]


def test_built_in_files_together_are_clean() -> None:
    assert lint_files(sorted(find_builtin_patterns().rglob("*.toml"))) == []
