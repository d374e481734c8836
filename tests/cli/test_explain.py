"""`autofusion explain`: whole outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.attending import save_attending
from cli.changed import Change, save_changed
from cli.transcript import transcribe
from conftest import CheckGolden


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def explain(*words: str) -> str:
    """The transcript, without what follows from the text of pattern files: their lines, and the statements on them."""
    text = transcribe("explain", "net.onnx", *words)
    text = re.sub(r"(\.toml):\d+", r"\1:N", text)
    return re.sub(r"(= note: \w+\??) += .*", r"\1 = ...", text)


@pytest.mark.parametrize("change", ["", "reader", "bias", "weight", "training"])
def test_names_the_one_thing_that_was_changed(change: Change, check_golden: CheckGolden) -> None:
    save_changed(Path("net.onnx"), change)
    check_golden(f"cli/explain_{change or 'nothing'}.txt", explain())


def test_names_the_axis_of_a_softmax(check_golden: CheckGolden) -> None:
    save_attending(Path("net.onnx"), axis=2)
    check_golden("cli/explain_softmax_axis.txt", explain())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("node", ["--node", "bn"]),
        ("node_fused", ["--node", "relu"]),
        ("node_all", ["--node", "shift", "--all"]),
        ("node_alone", ["--node", "flat"]),
        ("node_glob", ["--node", "[cb]*n*"]),
        ("node_unknown", ["--node", "conv1"]),
        ("node_and_pattern", ["--node", "shift", "--pattern", "matmul_bias_act"]),
        ("pattern", ["--pattern", "conv_bn_act"]),
        ("pattern_display", ["--pattern", "MatMul+BiasAdd+Sigmoid"]),
        ("pattern_unknown", ["--pattern", "Conv+BN+Relu"]),
        ("disabled", ["--disable", "MatMul+BiasAdd+Sigmoid"]),
    ],
)
def test_what_was_asked_for(name: str, words: list[str], check_golden: CheckGolden) -> None:
    save_changed(Path("net.onnx"), "" if name in ("node_fused", "disabled") else "reader")
    check_golden(f"cli/explain_{name}.txt", explain(*words))


def test_as_json() -> None:
    save_changed(Path("net.onnx"), "weight")
    data = json.loads(transcribe("explain", "net.onnx", "--format", "json").partition("stdout\n")[2])
    assert (data["model"], data["nodes"], data["pattern"], data["beginnings"]) == ("net.onnx", [], None, [])
    (miss,) = data["misses"]
    assert (miss["reason"], miss["at_node"], miss["at_value"]) == ("NOT_CONSTANT(w)", "dense", "matrix")
    told = json.loads(transcribe("explain", "net.onnx", "--node", "bn", "--format", "json").partition("stdout\n")[2])
    (story,) = told["nodes"]
    assert [(rewrite["pattern"], rewrite["op"]) for rewrite in story["rewrites"]] == [
        ("conv_bn_act", "ConvBNReluFusionOp")
    ]


def test_a_switched_off_compiler_begins_nothing(check_golden: CheckGolden) -> None:
    save_changed(Path("net.onnx"))
    check_golden("cli/explain_off.txt", explain("--auto-fusion", "off"))
