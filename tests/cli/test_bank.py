"""Tuning banks on the command line: what is read, what is refused, what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.models import save_block
from cli.test_commands import masked
from cli.transcript import transcribe
from conftest import CheckGolden

BANK = """{
  "version": 1,
  "operators": {
    "any": {
      "conv x=?x4x6x6 filter=8x4x3x3 y=?x8x6x6 dilations=1,1 group=1 pads=1,1,1,1 strides=1,1": {
        "algorithm": "winograd",
        "tile": 2,
        "filters": "stored"
      },
      "conv of another model": {"algorithm": "direct"}
    }
  },
  "graph": {"any": {"conv_pool of another model": {"algorithm": "apart"}}}
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model, a bank for it and a file that is none; the current folder."""
    monkeypatch.chdir(tmp_path)
    save_block(Path("block.onnx"))
    Path("junk.onnx").write_bytes(b"junk")
    Path("bank.json").write_text(BANK, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "words", "env"),
    [
        ("compile_bank", ["compile", "block.onnx", "-o", "tuned", "--bank", "bank.json"], {"GE_GRAPH_FUSION_LOG": "1"}),
        ("compile_bank_damaged", ["compile", "block.onnx", "-o", "tuned", "--bank", "junk.onnx"], {}),
        ("compile_bank_target", ["compile", "block.onnx", "-o", "t", "--bank", "bank.json", "--bank-target", "v9"], {}),
        ("compile_bank_exact", ["compile", "block.onnx", "-o", "t", "--bank", "bank.json", "--exact"], {}),
        ("atc_bank", ["atc", "--model=block.onnx", "--output=t", "--op_bank_path=bank.json", "--log=info"], {}),
        ("atc_bank_none", ["atc", "--model=block.onnx", "--output=t", "--mdl_bank_path=none"], {}),
    ],
)
def test_transcript(name: str, words: list[str], env: dict[str, str], check_golden: CheckGolden) -> None:
    check_golden(f"cli/{name}.txt", masked(transcribe(*words, env=env)))


def test_the_layers_of_an_artifact(check_golden: CheckGolden) -> None:
    transcribe("compile", "block.onnx", "-o", "block")
    check_golden("cli/report_layers.txt", masked(transcribe("report", "block.om", "--layers")))


def test_a_bank_keeps_what_it_has(folder: Path) -> None:
    """A bank that is written has the choices of the file that was there, and those of the layers that it lacked."""
    (folder / "mine.json").write_text(BANK, "utf-8")
    words = ("compile", "block.onnx", "-o", "tuned", "--write-bank", "mine.json")
    assert "exit 0" in transcribe(*words)
    before, after = json.loads(BANK)["operators"]["any"], json.loads((folder / "mine.json").read_text("utf-8"))
    layers = after["operators"]["any"]
    assert {name: layers[name] for name in before} == before
    (added,) = layers.keys() - before.keys()
    assert added.startswith("conv x=?x3x6x6 filter=4x3x3x3 ")
    assert layers[added] == {"algorithm": "direct"}
    text = (folder / "mine.json").read_text("utf-8")
    assert "exit 0" in transcribe(*words)
    assert (folder / "mine.json").read_text("utf-8") == text


def test_a_damaged_bank_is_not_written_over(folder: Path) -> None:
    (folder / "damaged.json").write_text("{", "utf-8")
    words = ("compile", "block.onnx", "-o", "not_written", "--write-bank", "damaged.json")
    assert "error[AF217]: the tuning bank 'damaged.json' cannot be used" in transcribe(*words)
    assert (folder / "damaged.json").read_text("utf-8") == "{"
    assert not (folder / "not_written.om").exists()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["--bank", "bank.json"], "atc --model=block.onnx --framework=5 --soc_version=cpu --op_bank_path=bank.json"),
        (["--bank", "bank.json", "--bank", "bank.json"], "soc_version=cpu --op_bank_path=bank.json"),
        (
            ["--bank", "bank.json", "--bank", "more.json"],
            "autofusion compile block.onnx --bank bank.json --bank more.json",
        ),
        (
            ["--bank", "more.json", "--dim", "batch=1", "--bank-target", "aarch64"],
            "autofusion compile block.onnx --dim batch=1 --bank more.json --bank_target=aarch64",
        ),
    ],
)
def test_an_artifact_shows_the_banks_it_was_made_with(given: list[str], shown: str) -> None:
    Path("more.json").write_text('{"version": 1, "graph": {"aarch64": {"a": {"algorithm": "apart"}}}}', "utf-8")
    assert "exit 0" in transcribe("compile", "block.onnx", "-o", "net", *given)
    assert f"{shown}\n" in transcribe("atc", "--mode=6", "--om=net.om")
