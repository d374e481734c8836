"""Normalization after a transposed convolution: a weight with its channels on axis 1, per group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autofusion.ir import Graph
from autofusion.lowering import lower, transposed
from lowering.graphs import build, check_plan, fuse, kernels_of, make_feeds, node, randoms, run_graph, run_plan


def normalized(group: int, bias: bool, readers: str = "") -> Graph:
    # As many inputs as outputs: an exchanged axis keeps the shape.
    constants = {"w": randoms(1, 4, 4 // group, 2, 2), "b": randoms(2, 4), "variance": np.abs(randoms(3, 4)) + 0.1}
    constants |= {name: randoms(seed, 4) for seed, name in enumerate(("gamma", "beta", "mean"), 4)}
    nodes = [
        node("ConvTranspose", "x w b" if bias else "x w", "c", group=group, strides=(2, 2)),
        node("BatchNormalization", "c gamma beta mean variance", "n", epsilon=0.1),
        node("Relu", "n", "y"),
    ]
    return build({"x": [2, 4, 3, 3]}, nodes, f"y {readers}".strip(), constants)


@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("bias", [True, False])
def test_fold(group: int, bias: bool) -> None:
    lowered = check_plan(normalized(group, bias), "c n y", ["conv_transpose"])
    assert lowered.plan.steps[0].origin == ("/c", "/n", "/y")


def test_a_result_that_is_read_elsewhere_is_not_folded() -> None:
    graph = normalized(1, True, "c")
    fuse(graph, "c n y", outputs="y c")
    assert kernels_of(lower(graph, backend="reference")) == ["conv_transpose", "affine"]


def test_a_fold_out_of_range_is_not_done() -> None:
    graph = normalized(1, True)
    graph.constants["gamma"] = np.full(4, 1e38, np.float32)
    graph.constants["variance"] = np.full(4, 1e-8, np.float32)
    fuse(graph, "c n y")
    assert kernels_of(lower(graph, backend="reference"))[0] == "conv_transpose"
    assert len(kernels_of(lower(graph, backend="reference"))) > 1


def along_the_inputs(weight: np.ndarray, _group: int, factor: np.ndarray) -> np.ndarray:
    return weight * factor.reshape(-1, 1, 1, 1)


def of_the_first_group(weight: np.ndarray, _group: int, factor: np.ndarray) -> np.ndarray:
    return weight * factor[: weight.shape[1]].reshape(1, -1, 1, 1)


def left_out(weight: np.ndarray, _group: int, _factor: np.ndarray) -> np.ndarray:
    return weight


@pytest.mark.parametrize("broken", [along_the_inputs, of_the_first_group, left_out])
def test_a_wrong_fold_shows(broken: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    graph = normalized(2, True)
    (expected,) = run_graph(graph, make_feeds(graph))
    monkeypatch.setattr(transposed, "fold_transposed_scale", broken)
    fuse(graph, "c n y")
    (actual,) = run_plan(lower(graph, backend="reference"), make_feeds(graph))
    assert np.abs(actual - expected).max() > 1e-2 * np.abs(expected).max()
