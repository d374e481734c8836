"""Weights in two bytes: which are stored so, which are not and why, and what a reference plan does with them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from autofusion.artifact import join_weights
from autofusion.ir import DType, Graph
from autofusion.lowering import Lowered, lower
from autofusion.runtime import open_session
from lowering.graphs import build, node, randoms


def dense(weight: np.ndarray, **more: np.ndarray) -> Graph:
    """y = x @ w + b."""
    nodes = [node("MatMul", "x w", "p"), node("Add", "p b", "y")]
    bias = np.ones(weight.shape[1], np.float32)
    return build({"x": ["n", weight.shape[0]]}, nodes, "y", {"w": weight, "b": bias, **more})


def narrow(graph: Graph, storage: DType = DType.FLOAT16, kept: Mapping[str, str] | None = None) -> Lowered:
    return lower(graph, backend="native", storage=storage, kept=kept or {})


@pytest.mark.parametrize("storage", [DType.FLOAT16, DType.BFLOAT16])
def test_a_matrix_is_rounded_once(storage: DType) -> None:
    weight = randoms(1, 9, 20)
    wide, lowered = lower(dense(weight), backend="native"), narrow(dense(weight), storage)
    assert [tensor.dtype for tensor in lowered.plan.tensors] == [storage.value, "float"]
    np.testing.assert_array_equal(lowered.weights[0], wide.weights[0].astype(storage.numpy))
    (stored,) = lowered.stored
    assert (stored.nodes, stored.dtype, stored.reason) == (("/p",), storage.value, "")
    assert stored.bytes_before == 2 * stored.bytes_after == 4 * 9 * 32
    sizes = np.abs(weight).max(axis=0)
    expected = (np.abs(weight - weight.astype(storage.numpy).astype(np.float32)) / sizes).max()
    np.testing.assert_allclose(stored.rounding, expected, rtol=1e-6)


def test_a_reference_plan_gives_the_same_numbers() -> None:
    graph = dense(randoms(1, 9, 20))
    feeds = {"x": randoms(2, 3, 9)}
    results = []
    for backend in ("native", "reference"):
        lowered = lower(graph, backend=backend, storage=DType.BFLOAT16)  # type: ignore[arg-type]
        assert "bfloat16" in {tensor.dtype for tensor in lowered.plan.tensors}
        session = open_session(lowered.plan, join_weights(lowered.plan.tensors, lowered.weights))
        results.append(session.run(feeds)["y"])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)


def reasons(lowered: Lowered) -> list[str]:
    assert all((row.dtype == "float") == bool(row.reason) for row in lowered.stored)
    return [row.reason for row in lowered.stored]


def test_what_does_not_fit_stays() -> None:
    weight = randoms(1, 9, 20)
    large, small, endless = weight.copy(), weight.copy(), weight.copy()
    large[3, 4] = 7e4
    small[:, 5] *= 1e-6
    endless[0, 0] = np.inf
    assert reasons(narrow(dense(large))) == ["7e+04 is too large for float16"]
    (reason,) = reasons(narrow(dense(small)))
    assert reason.startswith("a column or row has no value above ")
    assert reason.endswith(", which is too small for float16")
    assert reasons(narrow(dense(endless))) == ["it holds NaN or an infinity"]
    for weight in (large, small):
        assert reasons(narrow(dense(weight), DType.BFLOAT16)) == [""]


def test_a_node_keeps_its_type() -> None:
    assert reasons(narrow(dense(randoms(1, 9, 20)), kept={"/p": "keep.cfg"})) == ["keep.cfg keeps the type of /p"]


def test_a_weight_that_is_read_in_float32_too_stays() -> None:
    nodes = [node("Gather", "w i", "r"), node("Mul", "w r", "y")]
    graph = build({"i": [1, 1]}, nodes, "y", {"w": randoms(1, 4, 8)}, DType.INT64)
    assert reasons(narrow(graph)) == ["kernel binary of y reads it in float32"]


def test_an_output_stays() -> None:
    graph = build({"i": [3]}, [node("Gather", "w i", "r")], "r w", {"w": randoms(1, 4, 8)}, DType.INT64)
    assert reasons(narrow(graph)) == ["it is an output of the model"]


def test_tables_are_narrowed_and_integers_are_not() -> None:
    nodes = [node("Gather", "w i", "r"), node("Gather", "k i", "s")]
    constants = {"w": randoms(1, 4, 8), "k": np.arange(8).reshape(4, 2)}
    lowered = narrow(build({"i": [3]}, nodes, "r s", constants, DType.INT64))
    assert [tensor.dtype for tensor in lowered.plan.tensors] == ["float16", "int64"]
    assert reasons(lowered) == [""]


CONVS = [(1, True), (1, False), (2, True), (32, True)]


@pytest.mark.parametrize(("group", "exact"), CONVS)
def test_filters_are_narrowed_column_by_column(group: int, exact: bool) -> None:
    """Plain, for Winograd's tiles, in groups and depthwise: each packed weight is rounded as it stands."""
    weight = randoms(1, 32, 32 // group, 3, 3)
    weight[7] *= 1e-3
    graph = convolve(weight, group)
    wide = lower(graph, backend="native", exact=exact)
    lowered = lower(graph, backend="native", exact=exact, storage=DType.FLOAT16)
    assert not exact or [step.kernel for step in lowered.plan.steps].count("conv") == 1
    (stored,) = lowered.stored
    assert (stored.dtype, stored.reason) == ("float16", "")
    assert stored.bytes_after * 2 == stored.bytes_before
    np.testing.assert_array_equal(lowered.weights[0], wide.weights[0].astype(np.float16))
    assert 1e-4 < stored.rounding < 2.0**-11
    weight[7] *= 1e-3
    (stored,) = lower(convolve(weight, group), backend="native", exact=exact, storage=DType.FLOAT16).stored
    assert stored.reason.startswith("a column or row has no value above ")


def test_filters_of_which_tiles_are_made_are_narrowed() -> None:
    lowered = narrow(convolve(randoms(1, 64, 64, 3, 3), 1, 128), DType.BFLOAT16)
    assert [row.dtype for row in lowered.stored] == ["bfloat16"]
    (name,) = (step.inputs[0] for step in lowered.plan.steps if step.kernel == "filter")
    assert lowered.plan.buffers[name].dtype == "bfloat16"


def convolve(weight: np.ndarray, group: int, size: int = 56) -> Graph:
    nodes = [node("Conv", "x w", "y", pads=(1, 1, 1, 1), group=group)]
    return build({"x": [1, weight.shape[1] * group, size, size]}, nodes, "y", {"w": weight})
