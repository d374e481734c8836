"""Fused convolutions round channel shuffles: `verify` compares each, though the plan has their channels otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import autofusion
from autofusion.compiler import compile_model
from autofusion.lowering import Dealt
from autofusion.services.dealt import restore_dealt
from autofusion.services.verify import verify_artifact, verify_compilation
from frontend.models import model, node, random, save, tensor

HALF = 10


def save_shuffled(folder: Path) -> Path:
    """Two convolutions, joined and shuffled; one half of the channels goes through a depthwise one."""
    nodes = [
        node("Conv", "x first", "a", "left"),
        node("Relu", "a", "b", "left_act"),
        node("Conv", "x second", "c", "right"),
        node("Relu", "c", "d", "right_act"),
        node("Concat", "b d", "e", "join", axis=1),
        node("Reshape", "e apart", "f", "cut"),
        node("Transpose", "f", "g", "turn", perm=[0, 2, 1, 3, 4]),
        node("Reshape", "g image", "h", "glue"),
        node("Split", "h halves", "i j", "part", axis=1),
        node("Conv", "i taps", "k", "depth", group=HALF, pads=[1, 1, 1, 1]),
        node("Relu", "k", "l", "depth_act"),
        node("Conv", "l third", "y", "last"),
        node("Conv", "j fourth", "z", "other"),
    ]
    weights = {
        "first": random(1, HALF, 3, 1, 1),
        "second": random(2, HALF, 3, 1, 1),
        "taps": random(3, HALF, 1, 3, 3),
        "third": random(4, 6, HALF, 1, 1),
        "fourth": random(5, 6, HALF, 1, 1),
        "apart": np.array([1, 2, HALF, 5, 4]),
        "image": np.array([1, 2 * HALF, 5, 4]),
        "halves": np.array([HALF, HALF]),
    }
    outputs = [tensor("y", [1, 6, 5, 4]), tensor("z", [1, 6, 5, 4])]
    return save(model(nodes, [tensor("x", [1, 3, 5, 4])], outputs, weights), folder)


def test_values_come_back_in_the_order_of_the_model(tmp_path: Path) -> None:
    path = save_shuffled(tmp_path)
    compilation = compile_model(path)
    assert {part.value for part in compilation.lowered.dealt} >= {"b", "d", "l"}
    report = verify_compilation(path, compilation, seeds=(0,))
    assert report.ok
    assert {row.result.name for row in report.nodes} >= {"b", "d", "l"}


@pytest.mark.parametrize(("value", "wrong"), [("b", "left"), ("d", "right"), ("l", "depth")])
def test_the_one_that_is_broken_is_found(tmp_path: Path, value: str, wrong: str) -> None:
    path = save_shuffled(tmp_path)
    compilation = compile_model(path)
    lowered = compilation.lowered
    step = next(step for step in lowered.plan.steps if step.kernel == "conv" and step.node.startswith(wrong))
    place = lowered.plan.buffers[step.inputs[1]].tensor
    weights = [array * np.float32(1.01) if index == place else array for index, array in enumerate(lowered.weights)]
    broken = replace(compilation, lowered=replace(lowered, weights=tuple(weights)))
    report = verify_compilation(path, broken, seeds=(0,), bisect=False)
    assert not report.ok
    assert [row.result.name for row in report.nodes if not row.ok] == [value]


def test_an_artifact_is_compared_as_well(tmp_path: Path) -> None:
    path = save_shuffled(tmp_path)
    autofusion.compile(path, tmp_path / "net.om")
    report = verify_artifact(path, tmp_path / "net.om", seeds=(0,))
    assert {row.result.name for row in report.nodes} >= {"b", "d", "l"}
    assert report.ok


def test_a_value_is_back_only_with_all_of_its_channels() -> None:
    traced = {"p": random(1, 1, 2, 3, 3), "q": random(2, 1, 1, 3, 3)}
    parts = (Dealt("v", 3, "p", (2, 0)), Dealt("v", 3, "q", (1,)), Dealt("w", 3, "p", (0, 1)), Dealt("u", 1, "r", (0,)))
    found = restore_dealt(traced, parts)
    assert found.keys() == {"v"}
    expected = np.stack([traced["p"][:, 1], traced["q"][:, 0], traced["p"][:, 0]], axis=1)
    np.testing.assert_array_equal(found["v"], expected)
