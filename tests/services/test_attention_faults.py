"""Attention lowered wrongly on purpose: `verify` notices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autofusion
from autofusion.lowering import attention
from autofusion.services.verify import verify_artifact
from cli.attending import save_attending

Settings = dict[str, Any]


def scale_twice(settings: Settings) -> Settings:
    return {**settings, "scale": settings["scale"] ** 2}


def forget_scale(settings: Settings) -> Settings:
    return {**settings, "scale": 1.0}


def mix_heads(settings: Settings) -> Settings:
    """Heads and rows exchanged, which the extents do not show."""
    offset, batch, heads, rows, size = settings["v_view"]
    return {**settings, "v_view": [offset, batch, rows, heads, size]}


def mix_result(settings: Settings) -> Settings:
    offset, batch, heads, rows, size = settings["y_view"]
    return {**settings, "y_view": [offset, batch, rows, heads, size]}


def turn_keys(settings: Settings) -> Settings:
    offset, batch, heads, rows, size = settings["k_view"]
    return {**settings, "k_view": [offset, batch, rows, heads, size]}


@pytest.mark.parametrize("breaks", [scale_twice, forget_scale, mix_heads, mix_result, turn_keys])
def test_verify_notices(
    breaks: Callable[[Settings], Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_attending(tmp_path / "net.onnx")
    right = attention.read_settings
    monkeypatch.setattr(attention, "read_settings", lambda reading: breaks(right(reading)))
    autofusion.compile(model, tmp_path / "net.om")
    report = verify_artifact(model, tmp_path / "net.om", seeds=(0,), bisect=False)
    assert not report.ok
    assert [row.op for row in report.nodes if not row.ok] == ["MultiHeadAttentionFusionOp"]


def test_what_is_right_passes(tmp_path: Path) -> None:
    model = save_attending(tmp_path / "net.onnx")
    autofusion.compile(model, tmp_path / "net.om")
    assert verify_artifact(model, tmp_path / "net.om", seeds=(0,)).ok
