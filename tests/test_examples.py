"""The examples: the commands of each README run, in order, in a copy of its folder, and show what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import autofusion

EXAMPLES = Path(__file__).parents[1] / "examples"


def run_example(name: str, folder: Path) -> str:
    """Run the commands of an example's README in `folder`, which becomes a copy of it; returns what they print."""
    shutil.copytree(EXAMPLES / name, folder, dirs_exist_ok=True)
    text = (folder / "README.md").read_text("utf-8")
    (commands,) = re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    shell = ["bash", "-euo", "pipefail", "-c", commands]
    done = subprocess.run(shell, check=False, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def count_fusions(report: Path) -> dict[str, int]:
    data = json.loads(report.read_text("utf-8"))
    return {row["name"]: row["matched"] for row in data["patterns"]}


def test_a_pattern_of_ones_own(tmp_path: Path) -> None:
    text = run_example("custom_pattern", tmp_path)
    assert "before.om: fused 4 times by 3 patterns, operators 11 -> 4" in text
    assert "operators 11 -> 2" in text
    assert "matmul_star_relu: applied 2 times, not applied 0 times" in text
    assert count_fusions(tmp_path / "before.fusion.json") == {
        "MatMul+BiasAdd+Relu": 1,
        "MatMul+Relu": 1,
        "Pointwise": 2,
    }
    assert count_fusions(tmp_path / "after.fusion.json") == {"MatMul+BiasAdd+StarReLU": 1, "MatMul+StarReLU": 1}


def test_operators_of_ones_own(tmp_path: Path) -> None:
    text = run_example("custom_operators", tmp_path)
    assert "com.example::Snake <epsilon: float = 1e-09>(x, frequency) by expression" in text
    assert "com.example::PixelNorm <epsilon: float = 1e-08>(x) by function" in text
    assert count_fusions(tmp_path / "snake_net.fusion.json") == {"Conv+Snake": 2}
    shutil.rmtree(tmp_path / "patterns")
    weights = {
        item.name: onnx.numpy_helper.to_array(item) for item in onnx.load(tmp_path / "snake_net.onnx").graph.initializer
    }
    x = np.random.default_rng(1).standard_normal((2, 1, 40)).astype(np.float32)
    found = autofusion.load(tmp_path / "snake_net.om").run({"x": x})["y"]
    first = pixel_norm(snake(convolve(x, weights["w1"]), weights["f1"], 1e-9), 1e-8)
    expected = pixel_norm(snake(convolve(first, weights["w2"]), weights["f2"], 1e-6), 1e-5)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The convolution of stride 1 that keeps the number of samples."""
    taps = w.shape[2]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (taps // 2, taps // 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, taps, axis=2)
    return np.einsum("bcst,oct->bos", windows, w)


def snake(x: np.ndarray, frequency: np.ndarray, epsilon: float) -> np.ndarray:
    return x + np.sin(frequency * x) ** 2 / (frequency + epsilon)


def pixel_norm(x: np.ndarray, epsilon: float) -> np.ndarray:
    return x / np.sqrt((x * x).mean(1, keepdims=True) + epsilon)


@pytest.mark.parametrize("example", sorted(path.parent.name for path in EXAMPLES.glob("*/README.md")))
def test_examples_are_named_in_the_documentation(example: str) -> None:
    pages = [*EXAMPLES.parent.glob("*.md"), *EXAMPLES.parent.glob("docs/*.md")]
    assert any(f"examples/{example}" in page.read_text("utf-8") for page in pages)
