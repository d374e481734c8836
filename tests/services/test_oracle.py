"""Expected values of models whose outputs were chosen, by each implementation, with data in files of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from autofusion.services.oracle import open_oracles
from frontend.models import model, node, random, tensor

WEIGHT = random(0, 3, 400)
FEEDS = {"x": random(1, 2, 3)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    nodes = [node("MatMul", "x w", "p", "product"), node("Relu", "p", "y", "act")]
    proto = model(nodes, [tensor("x", [2, 3])], [tensor("y", [2, 400])], {"w": WEIGHT})
    onnx.save(proto, str(tmp_path / "net.onnx"), save_as_external_data=True, location="net.bin", size_threshold=100)
    return tmp_path / "net.onnx"


@pytest.mark.parametrize("name", ["onnxruntime", "onnx.reference"])
def test_chosen_outputs(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "onnx.reference":
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
    whole, cut = next(open_oracles(path)), next(open_oracles(path, ["product:0", "y"]))
    assert whole.name.startswith(f"{name} ")
    assert cut.name == whole.name
    assert list(whole.run(FEEDS)) == ["y"]
    found = cut.run(FEEDS)
    assert list(found) == ["p", "y"]
    np.testing.assert_allclose(found["p"], FEEDS["x"] @ WEIGHT, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found["y"], whole.run(FEEDS)["y"])


def test_the_reference_comes_second(path: Path) -> None:
    assert [oracle.name.split()[0] for oracle in open_oracles(path)] == ["onnxruntime", "onnx.reference"]
