"""Real exported models from ONNX file to verified native artifact.

`--zoo FOLDER` adds all skeletons of another folder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import autofusion
from autofusion.artifact import read_artifact
from autofusion.runtime.binding import Binding, bind
from autofusion.services.verify import verify_artifact
from zoo.builder import SKELETONS, build_model, list_names, make_inputs

# Of the largest output value: how far native results may lie from ONNX Runtime's, both float32.
TOLERANCE = 1e-4

# Fusions that a model must show, by display name, and the number of operators before.
EXPECTED: dict[str, tuple[dict[str, int], int]] = {
    "resnet50_ts17_bn": ({"Conv+BN+ReLU": 33, "Conv+BN+Add+ReLU": 16, "Conv+BN": 4}, 175),
    "testmodel_ts17_bn": ({"Conv+BN+ReLU": 3}, 12),
    "bert_base_ts17": (
        {"Embedding+LayerNorm": 1, "QKV+MatMul+BiasAdd": 12, "MultiHeadAttention": 12, "Add+LayerNorm": 24},
        838,
    ),
}

# Attentions, and products behind a norm, each of which is one step.
NOT_STORED = {"bert_base_ts17": (12, 0), "llama_tiny_ts17": (3, 7)}

# Extents of symbolic dimensions that are run beside the defaults: nothing to share, primes, whole tiles.
OTHER_SIZES: dict[str, list[dict[str, int]]] = {
    "llama_tiny_ts17": [{"batch": 1, "seq": 1}, {"batch": 2, "seq": 128}, {"batch": 3, "seq": 17}],
    "resnet18_dyn20": [{"batch": 1}, {"batch": 3}],
    "bert_base_ts17": [{"batch": 1, "seq": 1}, {"batch": 2, "seq": 128}, {"batch": 3, "seq": 17}],
}


@dataclass(frozen=True)
class Compiled:
    """One model of the zoo, on disk and compiled."""

    name: str
    folder: Path
    model: Path
    artifact: Path
    report: dict[str, Any]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "compiled" not in metafunc.fixturenames:
        return
    folders = dict.fromkeys([SKELETONS, *([Path(more)] if (more := metafunc.config.getoption("--zoo")) else [])])
    models = {name: folder for folder in folders for name in list_names(folder)}
    metafunc.parametrize("compiled", models.items(), ids=models.keys(), indirect=True, scope="module")


@pytest.fixture(scope="module")
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiled]:
    name, folder = request.param
    scratch = tmp_path_factory.mktemp(name)
    model = scratch / f"{name}.onnx"
    onnx.save(build_model(name, folder), model)
    artifact = scratch / f"{name}.om"
    autofusion.compile(model, artifact)
    yield Compiled(name, folder, model, artifact, json.loads((scratch / f"{name}.fusion.json").read_text("utf-8")))
    # Weights are large: what has been tested need not stay until the run ends.
    for path in scratch.iterdir():
        path.unlink()


def test_report_counts_fusions(compiled: Compiled) -> None:
    report = compiled.report
    patterns, before = EXPECTED.get(compiled.name, ({}, report["operators_before"]))
    matched = {row["name"]: row["matched"] for row in report["patterns"]}
    assert patterns == {name: matched.get(name) for name in patterns}
    assert report["operators_before"] == before
    assert report["operators_after"] < report["operators_before"]


def test_no_step_runs_on_the_host(compiled: Compiled) -> None:
    assert compiled.report["host"] == []


def test_verifies(compiled: Compiled) -> None:
    report = verify_artifact(compiled.model, compiled.artifact)
    assert report.ok, report


def test_agrees_with_onnxruntime(compiled: Compiled) -> None:
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    oracle = onnxruntime.InferenceSession(str(compiled.model), settings, providers=["CPUExecutionProvider"])
    session = autofusion.load(compiled.artifact)
    for seed, dims in enumerate([{}, *OTHER_SIZES.get(compiled.name, [])]):
        feeds = make_inputs(compiled.name, seed, dims, compiled.folder)
        results = session.run(feeds)
        for output, expected in zip(oracle.get_outputs(), oracle.run(None, feeds), strict=True):
            limit = TOLERANCE * float(np.abs(expected).max())
            np.testing.assert_allclose(results[output.name], expected, rtol=0, atol=limit)


def test_scores_and_normalized_rows_have_no_place(compiled: Compiled) -> None:
    """Neither the scores of an attention nor what a norm hands to the product behind it goes through memory."""
    plan = read_artifact(compiled.artifact).plan
    outer = {row["node"]: row["pattern"] for row in compiled.report["fused"] if not row["inside"]}
    steps = {name: [step for step in plan.steps if step.node == name] for name in outer}
    attentions = [name for name, display in outer.items() if display == "MultiHeadAttention"]
    normed = [name for name, display in outer.items() if "Norm+" in display and "MatMul" in display]
    assert (len(attentions), len(normed)) == NOT_STORED.get(compiled.name, (0, 0))
    assert all([step.kernel for step in steps[name]] == ["attention"] for name in attentions)
    for name in normed:
        assert [(step.kernel, bool(step.attributes["norm"])) for step in steps[name]] == [("matmul", True)]
    length = 31
    shapes = bind(plan, dict.fromkeys(plan.symbols, length), 1).shapes
    scores = (
        name
        for name, buffer in plan.buffers.items()
        if attentions and buffer.role == "inner" and shapes[name][-2:] == (length, length)
    )
    assert not [name for name in scores if math.prod(shapes[name]) > length**3]


def test_a_binding_that_builds_on_an_earlier_one_is_the_same(compiled: Compiled) -> None:
    plan = read_artifact(compiled.artifact).plan
    earlier: Binding | None = None
    for batch, length in ((1, 7), (1, 8), (3, 8), (3, 8), (1, 130)):
        dims = dict(zip(plan.symbols, (batch, length), strict=False))
        fresh, earlier = bind(plan, dims, 2), bind(plan, dims, 2, earlier)
        assert fresh.records.tobytes() == earlier.records.tobytes()
        assert (fresh.places, fresh.memory, fresh.segments) == (earlier.places, earlier.memory, earlier.segments)
