"""The file of nodes that stay out of every fusion, from its lines to the artifact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autofusion.cli.skip_file import SkippedNodes, read_skip_file
from autofusion.errors import UsageError
from cli.models import save_block
from cli.transcript import transcribe


def written(folder: Path, text: str) -> Path:
    path = folder / "x.ini"
    path.write_text(text, encoding="utf-8")
    return path


def test_reads_sections(tmp_path: Path) -> None:
    text = "# two kinds\n[ByNodeName]\nconv_1\nlayer1/*  # all of it\n\n[ByNodeType]\nConv\n"
    skipped = SkippedNodes({"conv_1": "x.ini", "layer1/*": "x.ini"}, {"Conv": "x.ini"})
    assert read_skip_file(written(tmp_path, text)) == skipped
    assert read_skip_file(None) == SkippedNodes({}, {})


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "AF218", "the file of nodes to skip 'x.ini' is empty"),
        ("conv_1", "AF217", "the file of nodes to skip 'x.ini' cannot be used: 'conv_1' stands in no section"),
        ("[ByName]\n", "AF217", "the file of nodes to skip 'x.ini' cannot be used: there is no section 'ByName'"),
    ],
)
def test_refuses(tmp_path: Path, text: str, code: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_skip_file(written(tmp_path, text))
    assert (caught.value.diagnostic.code, caught.value.diagnostic.message) == (code, message)


@pytest.mark.parametrize("command", ["atc --model=block.onnx --output=net", "compile block.onnx -o net"])
@pytest.mark.parametrize(
    ("option", "names", "shown"),
    [
        (
            "--skip_node_names_cfg=x.ini",
            ["Conv+BN", "Conv+BN+ReLU"],
            '--no_fusion_ops="MaxPool" --skip_node_names_cfg=x.ini',
        ),
        ("--fusion_scope=*0,relu1", ["Conv+BN+ReLU"], '--fusion_scope="*0,relu1"'),
    ],
)
def test_both_commands_keep_nodes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str, names: list[str], shown: str
) -> None:
    monkeypatch.chdir(tmp_path)
    save_block(Path("block.onnx"))
    written(tmp_path, "[ByNodeType]\nMaxPool\n[ByNodeName]\nrelu1*\n")
    assert "exit 0" in transcribe(*command.split(), option)
    report = json.loads(Path("net.fusion.json").read_text("utf-8"))
    assert sorted(row["name"] for row in report["patterns"] if row["matched"]) == names
    assert shown_command().endswith(f" {shown}")


def shown_command() -> str:
    text = transcribe("atc", "--mode=6", "--om=net.om")
    return next(line for line in text.splitlines() if line.startswith("Original Atc command line"))
