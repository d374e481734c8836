"""Files of manual rules: the shapes they may have, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autofusion.errors import UsageError
from autofusion.fusion import Rule, read_rules

ARTICLE_JSON = """{
  "fusion_rules": {"layer_0": ["op1", "op2", "op3"], "layer_1": ["op4", "op5"]},
  "fusion_patterns": [
    {"name": "self_attention", "ops": ["multi_head_attention", "dense_add_gelu", "dense", "attn_add_layer_norm"]},
    {"name": "feed_forward", "ops": ["dense_gelu", "dense_add", "ffn_add_layer_norm"], "outputs": ["*"]}
  ],
  "scope": ["encoder/*"]
}"""
ARTICLE_TOML = """
scope = ["encoder/*"]
fusion_patterns = [
  {name = "self_attention", ops = ["multi_head_attention", "dense_add_gelu", "dense", "attn_add_layer_norm"]},
  {name = "feed_forward", ops = ["dense_gelu", "dense_add", "ffn_add_layer_norm"], outputs = ["*"]},
]
[fusion_rules]
layer_0 = ["op1", "op2", "op3"]
layer_1 = ["op4", "op5"]
"""


def written(folder: Path, text: str, name: str = "rules.json") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def told(source: object, folder: Path, name: str = "rules.json") -> str:
    """The code and message that a file with the content `source` is refused with."""
    text = source if isinstance(source, str) else json.dumps(source)
    with pytest.raises(UsageError) as caught:
        read_rules(written(folder, text, name))
    return f"{caught.value.diagnostic.code} {caught.value.diagnostic.message}"


def test_json_toml_and_a_dict_say_the_same(tmp_path: Path) -> None:
    from_json = read_rules(written(tmp_path, ARTICLE_JSON))
    assert from_json == (
        Rule("layer_0", ("op1", "op2", "op3"), scope=("encoder/*",), by="rules.json"),
        Rule("layer_1", ("op4", "op5"), scope=("encoder/*",), by="rules.json"),
        Rule(
            "self_attention",
            ("multi_head_attention", "dense_add_gelu", "dense", "attn_add_layer_norm"),
            "ops",
            scope=("encoder/*",),
            by="rules.json",
        ),
        Rule(
            "feed_forward",
            ("dense_gelu", "dense_add", "ffn_add_layer_norm"),
            "ops",
            ("*",),
            ("encoder/*",),
            "rules.json",
        ),
    )

    def content(rules: tuple[Rule, ...]) -> set[object]:
        return {(rule.name, rule.items, rule.kind, rule.outputs, rule.scope) for rule in rules}

    assert content(read_rules(written(tmp_path, ARTICLE_TOML, "rules.TOML"))) == content(from_json)
    assert content(read_rules(json.loads(ARTICLE_JSON))) == content(from_json)


def test_a_plain_table_of_rules(tmp_path: Path) -> None:
    content = {
        "layer_0": ["op1", "op2"],
        "tail": {"nodes": ["tail/*"], "outputs": ["v"], "scope": ["tail/a*"]},
        "ffn": {"ops": ["dense", "relu"]},
        "scope": {"nodes": ["layer*"]},
    }
    assert read_rules(content) == (
        Rule("layer_0", ("op1", "op2"), scope=("layer*",)),
        Rule("tail", ("tail/*",), "nodes", ("v",), ("tail/a*",)),
        Rule("ffn", ("dense", "relu"), "ops", scope=("layer*",)),
    )
    assert read_rules(str(written(tmp_path, json.dumps(content))))[0].by == "rules.json"


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("layer_0", "Layer0FusionOp"),
        ("self_attention", "SelfAttentionFusionOp"),
        ("myBlock", "MyBlockFusionOp"),
        ("encoder/layer.11", "EncoderLayer11FusionOp"),
    ],
)
def test_names_of_operators(name: str, op: str) -> None:
    assert Rule(name, ("a",)).op == op


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({}, "there is no rule"),
        ([], "it is no table of rules"),
        ({"a": []}, "rule 'a' is empty"),
        ({"a": "conv"}, "rule 'a' is no list of names"),
        ({"a": ["conv", 3]}, "rule 'a' is no list of names"),
        ({"a": {}}, "rule 'a' needs either 'nodes' or 'ops'"),
        ({"a": {"nodes": ["x"], "ops": ["x"]}}, "rule 'a' needs either 'nodes' or 'ops'"),
        ({"a": {"nodes": ["x"], "output": ["v"]}}, "rule 'a' has an unknown key 'output'"),
        ({"a": ["x"], "fusion_rules": {"a": ["y"]}}, "two rules are called 'a'"),
        ({"enable_fusion": True}, "rule 'enable_fusion' is no list of names"),
        ({"0": ["x"]}, "'0' is no name: it begins with a letter and has letters, digits and _ - . / only"),
        ({"fusion_rules": ["x"]}, "'fusion_rules' is no table"),
        ({"fusion_patterns": {}}, "'fusion_patterns' is no list of tables"),
        ({"fusion_patterns": ["x"]}, "entry 1 of 'fusion_patterns' is no table"),
        ({"fusion_patterns": [{"ops": ["x"]}]}, "entry 1 of 'fusion_patterns' has no 'name'"),
        ({"fusion_patterns": [{"name": "a"}]}, "the fusion pattern 'a' has no 'ops'"),
        ({"a": ["x"], "scope": "layer*"}, "'scope' is no list of names"),
        ({"a": ["x"], "scope": {"layers": []}}, "'scope' is no list of names or globs, nor a table with such a list"),
        ('{"a": ["x"], "a": ["y"]}', "a key occurs twice in one object"),
        ("{", "it is no JSON: Expecting property name enclosed in double quotes"),
    ],
)
def test_refuses_content(tmp_path: Path, content: object, reason: str) -> None:
    message = told(content, tmp_path)
    assert message.startswith(f"AF217 the file of fusion rules 'rules.json' cannot be used: {reason}")


def test_refuses_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_rules(tmp_path / "absent.json")
    assert caught.value.diagnostic.code == "AF218"
    assert caught.value.diagnostic.message == (
        "cannot read the file of fusion rules 'absent.json': No such file or directory"
    )
    assert told("", tmp_path) == "AF218 the file of fusion rules 'rules.json' is empty"
    assert told("a = [", tmp_path, "rules.toml").startswith(
        "AF217 the file of fusion rules 'rules.toml' cannot be used: it is no TOML: "
    )
    assert told("a = 1", tmp_path, "rules.ini") == (
        "AF217 the file of fusion rules 'rules.ini' cannot be used: its suffix is '.ini', not .toml or .json"
    )
    with pytest.raises(UsageError) as caught:
        read_rules({"a": 1})
    assert caught.value.diagnostic.message == "the fusion rules cannot be used: rule 'a' is no list of names"
