"""A small artifact with every kind of entry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from autofusion.artifact import ArtifactContents, write_artifact
from autofusion.plan import Buffer, Plan, Step, Tensor


def make_plan() -> Plan:
    """y = relu(x + k), and z = k, over a symbolic extent; `k` is a constant of three numbers."""
    buffers = [
        Buffer("x", "float", ("batch", 3), "input"),
        Buffer("k", "float", (3,), "constant", tensor=0),
        Buffer("s", "string", (2,), "constant", tensor=1),
        Buffer("sum", "float", ("batch", 3)),
        Buffer("flat", "float", ("batch*3",), alias="sum"),
        Buffer("y", "float", ("batch*3",), "output"),
    ]
    clip = {"op": "Clip", "alpha": 0.0, "beta": float("inf")}
    steps = (
        Step("binary", "add", "Add", ("x", "k"), ("sum",), {"op": "Add", "activation": ""}, ("Add_0",)),
        Step("unary", "clip", "Clip", ("flat",), ("y",), clip, ("Clip_1", "Reshape_2")),
    )
    tensors = (Tensor("k", "float", (3,), 0, 12), Tensor("s", "string", (2,), 64, 15))
    return Plan("reference", ("x",), ("y", "k", "s"), ("batch",), {b.name: b for b in buffers}, tensors, steps)


def make_contents(plan: Plan | None = None) -> ArtifactContents:
    strings = np.array(["a", "\u00e9"], object)
    return ArtifactContents(
        plan=plan or make_plan(),
        weights=(np.array([1, -2, 3], np.float32), strings),
        graph=b"\x08\x0a graph bytes",
        report='{"steps": 2, "name": "\u5f20"}',
        options={"level": 2, "blacklist": ["Relu"], "scope": None},
        source_name="net.onnx",
        source_sha256="ab" * 32,
    )


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    return write_artifact(tmp_path / "net.om", make_contents())


@pytest.fixture
def contents() -> Callable[..., ArtifactContents]:
    return make_contents
