"""Manual rules that name sequences of building blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import onnx
import pytest

from autofusion.errors import UsageError
from autofusion.frontend import read_model
from autofusion.fusion import Controls, FusionResult, fuse, read_rules, resolve_rules
from autofusion.fusion.manual.attention import AFTER_SOFTMAX, BEFORE_SCORES, BEFORE_SOFTMAX
from autofusion.fusion.manual.view import MOVES
from autofusion.fusion.manual.words import CHAINS, WORDS
from autofusion.ir import MANUAL, Graph
from autofusion.ir.verify import verify_graph
from autofusion.ops.rows import operators
from autofusion.passes import run_passes
from autofusion.patternlang.variants import enumerate_names
from frontend.models import model, node, save, tensor
from fusion.encoder import build_encoder
from fusion.support import builtin

DOCS = Path(__file__).parents[2] / "docs" / "manual-fusion.md"

BERT = ("attention", "dense_bias", "add", "norm", "dense_bias_gelu", "dense_bias", "add", "norm")
PATTERNS = {
    "fusion_patterns": [
        {"name": "self_attention", "ops": ["multi_head_attention", "dense_add_gelu", "dense", "attn_add_layer_norm"]},
        {"name": "feed_forward", "ops": ["dense_gelu", "dense_add", "ffn_add_layer_norm"]},
    ]
}
RULES = {
    "fusion_rules": {
        "self_attention": ["attention", "dense_gelu", "dense"],
        "feed_forward": ["dense", "dense_gelu", "add", "norm"],
    }
}


def apply(
    proto: onnx.ModelProto, rules: Mapping[str, object], folder: Path, **controls: object
) -> tuple[Graph, FusionResult]:
    graph = read_model(save(proto, folder)).graph
    chosen = resolve_rules(Controls(rules=read_rules(rules), **controls), graph, builtin())  # pyright: ignore[reportArgumentType]
    run_passes(graph)
    result = fuse(graph, builtin(), chosen)
    verify_graph(graph, "the test")
    return graph, result


def groups(graph: Graph) -> dict[str, set[str]]:
    """The parts of the model, as `LAYER/BLOCK`, that each group has all or some nodes of, by the group's node."""
    return {
        node.name: {"/".join(name.split("/")[:2]) for name in node.origin} for node in graph if node.pattern == MANUAL
    }


def blocks_of(layer: int, *blocks: str) -> set[str]:
    return {f"layer_{layer}/{block}" for block in blocks}


def seek(proto: onnx.ModelProto, *words: str, folder: Path, **entry: object) -> dict[str, set[str]]:
    rule = {"name": "found", "ops": list(words), **entry}
    return groups(apply(proto, {"fusion_patterns": [rule]}, folder)[0])


def told(proto: onnx.ModelProto, *words: str, folder: Path, **entry: object) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        seek(proto, *words, folder=folder, **entry)
    found = caught.value.diagnostic
    assert found.code in ("AF331", "AF332")
    return found.message.removeprefix("rule 'found' of fusion_rules "), found.help


def test_the_patterns_of_the_article(tmp_path: Path) -> None:
    layer = (
        "attention",
        "dense_bias_gelu",
        "dense_bias",
        "add",
        "norm",
        "dense_bias_gelu",
        "dense_bias",
        "add",
        "norm",
    )
    graph, result = apply(build_encoder(*layer), PATTERNS, tmp_path)
    first = ("0_attention", "1_dense_bias_gelu", "2_dense_bias", "3_add", "4_norm")
    second = ("5_dense_bias_gelu", "6_dense_bias", "7_add", "8_norm")
    assert groups(graph) == {
        "self_attention": blocks_of(0, *first),
        "self_attention_1": blocks_of(1, *first),
        "feed_forward": blocks_of(0, *second),
        "feed_forward_1": blocks_of(1, *second),
    }
    assert len(graph) == 4
    made = [(step.display, step.op, step.level) for step in result.fusions if step.inside is None]
    assert (
        made == [("self_attention", "SelfAttentionFusionOp", 0)] * 2 + [("feed_forward", "FeedForwardFusionOp", 0)] * 2
    )
    inside = {step.display for step in result.fusions if step.inside == "feed_forward_1"}
    assert "MatMul+BiasAdd+Gelu" in inside


def test_the_rules_of_the_article(tmp_path: Path) -> None:
    layer = ("attention", "dense_bias_gelu", "dense", "add", "norm", "dense_bias", "dense_gelu", "add", "norm")
    graph, _ = apply(build_encoder(*layer), RULES, tmp_path)
    found = groups(graph)
    assert found["self_attention_1"] == blocks_of(1, "0_attention", "1_dense_bias_gelu", "2_dense")
    assert found["feed_forward"] == blocks_of(0, "5_dense_bias", "6_dense_gelu", "7_add", "8_norm")
    # The projections are no part of the attention; here they stay outside.
    assert not any("/q/" in name for node in graph if node.pattern == MANUAL for name in node.origin)
    assert len(found) == 4


