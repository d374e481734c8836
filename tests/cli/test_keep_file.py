"""The file of nodes that keep their types, from its lines to the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autofusion.cli.keep_file import read_precision
from autofusion.errors import UsageError
from autofusion.precision import Precision
from cli.models import save_dense
from cli.transcript import transcribe
from conftest import CheckGolden


def written(folder: Path, text: str) -> Path:
    path = folder / "keep.cfg"
    path.write_text(text, encoding="utf-8")
    return path


def test_reads_names_and_types(tmp_path: Path) -> None:
    text = "# what must stay\nfc_1\nlayer1/*\n\nOpType::Conv\nOpType:: Gemm\n"
    expected = Precision(
        "allow_fp32_to_fp16",
        {"fc_1": "keep.cfg", "layer1/*": "keep.cfg"},
        {"Conv": "keep.cfg", "Gemm": "keep.cfg"},
    )
    assert read_precision("allow_fp32_to_fp16", written(tmp_path, text)) == expected
    assert read_precision("force_fp32", None) == Precision("force_fp32")


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "AF218", "the file of nodes that keep their type 'keep.cfg' is empty"),
        (
            "a\nOpType::\n",
            "AF217",
            "the file of nodes that keep their type 'keep.cfg' cannot be used: no operator type follows OpType::",
        ),
    ],
)
def test_refuses(tmp_path: Path, text: str, code: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_precision("allow_fp32_to_fp16", written(tmp_path, text))
    assert (caught.value.diagnostic.code, caught.value.diagnostic.message) == (code, message)


COMMANDS = ["atc --model=net.onnx --output=net", "compile net.onnx -o net"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("line", "kept"), [("fc1", ["w1"]), ("OpType::Gather", ["table"]), ("fc*", ["w0", "w1"])])
def test_both_commands_keep_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, line: str, kept: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_dense(Path("net.onnx"))
    written(tmp_path, line)
    words = [*command.split(), "--precision_mode=allow_fp32_to_bf16", "--keep_dtype=keep.cfg"]
    assert "exit 0" in transcribe(*words)
    report = json.loads(Path("net.fusion.json").read_text("utf-8"))
    assert report["precision"] == "allow_fp32_to_bf16"
    left = {row["tensor"] for row in report["weights"] if row["reason"].startswith("keep.cfg keeps the type of ")}
    assert left == set(kept)
    assert {row["dtype"] for row in report["weights"] if row["tensor"] not in kept} == {"bfloat16"}
    shown = transcribe("atc", "--mode=6", "--om=net.om")
    assert "soc_version=cpu --precision_mode=allow_fp32_to_bf16 --keep_dtype=keep.cfg\n" in shown


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("precision_verify", "compile net.onnx -o net --precision_mode allow_fp32_to_fp16 --verify"),
        ("precision_keep_unknown", "compile net.onnx -o net --precision_mode allow_fp32_to_fp16 --keep_dtype bad.cfg"),
        ("precision_keep_type", "compile net.onnx -o net --precision_mode allow_fp32_to_fp16 --keep_dtype type.cfg"),
        ("precision_keep_idle", "atc --model=net.onnx --output=net --keep_dtype=keep.cfg"),
        ("precision_mode_v2", "atc --model=net.onnx --output=net --precision_mode_v2=mixed_float16"),
        ("precision_mode_cann", "atc --model=net.onnx --output=net --precision_mode=allow_mix_precision"),
    ],
)
def test_reads_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check_golden: CheckGolden, name: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    save_dense(Path("net.onnx"))
    for file, text in (("keep.cfg", "fc1\n"), ("bad.cfg", "fc7\n"), ("type.cfg", "OpType::Conv\n")):
        Path(file).write_text(text, encoding="utf-8")
    check_golden(f"cli/{name}.txt", transcribe(*words.split()))
