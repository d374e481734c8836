"""`autofusion explain`: whole outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError
from autofusion.services import explain_lowered
from cli.attending import save_attending
from cli.changed import Change, save_changed
from cli.models import save_dense
from cli.test_commands import masked
from cli.transcript import transcribe
from conftest import CheckGolden


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def explain(*words: str, source: str = "net.onnx") -> str:
    """The transcript, without what follows from the text of pattern files, their lines and statements, and costs."""
    text = masked(transcribe("explain", source, *words))
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


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("artifact", []),
        ("artifact_node", ["--node", "conv"]),
        ("artifact_node_unknown", ["--node", "conv1"]),
        ("artifact_pattern", ["--pattern", "conv_bn_act"]),
        ("artifact_pattern_none", ["--pattern", "Gelu"]),
        ("artifact_pattern_unknown", ["--pattern", "Conv+BN+Relu"]),
    ],
)
def test_what_an_artifact_tells(name: str, words: list[str], check_golden: CheckGolden) -> None:
    save_changed(Path("net.onnx"), "reader")
    transcribe("compile", "net.onnx", "-o", "net")
    check_golden(f"cli/explain_{name}.txt", explain(*words, source="net.om"))


@pytest.mark.parametrize("mode", ["must_keep_origin_dtype", "allow_fp32_to_fp16"])
def test_what_is_stored_in_two_bytes(mode: str, check_golden: CheckGolden) -> None:
    """A model and its artifact tell the same, and a node the part that is its own."""
    save_dense(Path("net.onnx"))
    Path("keep.cfg").write_text("fc1\n", "utf-8")
    options = ["--precision-mode", mode, "--keep-dtype", "keep.cfg"]
    text = explain("--precision", *options)
    transcribe("compile", "net.onnx", "-o", "net", *options)
    told = explain("--precision", source="net.om")
    assert told.partition("stdout\n")[2] == text.partition("stdout\n")[2].partition("---")[0]
    check_golden(f"cli/explain_precision_{mode}.txt", text + explain("--node", "fc*", source="net.om"))


def test_precision_is_of_the_whole_model(check_golden: CheckGolden) -> None:
    check_golden("cli/explain_precision_node.txt", explain("--precision", "--node", "conv"))


def test_a_model_that_cannot_be_lowered_is_explained_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise ModelError(Diagnostic("AF171", "the shape of input 'x' is not known"))

    monkeypatch.setattr(explain_lowered, "lower_model", refuse)
    save_changed(Path("net.onnx"))
    text = explain("--node", "relu")
    assert "  fused to Conv+BN+ReLU" in text
    assert "  is not lowered: the shape of input 'x' is not known\n" in text


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
    lowered = story["lowered"]
    assert [step["kernel"] for step in lowered["steps"]] == ["conv"]
    assert lowered["layers"][0]["chosen"]["algorithm"] in ("direct", "winograd")


def test_a_switched_off_compiler_begins_nothing(check_golden: CheckGolden) -> None:
    save_changed(Path("net.onnx"))
    check_golden("cli/explain_off.txt", explain("--auto-fusion", "off"))