def test_patterns_that_an_ordinary_encoder_has(tmp_path: Path) -> None:
    found = seek(build_encoder(*BERT), "multi_head_attention", "dense", "add_norm", folder=tmp_path)
    assert found == {
        name: blocks_of(layer, "0_attention", "1_dense_bias", "2_add", "3_norm")
        for layer, name in enumerate(("found", "found_1"))
    }


def test_says_what_stands_in_the_place_of_a_block(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        apply(build_encoder(*BERT), PATTERNS, tmp_path)
    assert caught.value.diagnostic.message == (
        "rule 'self_attention' of fusion_rules is found nowhere: after multi_head_attention at "
        "layer_0/0_attention/mixed stands layer_0/1_dense_bias/matmul (MatMul), dense_add_gelu was expected"
    )
    assert caught.value.diagnostic.help == "blocks there: dense, dense_add, fc, linear"
    assert told(build_encoder(*BERT), "softmax", "norm", folder=tmp_path)[0] == (
        "is found nowhere: after softmax at layer_0/0_attention/softmax stands layer_0/0_attention/mixed (MatMul), "
        "norm was expected"
    )
    assert told(build_encoder(*BERT), "conv_bn_relu", "pool", folder=tmp_path)[0] == (
        "is found nowhere: there is no conv_bn_relu"
    )
    assert told(build_encoder("dense", layers=1), "dense", "norm", folder=tmp_path)[0] == (
        "is found nowhere: nothing reads the result of dense at layer_0/0_dense/matmul, norm was expected"
    )


def test_a_value_read_on_both_sides(tmp_path: Path) -> None:
    """Where the norm comes first, the sum is also the next one's other operand."""
    encoder = build_encoder("dense_bias", "norm", "dense", "add", "dense_bias", "add", layers=1)
    words = ("dense", "add", "dense")
    assert told(encoder, "norm", *words, folder=tmp_path) == (
        (
            "is found nowhere: the group at layer_0/1_norm/norm lets 'layer_0/1_norm/norm', "
            "which layer_0/2_dense/matmul inside of it reads, go to layer_0/5_add/add outside"
        ),
        "take layer_0/5_add/add into the rule, or list 'norm' under its outputs",
    )
    for outputs in (["norm"], ["*"]):
        found = seek(encoder, "norm", *words, folder=tmp_path, outputs=outputs)
        assert found == {"found": blocks_of(0, "1_norm", "2_dense", "3_add", "4_dense_bias")}


@pytest.mark.parametrize(
    ("words", "blocks"),
    [
        (("mha",), ("0_attention",)),
        (("qkv", "attention"), ("0_attention",)),
        (("linear", "add", "layer_norm", "dense_add_gelu", "fc", "residual"), BERT[1:7]),
        (("ffn",), ("4_dense_bias_gelu", "5_dense_bias")),
        (("dense_activation", "dense_add", "norm"), ("4_dense_bias_gelu", "5_dense_bias", "6_add", "7_norm")),
        (("Gelu", "MatMul"), ("4_dense_bias_gelu", "5_dense_bias")),
        (("Erf", "Add", "Mul"), ("4_dense_bias_gelu",)),
        (("MatMul+BiasAdd+Gelu", "dense"), ("4_dense_bias_gelu", "5_dense_bias")),
        (("MatMulBiasGeluFusionOp", "dense"), ("4_dense_bias_gelu", "5_dense_bias")),
        (("matmul_bias_act",), ("4_dense_bias_gelu",)),
        (("layer_normalization",), ("3_norm",)),
    ],
)
def test_words(tmp_path: Path, words: tuple[str, ...], blocks: tuple[str, ...]) -> None:
    found = seek(build_encoder(*BERT, layers=1), *words, folder=tmp_path, outputs=["*"])
    wanted = [f"{place}_{block}" for place, block in enumerate(BERT)][1:7] if blocks == BERT[1:7] else blocks
    assert blocks_of(0, *wanted) in found.values()


def test_a_scope_chooses_layers(tmp_path: Path) -> None:
    found = seek(build_encoder(*BERT, layers=3), "ffn", folder=tmp_path, scope=["layer_[02]/*"])
    assert [sorted(parts)[0][:7] for parts in found.values()] == ["layer_0", "layer_2"]


def test_nodes_that_are_kept_out_are_passed_over(tmp_path: Path) -> None:
    rules = {"fusion_patterns": [{"name": "found", "ops": ["ffn"]}]}
    graph, _ = apply(build_encoder(*BERT), rules, tmp_path, skip_nodes={"layer_0/4*": "skip.ini"})
    assert list(groups(graph).values()) == [blocks_of(1, "4_dense_bias_gelu", "5_dense_bias")]


def test_rules_of_nodes_come_first(tmp_path: Path) -> None:
    rules = {"fusion_patterns": [{"name": "found", "ops": ["ffn"]}], "own": {"nodes": ["layer_0/4*"]}}
    graph, _ = apply(build_encoder(*BERT), rules, tmp_path)
    assert groups(graph) == {
        "own": blocks_of(0, "4_dense_bias_gelu"),
        "found": blocks_of(1, "4_dense_bias_gelu", "5_dense_bias"),
    }


def test_places_do_not_overlap(tmp_path: Path) -> None:
    found = seek(build_encoder("dense", layers=5), "dense", "dense", folder=tmp_path)
    assert list(found.values()) == [{"layer_0/0_dense", "layer_1/0_dense"}, {"layer_2/0_dense", "layer_3/0_dense"}]


def test_long_sequences_end(tmp_path: Path) -> None:
    """A ladder has 2 to the power of its steps ways through; a rule may be longer than any stack is deep."""
    nodes = [node("Neg", "x", "v0", "v0")]
    for place in range(1, 40):
        ahead = f"v{place - 1}"
        nodes += [node("Exp", ahead, f"a{place}", f"a{place}"), node("Abs", ahead, f"b{place}", f"b{place}")]
        nodes.append(node("Mul", f"a{place} b{place}", f"v{place}", f"v{place}"))
    ladder = model(nodes, [tensor("x", [2, 4])], [tensor("v39", [2, 4])])
    rungs = ["neg", *(["exp", "mul"] * 38)]
    message, _ = told(ladder, *rungs, "relu", folder=tmp_path)
    assert message.endswith("stands a39 (Exp), b39 (Abs), relu was expected")
    message, _ = told(build_encoder("dense", layers=3), *["dense"] * 3000, folder=tmp_path)
    assert (
        message == "is found nowhere: nothing reads the result of dense at layer_2/0_dense/matmul, dense was expected"
    )


def test_found_without_automatic_fusion(tmp_path: Path) -> None:
    rules = {"fusion_patterns": [{"name": "found", "ops": ["ffn"]}]}
    graph, result = apply(build_encoder(*BERT), rules, tmp_path, auto_fusion=False)
    assert len(groups(graph)) == 2
    assert {step.inside for step in result.fusions} == {None, "found", "found_1"}
    assert "Softmax" in {node.op for node in graph}


def test_refuses_words(tmp_path: Path) -> None:
    assert told(build_encoder(*BERT), "dense_gleu", folder=tmp_path) == (
        "names 'dense_gleu', which is no building block",
        "did you mean dense_gelu, dense_silu, dense_relu?",
    )
    assert told(build_encoder(*BERT), "ffn", folder=tmp_path, outputs=["gelu"])[0] == (
        "lists 'gelu' under outputs, which is none of its blocks"
    )


def test_rules_within_control_flow(tmp_path: Path) -> None:
    row = [2, 4]
    then = onnx.helper.make_graph(
        [node("Exp", "x", "e", "exp"), node("Neg", "e", "n", "neg"), node("Relu", "n", "then", "relu")],
        "then",
        [],
        [tensor("then", row)],
    )
    other = onnx.helper.make_graph([node("Abs", "x", "other", "abs")], "other", [], [tensor("other", row)])
    proto = model(
        [node("Tanh", "s", "x", "tanh"), node("If", "c", "y", "choose", then_branch=then, else_branch=other)],
        [tensor("s", row), tensor("c", [], onnx.TensorProto.BOOL)],
        [tensor("y", row)],
    )
    for rule in ({"inner": ["exp", "neg"]}, {"inner": {"ops": ["exp", "neg"]}}):
        graph, result = apply(proto, rule, tmp_path)
        (choose,) = [item for item in graph if item.op == "If"]
        branch = dict(choose.subgraphs())["then_branch"]
        assert sorted(item.op for item in branch) == ["InnerFusionOp", "Relu"]
        assert [(step.display, step.graph) for step in result.fusions if step.level == 0] == [
            ("inner", "choose.then_branch")
        ]
    with pytest.raises(UsageError) as caught:
        apply(proto, {"inner": ["tanh", "exp"]}, tmp_path)
    assert caught.value.diagnostic.message == (
        "rule 'inner' of fusion_rules has nodes of two graphs, 'tanh' and 'exp': one is in control flow"
    )


def test_every_operator_of_the_table_exists() -> None:
    units = {name for chains in CHAINS.values() for chain in chains for unit in chain for name in unit.ops}
    made = {name for names in enumerate_names(builtin()).values() for name in names}
    known = made | {op for domain, op in operators() if not domain}
    assert units | BEFORE_SOFTMAX | AFTER_SOFTMAX | BEFORE_SCORES | MOVES <= known


def test_every_word_is_documented() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|", DOCS.read_text("utf-8"), re.MULTILINE)
    assert {word for row in rows for word in re.findall("`([^`]+)`", row)} >= WORDS
