"""`autofusion patterns`: lists, one pattern, and lint, as a user sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autofusion.patternlang import find_builtin_patterns, load_patterns
from cli.transcript import transcribe
from conftest import CheckGolden
from frontend.declared import WHIRL, declare

CLUMSY = """schema  = 1
name    = "clumsy"
summary = "Nothing in it is right."
display = "Clumsy{+act}"
op      = "ClumsyFusionOp"
kernel  = "chain"
level   = 4
where   = ["w is const", "bias.ranks == 1"]

[[form]]
match = '''
mm  = MatMul(x, w
sum = Add(mm, bias)
out = com.acme::Whril(sum)
'''
"""
MATMUL_WHIRL = """schema  = 1
name    = "matmul_whirl"
summary = "Product and Whirl, less exact."
display = "MatMul{+BiasAdd?bias}+Whirl"
op      = "MatMul{Bias?bias}WhirlFusionOp"
kernel  = "matmul"
level   = 3
where   = ["w, bias are const"]

[[form]]
match = '''
mm   = MatMul(x, w)
sum? = Add(mm, bias)
out  = com.acme::Whirl(sum, sum)
'''
"""
DECLARED = """
declared operators (2)
  com.acme::RowScale <epsilon: float = 0.5>(x, gain?) by function, mine/operators/row_scale.toml
      x over the root of its mean square along the last axis, times gain.
  com.acme::Whirl <slope: float = 0.25, count: int = 2>(x, shift) by expression, mine/operators/whirl.toml
      tanh of a sum, with a slope below zero.
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    declare(tmp_path)
    (tmp_path / "mine" / "fuse").mkdir()
    (tmp_path / "mine" / "fuse" / "matmul_whirl.toml").write_text(MATMUL_WHIRL, encoding="utf-8")
    return tmp_path / "mine"


def list_rows(*words: str) -> dict[str, object]:
    text = transcribe("patterns", "list", "--format", "json", *words)
    return json.loads(text.partition("--- stdout\n")[2])


def test_every_pattern_is_listed_in_order() -> None:
    rows = list_rows()["patterns"]
    assert isinstance(rows, list)
    known = load_patterns([find_builtin_patterns()])
    ordered = sorted(known, key=lambda pattern: (pattern.stage, pattern.level, pattern.name))
    assert [(row["name"], row["level"], row["summary"]) for row in rows] == [
        (pattern.name, pattern.level, pattern.summary) for pattern in ordered
    ]
    assert all(row["displays"] and row["ops"] and (row["cann"] or row["own_passes"]) for row in rows)
    assert {row["name"] for row in rows if row["may_leave_limits"]} == {
        row["name"] for row in rows if row["level"] == 3
    }
    (conv,) = [row for row in rows if row["name"] == "conv_bn_act"]
    assert {"Conv+BN+ReLU", "Pad+Conv"} <= set(conv["displays"])
    assert "ConvBNReluFusionOp" in conv["ops"]
    assert "ConvBatchnormFusionPass" in conv["cann"]


def test_the_text_names_level_display_operator_and_pass() -> None:
    text = transcribe("patterns", "list", "--level", "1")
    assert "level 3: aggressive: results may leave the limits of verify\n" in text
    assert "  bn_act  level 1  BN[+act] -> BN[act]FusionOp\n" in text
    assert "  rms_norm  level 1  RMSNorm -> RMSNormalization\n" in text
    assert "      CANN: GeluFusionPass\n" in text
    assert "      not in CANN, called MishFusionPass\n" in text
    assert "conv_pool_fc" not in text


def test_what_may_leave_the_limits_says_so(mine: Path) -> None:
    text = transcribe("patterns", "list", "--level", "3", "--pattern_dir", "mine")
    assert "\n  matmul_whirl  level 3  MatMul[+BiasAdd]+Whirl -> MatMul[Bias]WhirlFusionOp\n" in text
    assert text.endswith(DECLARED)
    rows = list_rows("--pattern-dir", str(mine), "--level", "3")["patterns"]
    assert isinstance(rows, list)
    assert {(row["level"], row["may_leave_limits"]) for row in rows} == {(3, True)}


def test_shows_one(mine: Path, check_golden: CheckGolden) -> None:
    check_golden("cli/patterns_show.txt", transcribe("patterns", "show", "MatMul+Whirl", "--pattern_dir", "mine"))
    check_golden("cli/patterns_show_unknown.txt", transcribe("patterns", "show", "Conv+Whirl"))
    text = transcribe("patterns", "show", "AddLayerNormFusionPass", "--format", "json")
    assert '"name": "add_layer_norm"' in text


def test_lint(mine: Path, check_golden: CheckGolden) -> None:
    assert transcribe("patterns", "lint", "mine").endswith("exit 0\n--- stdout\nfindings: 0\n")
    (mine / "fuse" / "clumsy.toml").write_text(CLUMSY, encoding="utf-8")
    wrong = WHIRL.replace("tanh(x + shift)", "tanh(x, shift)").replace('"Whirl"', '"Twirl"')
    (mine / "operators" / "twirl.toml").write_text(wrong, encoding="utf-8")
    check_golden("cli/patterns_lint.txt", transcribe("patterns", "lint", "mine"))
    check_golden(
        "cli/patterns_lint.json", transcribe("patterns", "lint", "mine/operators/twirl.toml", "--format", "json")
    )


@pytest.mark.parametrize("words", [["absent"], ["."], []])
def test_lint_of_nothing(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = transcribe("patterns", "lint", *words)
    assert "exit 2\n" in text
    assert ("AF401" in text) == bool(words)


def test_a_faulty_folder_ends_the_list(mine: Path) -> None:
    (mine / "fuse" / "clumsy.toml").write_text(CLUMSY, encoding="utf-8")
    text = transcribe("patterns", "list", "--pattern_dir", "mine")
    assert "exit 2\n" in text
    assert " --> mine/fuse/clumsy.toml:7:1\n" in text
