"""Manual rules from the command line and Python to native artifacts: groups run the steps that their parts would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

import autofusion
from autofusion import Controls
from autofusion.compiler import Compilation, compile_model
from autofusion.fusion import read_rules
from autofusion.options import CompileOptions
from autofusion.services.verify import verify_artifact
from cli.models import save_block
from cli.transcript import transcribe
from zoo.builder import build_model, make_inputs

BLOCKS = {
    "fusion_patterns": [
        {"name": "self_attention", "ops": ["multi_head_attention", "dense", "attn_add_layer_norm"]},
        {"name": "feed_forward", "ops": ["dense_gelu", "dense_add", "ffn_add_layer_norm"]},
    ]
}
STAGES = {
    "stem": ["node_Conv_292", "node_relu", "node_max_pool2d"],
    "tail": {"nodes": ["node_Conv_32[246]", "node_relu_1[34]", "node_add_431"]},
    "head": [
        "node_Conv_328",
        "node_relu_15",
        "node_Conv_330",
        "node_add_487",
        "node_relu_16",
        "node_mean",
        "node_Reshape_333",
        "node_linear",
    ],
    "block": {"ops": ["conv_relu", "conv", "add", "relu"]},
}
# Groups that each rule makes, by name of the model.
MODELS: Mapping[str, tuple[Mapping[str, object], Mapping[str, int]]] = {
    "resnet18_dyn20": (STAGES, {"stem": 1, "tail": 1, "head": 1, "block": 6}),
    "bert_base_ts17": (BLOCKS, {"self_attention": 12, "feed_forward": 12}),
}


def options(rules: Mapping[str, object]) -> CompileOptions:
    return CompileOptions(controls=Controls(rules=read_rules(rules)))


def steps_of(compiled: Compilation) -> dict[tuple[str, ...], tuple[str, tuple[str, ...], str]]:
    """Kernel, operands and attributes of each step by its results."""
    return {step.outputs: (step.kernel, step.inputs, str(step.attributes)) for step in compiled.lowered.plan.steps}


@pytest.mark.parametrize("name", MODELS)
def test_a_real_model_takes_the_same_steps(tmp_path: Path, name: str) -> None:
    rules, counts = MODELS[name]
    onnx.save(build_model(name), tmp_path / "net.onnx")
    grouped, plain = (compile_model(tmp_path / "net.onnx", item) for item in (options(rules), CompileOptions()))
    assert {row.name: row.matched for row in grouped.report.patterns if row.level == 0} == counts
    inside = {row.name: row.inside for row in grouped.report.patterns}
    assert sum(inside.values()) >= sum(counts.values())
    assert steps_of(grouped) == steps_of(plain)
    assert grouped.report.operators_after < plain.report.operators_after
    (tmp_path / "net.onnx").unlink()


def test_a_grouped_model_verifies_and_computes_the_same(tmp_path: Path) -> None:
    name, (rules, _) = "resnet18_dyn20", MODELS["resnet18_dyn20"]
    onnx.save(build_model(name), tmp_path / "net.onnx")
    artifact = tmp_path / "grouped.om"
    autofusion.compile(tmp_path / "net.onnx", artifact, fusion_rules=rules)
    autofusion.compile(tmp_path / "net.onnx", tmp_path / "plain.om")
    report = verify_artifact(tmp_path / "net.onnx", artifact)
    assert report.ok, report
    feeds = make_inputs(name, 0)
    expected = autofusion.load(tmp_path / "plain.om").run(feeds)
    for output, array in autofusion.load(artifact).run(feeds).items():
        np.testing.assert_array_equal(array, expected[output])


@pytest.mark.parametrize("command", ["atc --model=block.onnx --output=net", "compile block.onnx -o net"])
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("rules.toml", 'head = ["conv0", "bn0", "relu0"]\n'),
        ("rules.json", '{"fusion_rules": {"head": ["conv0", "bn0", "relu0"]}}'),
    ],
)
def test_both_commands_take_both_forms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, file: str, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    save_block(Path("block.onnx"))
    Path(file).write_text(text, encoding="utf-8")
    assert "exit 0" in transcribe(*command.split(), f"--fusion_rules={file}")
    report = json.loads(Path("net.fusion.json").read_text("utf-8"))
    rows = {row["name"]: row for row in report["patterns"]}
    assert rows["head"] | {"estimated_speedup": 0} == {
        "name": "head",
        "fused_op": "HeadFusionOp",
        "level": 0,
        "matched": 1,
        "inside": 0,
        "estimated_speedup": 0,
        "measured_speedup": None,
        "sources": {"manual rule": 1},
    }
    assert (rows["Conv+BN+ReLU"]["matched"], rows["Conv+BN+ReLU"]["inside"]) == (2, 1)
    assert "[GE]   Matched: 2 times (1 inside head)" in Path("net.fusion.txt").read_text("utf-8")
    recorded = json.loads(transcribe_json())
    assert recorded["options"]["rules"] == [
        {"name": "head", "items": ["conv0", "bn0", "relu0"], "kind": "any", "outputs": [], "scope": [], "by": file}
    ]
    assert f" --fusion_rules={file}" in transcribe("atc", "--mode=6", "--om=net.om")
    assert "exit 0" in transcribe("verify", "block.onnx", "net.om")


def transcribe_json() -> str:
    import zipfile

    with zipfile.ZipFile("net.om") as archive:
        return archive.read("manifest.json").decode()


def test_rules_of_options_and_of_the_call_add_up(tmp_path: Path) -> None:
    save_block(tmp_path / "block.onnx")
    chosen = options({"head": ["conv0", "bn0"]})
    autofusion.compile(tmp_path / "block.onnx", tmp_path / "net.om", chosen, fusion_rules={"tail": ["bn1", "relu1"]})
    report = json.loads((tmp_path / "net.fusion.json").read_text("utf-8"))
    assert {row["name"] for row in report["patterns"] if row["level"] == 0} == {"head", "tail"}
    assert {row["reason"] for row in report["misses"]} >= {"RESERVED(tail)"}
