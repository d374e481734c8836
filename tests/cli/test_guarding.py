"""Verification by the commands: what they show, write and end with where a fusion is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.transcript import transcribe
from conftest import CheckGolden
from services.faults import WRONG_SWISH, WRONG_TANH, save_gates, write_patterns

MINE = ("--pattern_dir", "mine")
ALONE = "--fusion_whitelist=Conv+Swish"
COMPILE = ("compile", "net.onnx", "-o", "net", *MINE, ALONE)


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_gates(Path("net.onnx"))
    write_patterns(Path("mine"), WRONG_TANH)


def masked(text: str) -> str:
    """`text` without the numbers that depend on the machine, and as wide columns as they may be."""
    text = re.sub(r"\d\.\d\de[-+]\d\d", "N.NNe-NN", text)
    text = re.sub(r"channel \d", "channel N", text)
    text = re.sub(r"\d+\.\d+x", "N.NNx", text)
    text = re.sub(r", not fused \d+", "", text)
    return re.sub(r"against \S+ [\d.]+( without optimisation)?", "against ORACLE", text)


def test_a_failing_verify_names_the_fusion(check_golden: CheckGolden) -> None:
    transcribe(*COMPILE)
    words = ("verify", "net.onnx", "net.om", *MINE, "--seeds", "0")
    check_golden("cli/verify_fails.txt", masked(transcribe(*words)))
    text = transcribe(*words, "--no-bisect")
    assert "exit 1" in text
    assert "at fault" not in text


def test_the_artifact_of_a_fusion_at_fault_is_not_written(check_golden: CheckGolden) -> None:
    check_golden("cli/compile_verify_fails.txt", masked(transcribe(*COMPILE, "--verify")))
    assert sorted(path.name for path in Path().iterdir()) == ["mine", "net.onnx"]


def test_a_fusion_at_fault_is_left_out(check_golden: CheckGolden) -> None:
    write_patterns(Path("more"), WRONG_SWISH)
    words = (*COMPILE, "--pattern_dir", "more", "--auto_disable", "--why")
    check_golden("cli/compile_auto_disable.txt", masked(transcribe(*words)))
    report = json.loads(Path("net.fusion.json").read_text("utf-8"))
    assert [miss["reason"] for miss in report["misses"]].count("DISABLED(auto_disable)") == 2


def test_what_is_right_is_verified_and_written(check_golden: CheckGolden) -> None:
    words = ("compile", "net.onnx", "-o", "net", ALONE, "--verify", "--auto-disable")
    check_golden("cli/compile_verify.txt", masked(transcribe(*words)))
    assert Path("net.om").exists()


def test_as_json() -> None:
    text = transcribe(*COMPILE, "--auto-disable", "--format", "json")
    data = json.loads(text.partition("stdout\n")[2])
    assert [fault["name"] for fault in data["disabled"]] == ["wrong_tanh"]
    assert (data["artifact"], data["verification"]["ok"]) == ("net.om", True)
    Path("net.om").unlink()
    text = transcribe(*COMPILE, "--verify", "--format", "json")
    data, error = text.partition("stdout\n")[2].split("--- stderr\n")
    assert json.loads(data)["verification"]["culprit"]["option"] == "--fusion_blacklist=wrong_tanh"
    assert json.loads(error)["code"] == "AF603"
    assert not Path("net.om").exists()


def test_atc_verifies_too(check_golden: CheckGolden) -> None:
    words = ("atc", "--model=net.onnx", "--output=net", "--pattern_dir=mine", ALONE)
    check_golden("cli/atc_verify_fails.txt", masked(transcribe(*words, "--verify=on")))
    assert not Path("net.om").exists()
    check_golden("cli/atc_auto_disable.txt", masked(transcribe(*words, "--auto_disable=on")))
    assert Path("net.om").exists()
