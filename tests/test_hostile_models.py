"""Broken copies of small models: each is converted, and then right, or refused cleanly, and then leaves nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hostile.models import MODELS
from hostile.road import travel

CAMPAIGN = Path(__file__).parent / "hostile" / "campaign.py"


@pytest.mark.parametrize("name", MODELS)
def test_the_models_are_sound(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(MODELS[name]().SerializeToString())
    assert travel(path, tmp_path).kind == "agrees"


@pytest.mark.parametrize("name", MODELS)
def test_broken_models_are_converted_or_refused_cleanly(name: str) -> None:
    command = [sys.executable, str(CAMPAIGN), "--models", name, "--cuts", "20", "--changes", "100"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = done.stdout
    assert "'agrees'" in counts
    assert "'refused'" in counts
