"""Headers of passes: no forms, names with words that the pass binds, patterns that it wraps."""

from __future__ import annotations

from pathlib import Path

from autofusion.patternlang import find_builtin_patterns, lint_file, load_patterns
from autofusion.patternlang.variants import enumerate_names, enumerate_variants

HEADER = """schema = 1
name = "mine"
summary = "s"
display = "{Two+}Mine{+BiasAdd?bias}"
op = "{Two}Mine{Bias?bias}FusionOp"
kernel = "attention"
stage = 2
pass = "multi_head_attention"
wraps = ["conv_bn_act", "conv_pool_fc"]
"""


def test_a_pass_loads_without_forms(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(HEADER, encoding="utf-8")
    assert lint_file(path) == []
    patterns = load_patterns([find_builtin_patterns(), tmp_path])
    mine = next(pattern for pattern in patterns if pattern.name == "mine")
    assert (mine.forms, mine.pass_name, mine.role) == ((), "multi_head_attention", "fuse")
    assert [reference.name for reference in mine.wraps] == ["conv_bn_act", "conv_pool_fc"]
    assert list(enumerate_variants(mine)) == []


def test_names_of_a_pass_are_all_choices_of_its_words(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(HEADER, encoding="utf-8")
    names = enumerate_names(load_patterns([find_builtin_patterns(), tmp_path]))["mine"]
    assert names == {
        "Mine", "Two+Mine", "Mine+BiasAdd", "Two+Mine+BiasAdd",
        "MineFusionOp", "TwoMineFusionOp", "MineBiasFusionOp", "TwoMineBiasFusionOp",
    }  # fmt: skip
