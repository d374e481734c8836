"""Every fold against float64 arithmetic, and every fold broken on purpose, which the results must show."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autofusion.ir import DType, Graph
from autofusion.lowering import Lowered, lower
from autofusion.lowering.folds import batch_normalization, gemm_addend, scale, shift
from lowering.graphs import build, fuse, kernels_of, node, randoms, run_graph, run_plan

CHANNELS = 4


def normalization_constants(seed: int, channels: int = CHANNELS, suffix: str = "") -> dict[str, np.ndarray]:
    names = ("gamma", "beta", "mean", "variance")
    arrays = [randoms(seed + index, channels) for index in range(4)]
    arrays[3] = np.abs(arrays[3]) * 0.1
    return {name + suffix: array for name, array in zip(names, arrays, strict=True)}


def conv_bn(group: int = 1, bias: bool = True, epsilon: float = 0.1) -> Graph:
    # As many input as output channels and a square kernel: an exchanged axis keeps the shape.
    constants = {
        "w": randoms(1, CHANNELS, CHANNELS // group, 3, 3),
        "b": randoms(2, CHANNELS),
        **normalization_constants(3),
    }
    nodes = [
        node("Conv", "x w b" if bias else "x w", "c", group=group, pads=(1, 1, 1, 1)),
        node("BatchNormalization", "c gamma beta mean variance", "y", epsilon=epsilon),
    ]
    return build({"x": [2, CHANNELS, 5, 5]}, nodes, "y", constants)


def conv_then(op: str, operands: str, constant: np.ndarray) -> Graph:
    constants = {"w": randoms(1, CHANNELS, 3, 3, 3), "b": randoms(2, CHANNELS), "k": constant}
    nodes = [node("Conv", "x w b", "c"), node(op, operands, "y")]
    return build({"x": [2, 3, 6, 6]}, nodes, "y", constants)


def gemm_with(addend: np.ndarray) -> Graph:
    nodes = [node("Gemm", "x w c", "y", alpha=0.5, beta=-1.5, transB=1)]
    return build({"x": [4, 5]}, nodes, "y", {"w": randoms(1, 4, 5), "c": addend})


def error_of(graph: Graph, names: str = "", kernels: list[str] | None = None) -> float:
    """Largest error of the plan, relative to the largest result."""
    feeds = {name: randoms(9, *(int(str(dim)) for dim in graph.value(name).shape or ())) for name in graph.inputs}
    expected = run_graph(graph, feeds)
    if names:
        fuse(graph, names)
    lowered = lower(graph, backend="reference")
    if kernels is not None:
        assert kernels_of(lowered) == kernels
    return max(
        float(np.abs(actual - right).max() / np.abs(right).max())
        for actual, right in zip(run_plan(lowered, feeds), expected, strict=True)
    )


@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("bias", [False, True])
def test_batch_normalization(group: int, bias: bool):
    assert error_of(conv_bn(group, bias), "c y", ["conv"]) < 1e-6


PER_CHANNEL = randoms(5, CHANNELS, 1, 1)


@pytest.mark.parametrize(
    ("op", "operands"),
    [("Add", "c k"), ("Add", "k c"), ("Sub", "c k"), ("Mul", "c k"), ("Mul", "k c"), ("Div", "c k"), ("Sum", "k c")],
)
@pytest.mark.parametrize(
    "constant", [PER_CHANNEL, PER_CHANNEL[None], np.float32(1.5), np.full((1, 1), 0.3, np.float32)]
)
def test_arithmetic_with_a_constant_per_channel(op: str, operands: str, constant: np.ndarray):
    assert error_of(conv_then(op, operands, np.asarray(constant)), "c y", ["conv"]) < 1e-6


@pytest.mark.parametrize(("op", "operands"), [("Sub", "k c"), ("Div", "k c")])
def test_a_constant_ahead_of_sub_or_div_stays_a_step(op: str, operands: str):
    # Quotients of small results are large, and so are their errors.
    assert error_of(conv_then(op, operands, PER_CHANNEL), "c y", ["conv", "binary"]) < 1e-4


@pytest.mark.parametrize(
    "constant",
    [randoms(5, CHANNELS), randoms(5, 1, CHANNELS), randoms(5, CHANNELS, 1), randoms(5, 4, 4, 4)],
    ids=["width", "row of width", "height", "all but the batch"],
)
def test_a_constant_along_another_axis_is_not_folded(constant: np.ndarray):
    # The result is [2, 4, 4, 4]: every axis has as many elements as there are channels.
    for op in ("Mul", "Add"):
        assert error_of(conv_then(op, "c k", constant), "c y", ["conv", "binary"]) < 1e-6


def test_a_constant_that_widens_is_not_folded():
    for shape in ((2, CHANNELS, 1, 1), (1, 1, CHANNELS, 1, 1)):
        graph = conv_then("Mul", "c k", randoms(5, *shape))
        assert error_of(graph, "c y", ["conv", "binary"]) < 1e-6


def test_a_chain_of_folds():
    constants = {"w": randoms(1, CHANNELS, 3, 1, 1), **normalization_constants(3)}
    constants |= {"k1": PER_CHANNEL, "k2": PER_CHANNEL * 2, "two": np.float32(2)}
    nodes = [
        node("Conv", "x w", "c"),
        node("Add", "c k1", "a"),
        node("BatchNormalization", "a gamma beta mean variance", "n"),
        node("Mul", "two n", "m"),
        node("Sub", "m k2", "s"),
        node("Div", "s two", "y"),
    ]
    graph = build({"x": [1, 3, 2, 2]}, nodes, "y", {name: np.asarray(array) for name, array in constants.items()})
    assert error_of(graph, "c a n m s y", ["conv"]) < 1e-6


def test_weights_shared_by_two_normalizations():
    constants = {"w": randoms(1, 4, 4, 3, 3), **normalization_constants(3), **normalization_constants(7, suffix="2")}
    nodes = [
        node("Conv", "x w", "c", pads=(1, 1, 1, 1)),
        node("BatchNormalization", "c gamma beta mean variance", "t"),
        node("Conv", "t w", "d", pads=(1, 1, 1, 1)),
        node("BatchNormalization", "d gamma2 beta2 mean2 variance2", "u"),
        node("Conv", "u w", "y", pads=(1, 1, 1, 1)),
    ]
    graph = build({"x": [1, 4, 5, 5]}, nodes, "y", constants)
    kept = constants["w"].copy()
    feeds = {"x": randoms(9, 1, 4, 5, 5)}
    expected = run_graph(graph, feeds)
    fuse(graph, "c t")
    fuse(graph, "d u")
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == ["conv"] * 3
    assert len({step.inputs[1] for step in lowered.plan.steps}) == 3
    np.testing.assert_allclose(run_plan(lowered, feeds)[0], expected[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(graph.constants["w"], kept)


def test_matmul_and_gemm_fold_along_the_columns():
    constants = {"w": randoms(1, 4, 4), "c": randoms(2, 4), **normalization_constants(3)}
    for trans_b in (0, 1):
        nodes = [
            node("Gemm", "x w c", "g", alpha=0.5, beta=2.0, transB=trans_b),
            node("BatchNormalization", "g gamma beta mean variance", "y"),
        ]
        assert error_of(build({"x": [4, 4]}, nodes, "y", constants), "g y", ["matmul"]) < 1e-6
    nodes = [node("MatMul", "x w", "g"), node("BatchNormalization", "g gamma beta mean variance", "y")]
    assert error_of(build({"x": [4, 4]}, nodes, "y", constants), "g y", ["matmul"]) < 1e-6


def test_the_second_axis_of_a_batched_product_is_no_column():
    constants = {"w": randoms(1, 4, 4), **normalization_constants(3)}
    nodes = [node("MatMul", "x w", "g"), node("BatchNormalization", "g gamma beta mean variance", "y")]
    assert error_of(build({"x": [4, 4, 4]}, nodes, "y", constants), "g y", ["matmul", "affine"]) < 1e-6


@pytest.mark.parametrize("name", ["gamma", "mean"])
def test_a_folded_value_out_of_range_is_not_folded(name: str):
    graph = conv_bn(epsilon=1e-5)
    graph.constants["variance"] = np.full(CHANNELS, 1e-30, np.float32)
    graph.constants[name] = np.full(CHANNELS, 3e37, np.float32)
    fuse(graph, "c y")
    kernels = kernels_of(lower(graph, backend="reference"))
    assert kernels in (["conv", "affine"], ["conv", "host"])


def test_float64_folds_lose_nothing():
    constants = {"w": randoms(1, 4, 3, 3, 3), "b": randoms(2, 4), **normalization_constants(3)}
    constants = {name: array.astype(np.float64) for name, array in constants.items()}
    nodes = [
        node("Conv", "x w b", "c"),
        node("BatchNormalization", "c gamma beta mean variance", "t"),
        node("Relu", "t", "y"),
    ]
    graph = build({"x": [1, 3, 6, 6]}, nodes, "y", constants, DType.DOUBLE)
    feeds = {"x": randoms(9, 1, 3, 6, 6, dtype=np.dtype(np.float64))}
    expected = run_graph(graph, feeds)
    fuse(graph, "c t y")
    lowered = lower(graph, backend="reference")
    actual = run_plan(lowered, feeds)[0]
    assert kernels_of(lowered) == ["conv"]
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, expected[0], rtol=1e-12, atol=1e-12)


def test_float16_is_folded_in_float64_and_rounded_once():
    constants = {"w": randoms(1, 4, 3, 1, 1), **normalization_constants(3)}
    constants = {name: array.astype(np.float16) for name, array in constants.items()}
    nodes = [node("Conv", "x w", "c"), node("BatchNormalization", "c gamma beta mean variance", "y", epsilon=0.01)]
    graph = build({"x": [1, 3, 2, 2]}, nodes, "y", constants, DType.FLOAT16)
    fuse(graph, "c y")
    lowered = lower(graph, backend="reference")
    wide = {name: array.astype(np.float64) for name, array in constants.items()}
    factor = wide["gamma"] / np.sqrt(wide["variance"] + np.float64(0.01))
    np.testing.assert_array_equal(lowered.weights[0], (wide["w"] * factor[:, None, None, None]).astype(np.float16))


@pytest.mark.parametrize(
    "addend",
    [
        randoms(3, 4),
        randoms(3, 1, 4),
        randoms(3, 4, 1),
        randoms(3, 4, 4),
        randoms(3, 1),
        randoms(3, 1, 1),
        np.float32(0.7),
    ],
    ids=["columns", "row", "column", "whole", "one", "one by one", "scalar"],
)
def test_gemm_addends(addend: np.ndarray):
    # Four rows and four columns: the number of elements does not tell which is which.
    assert error_of(gemm_with(np.asarray(addend)), kernels=["matmul"]) < 1e-6


# Broken folds


def wrong_axis(weight: np.ndarray, bias: np.ndarray | None, axis: int, factor: np.ndarray) -> tuple[np.ndarray, object]:
    along = [1] * weight.ndim
    along[1 - axis] = -1
    return weight * factor.reshape(along), None if bias is None else bias * factor


def scaled_twice(
    weight: np.ndarray, bias: np.ndarray | None, axis: int, factor: np.ndarray
) -> tuple[np.ndarray, object]:
    along = [1] * weight.ndim
    along[axis] = -1
    return weight * factor.reshape(along) ** 2, None if bias is None else bias * factor


def bias_not_scaled(
    weight: np.ndarray, bias: np.ndarray | None, axis: int, factor: np.ndarray
) -> tuple[np.ndarray, object]:
    along = [1] * weight.ndim
    along[axis] = -1
    return weight * factor.reshape(along), bias


def no_epsilon(
    gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, variance: np.ndarray, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    factor = gamma / np.sqrt(variance)
    return factor, beta - mean * factor


def mean_not_scaled(
    gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, variance: np.ndarray, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    return gamma / np.sqrt(variance + epsilon), beta - mean


def beta_ignored(addend: np.ndarray, beta: float, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(addend, shape).copy()


def along_the_rows(addend: np.ndarray, beta: float, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(beta * addend.T, shape).copy()


@pytest.mark.parametrize(
    ("module", "name", "broken", "graph", "names"),
    [
        (scale, "fold_scale", wrong_axis, conv_bn, "c y"),
        (scale, "fold_scale", scaled_twice, conv_bn, "c y"),
        (scale, "fold_scale", bias_not_scaled, conv_bn, "c y"),
        (batch_normalization, "normalization_factors", no_epsilon, conv_bn, "c y"),
        (batch_normalization, "normalization_factors", mean_not_scaled, conv_bn, "c y"),
        (shift, "fold_shift", lambda bias, shift: shift, conv_bn, "c y"),
        (shift, "fold_shift", lambda bias, shift: bias - shift, lambda: conv_then("Add", "c k", PER_CHANNEL), "c y"),
        (scale, "fold_scale", scaled_twice, lambda: conv_then("Mul", "k c", PER_CHANNEL), "c y"),
        (gemm_addend, "fold_gemm_addend", beta_ignored, lambda: gemm_with(randoms(3, 4)), ""),
        (gemm_addend, "fold_gemm_addend", along_the_rows, lambda: gemm_with(randoms(3, 4, 1)), ""),
    ],
    ids=lambda value: getattr(value, "__name__", value if isinstance(value, str) else None),
)
def test_a_broken_fold_shows(
    monkeypatch: pytest.MonkeyPatch,
    module: object,
    name: str,
    broken: Callable[..., object],
    graph: Callable[[], Graph],
    names: str,
):
    assert error_of(graph(), names) < 1e-6
    monkeypatch.setattr(module, name, broken)
    assert error_of(graph(), names) > 1e-3


def test_an_unfused_model_has_nothing_folded():
    lowered: Lowered = lower(conv_bn(), backend="reference")
    assert kernels_of(lowered) == ["conv", "affine"]
