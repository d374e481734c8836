"""Renderings of a diagnostic."""

from __future__ import annotations

import json

from autofusion.diagnostics import Diagnostic, Severity, Span
from autofusion.diagnostics.json import render_json
from autofusion.diagnostics.text import render_text
from conftest import CheckGolden

FULL = Diagnostic(
    "AF301",
    "Conv+BN+ReLU nearly matched at Relu_14",
    help="list `conv` under `escape`\nif the kernel can also write it out",
    notes=("bound: conv -> Conv_12", "value 'conv1_out' is also read by Add_17"),
    span=Span("patterns/fuse/conv.toml", 9, 1),
    severity=Severity.WARNING,
)
BARE = Diagnostic("AF100", "there is no file 'x.onnx'")


def test_text(check_golden: CheckGolden) -> None:
    check_golden("diagnostics/full.txt", render_text(FULL))


def test_text_of_the_least() -> None:
    assert render_text(BARE) == "error[AF100]: there is no file 'x.onnx'\n"
    assert render_text(BARE, headline="E13001") == "E13001: there is no file 'x.onnx'\n"


def test_colors_change_nothing_but_colors() -> None:
    colored = render_text(FULL, color=True)
    assert colored.startswith("\x1b[1;33mwarning[AF301]\x1b[0m")
    plain = colored
    for code in ("1;33", "1;34", "1", "0"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert render_text(FULL) == plain


def test_json() -> None:
    line = render_json(FULL)
    assert line.endswith("}\n")
    assert "\n" not in line[:-1]
    data = json.loads(line)
    assert data.pop("place") == {"path": "patterns/fuse/conv.toml", "line": 9, "column": 1}
    assert ["warning", "AF301", FULL.message, list(FULL.notes), FULL.help] == list(data.values())
    assert json.loads(render_json(BARE))["place"] is None
