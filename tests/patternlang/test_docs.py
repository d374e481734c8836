"""docs/patterns.md: its examples load, its tables list what there is."""

from __future__ import annotations

import re
from pathlib import Path

from autofusion.fusion import Code
from autofusion.patternlang import find_builtin_patterns, load_operators, load_patterns
from autofusion.patternlang.expression import FUNCTIONS
from autofusion.patternlang.header import FIELDS
from autofusion.patternlang.operators import OPERATOR_FIELDS
from autofusion.patternlang.vocabulary import PASSES, PREDICATES

PAGE = (Path(__file__).parents[2] / "docs" / "patterns.md").read_text("utf-8")


def test_examples_load_beside_the_built_in_patterns(tmp_path: Path) -> None:
    examples = re.findall(r"```toml\n# mine/(\S+)\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 2
    for path, text in examples:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    names = {pattern.name for pattern in load_patterns([find_builtin_patterns(), tmp_path])}
    assert names >= {"my_hard_swish", "my_conv_act", "conv_bn_act"}


def test_the_tables_are_complete() -> None:
    predicates, rest = PAGE.split("| reason |")
    reasons = rest.split("\n## ")[0]
    rows = {
        name: summary for name, _, summary in re.findall(r"^\| `(\w+)(\(.*\))` \| (.*) \|$", predicates, re.MULTILINE)
    }
    assert rows == {name: rule.summary for name, rule in PREDICATES.items()}
    passes = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.split("## Passes")[1].split("## Conditions")[0], re.MULTILINE)
    assert dict(passes) == PASSES
    assert {code.name for code in Code} == set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)*\b(?=[(`])", reasons))


def test_every_field_is_described() -> None:
    for field in FIELDS:
        name = {"form": "[[form]]", "spelling": "[spelling]", "emit": "[emit]"}.get(field, field)
        assert re.search(rf"^\| .*`{re.escape(name)}`", PAGE, re.MULTILINE), field


OPERATORS = (Path(__file__).parents[2] / "docs" / "custom-operators.md").read_text("utf-8")


def test_declarations_of_the_page_load(tmp_path: Path) -> None:
    examples = re.findall(r"```toml\n# mine/operators/(\S+)\n(.*?)```", OPERATORS, re.DOTALL)
    (tmp_path / "operators").mkdir()
    for name, text in examples:
        (tmp_path / "operators" / name).write_text(text, encoding="utf-8")
    assert set(load_operators([tmp_path])) == {("com.acme", "Whirl"), ("com.acme", "RowScale")}


def test_functions_and_fields_of_declarations_are_described() -> None:
    (row,) = re.findall(r"^\| functions \| (.*?);", OPERATORS, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row) == list(FUNCTIONS)
    for name in OPERATOR_FIELDS:
        assert re.search(rf"^\| .*`\[?{name}\]?`.* \|", OPERATORS, re.MULTILINE), name
