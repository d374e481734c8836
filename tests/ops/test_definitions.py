"""The definitions against the formulas of the kernel table, written out as loops over single elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autofusion.ops.definitions import DEFINITIONS
from autofusion.ops.definitions.activation import ACTIVATION, apply_activation
from autofusion.ops.special import erf
from autofusion.plan import ACTIVATIONS, KERNELS

NO_ACTIVATION = {"activation": "", "alpha": 0.0, "beta": 0.0}


def deviates(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def extent(size: int, kernel: int, stride: int, pads: tuple[int, int], dilation: int, ceil: bool = False) -> int:
    room = size + sum(pads) - (kernel - 1) * dilation - 1
    return -(-room // stride) + 1 if ceil else room // stride + 1


def convolve_by_loops(
    x: np.ndarray,
    weight: np.ndarray,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int,
) -> np.ndarray:
    rank = x.ndim - 2
    spatial = [
        extent(x.shape[2 + a], weight.shape[2 + a], strides[a], (pads[a], pads[rank + a]), dilations[a])
        for a in range(rank)
    ]
    y = np.zeros((x.shape[0], weight.shape[0], *spatial))
    for n, m, *at in np.ndindex(*y.shape):
        first = m // (weight.shape[0] // group) * weight.shape[1]
        for c, *k in np.ndindex(*weight.shape[1:]):
            cell = [at[a] * strides[a] - pads[a] + k[a] * dilations[a] for a in range(rank)]
            if all(0 <= i < size for i, size in zip(cell, x.shape[2:], strict=True)):
                y[(n, m, *at)] += weight[(m, c, *k)] * x[(n, first + c, *cell)]
    return y


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, dict[str, object]]:
    rank = draw(st.integers(1, 3))
    group = draw(st.sampled_from([1, 2, 3]))
    kernel = [draw(st.integers(1, 3)) for _ in range(rank)]
    dilations = [draw(st.integers(1, 2)) for _ in range(rank)]
    pads = [draw(st.integers(0, 2)) for _ in range(2 * rank)]
    least = [max(1, (kernel[a] - 1) * dilations[a] + 1 - pads[a] - pads[rank + a]) for a in range(rank)]
    spatial = [draw(st.integers(low, low + 2)) for low in least]
    channels, filters = draw(st.integers(1, 2)), draw(st.integers(1, 2)) * group
    x = deviates(draw(st.integers(0, 99)), draw(st.integers(1, 2)), channels * group, *spatial)
    weight = deviates(draw(st.integers(0, 99)), filters, channels, *kernel)
    strides = [draw(st.integers(1, 3)) for _ in range(rank)]
    return x, weight, {"kernel": kernel, "strides": strides, "pads": pads, "dilations": dilations, "group": group}


@settings(max_examples=60, deadline=None)
@given(convolutions())
def test_conv(case: tuple[np.ndarray, np.ndarray, dict[str, object]]):
    x, weight, attributes = case
    plain = convolve_by_loops(x, weight, *(attributes[name] for name in ("strides", "pads", "dilations", "group")))  # type: ignore[arg-type]
    bias, residual = deviates(3, weight.shape[0]), deviates(4, *plain.shape)
    total = plain + bias.reshape(-1, *[1] * (x.ndim - 2)) + residual
    epilogue = {"activation": "LeakyRelu", "alpha": 0.25, "beta": 0.0}
    actual, mean = DEFINITIONS["conv"]((x, weight, bias, residual), {**attributes, **epilogue}, plain.shape)
    axes = tuple(range(2, x.ndim))
    np.testing.assert_allclose(mean, actual.mean(axes, keepdims=True), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(actual, np.where(total < 0, 0.25 * total, total), rtol=1e-12, atol=1e-12)
    bare, _ = DEFINITIONS["conv"]((x, weight, None, None), {**attributes, **NO_ACTIVATION}, plain.shape)
    np.testing.assert_allclose(bare, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_matmul(trans_a: bool, trans_b: bool):
    a, b = deviates(1, 2, 1, 3, 4), deviates(2, 5, 4, 6)
    product = np.einsum("ximk,jkn->xjmn", a, b)
    bias, residual = deviates(3, 6), deviates(4, *product.shape)
    attributes = {"trans_a": trans_a, "trans_b": trans_b, "scale": 0.5, "packed": False, "activation": "Relu"}
    operands = (a.swapaxes(-1, -2) if trans_a else a, b.swapaxes(-1, -2) if trans_b else b, bias, residual)
    actual = DEFINITIONS["matmul"](operands, attributes, product.shape)
    np.testing.assert_allclose(actual, np.maximum(0.5 * product + bias + residual, 0), rtol=1e-12, atol=1e-12)


def pool_by_loops(x: np.ndarray, attributes: dict[str, object], spatial: Sequence[int]) -> np.ndarray:
    kernel, strides, pads, dilations = (attributes[name] for name in ("kernel", "strides", "pads", "dilations"))
    rank = x.ndim - 2
    y = np.zeros((*x.shape[:2], *spatial))
    for n, c, *at in np.ndindex(*y.shape):
        inside, padded = [], 0
        for k in itertools.product(*map(range, kernel)):  # type: ignore[arg-type]
            cell = [at[a] * strides[a] - pads[a] + k[a] * dilations[a] for a in range(rank)]  # type: ignore[index]
            if all(0 <= i < size for i, size in zip(cell, x.shape[2:], strict=True)):
                inside.append(x[(n, c, *cell)])
            elif all(i < x.shape[2 + a] + pads[rank + a] for a, i in enumerate(cell)):  # type: ignore[index]
                padded += 1
        if attributes["kind"] == "max":
            y[(n, c, *at)] = max(inside)
        else:
            y[(n, c, *at)] = sum(inside) / (len(inside) + (padded if attributes["include_pad"] else 0))
    return y


@st.composite
def pools(draw: st.DrawFn) -> tuple[np.ndarray, dict[str, object], list[int]]:
    rank = draw(st.integers(1, 3))
    ceil = draw(st.booleans())
    kernel = [draw(st.integers(1, 3)) for _ in range(rank)]
    dilations = [draw(st.integers(1, 2)) for _ in range(rank)]
    strides = [draw(st.integers(1, 3)) for _ in range(rank)]
    pads = [draw(st.integers(0, kernel[a % rank] - 1)) for a in range(2 * rank)]
    reach = [(kernel[a] - 1) * dilations[a] + 1 for a in range(rank)]
    sizes = [draw(st.integers(reach[a], reach[a] + 3)) for a in range(rank)]
    spatial: list[int] = []
    for a in range(rank):
        count = extent(sizes[a], kernel[a], strides[a], (pads[a], pads[rank + a]), dilations[a], ceil)
        # As ONNX says: a last window that would begin past the image and its left padding is left out.
        spatial.append(count - 1 if (count - 1) * strides[a] >= sizes[a] + pads[a] else count)
    attributes: dict[str, object] = {
        "kind": draw(st.sampled_from(["max", "average"])),
        "is_global": False,
        "kernel": kernel,
        "strides": strides,
        "pads": pads,
        "dilations": dilations,
        "include_pad": draw(st.booleans()),
    }
    return deviates(draw(st.integers(0, 99)), 1, 2, *sizes), attributes, spatial


@settings(max_examples=100, deadline=None)
@given(pools())
def test_pool(case: tuple[np.ndarray, dict[str, object], list[int]]):
    x, attributes, spatial = case
    try:
        expected = pool_by_loops(x, attributes, spatial)
    except (ValueError, ZeroDivisionError):  # a window that lies in the padding alone
        return
    actual = DEFINITIONS["pool"]((x,), attributes, (*x.shape[:2], *spatial))
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_global_pool():
    x = deviates(1, 2, 3, 4, 5)
    attributes = {"kind": "average", "is_global": True}
    actual = DEFINITIONS["pool"]((x,), attributes, (2, 3, 1, 1))
    np.testing.assert_allclose(actual, x.mean((2, 3), keepdims=True), rtol=1e-12)
    actual = DEFINITIONS["pool"]((x,), {**attributes, "kind": "max"}, (2, 3, 1, 1))
    np.testing.assert_array_equal(actual, x.max((2, 3), keepdims=True))


def test_affine():
    x, scale, shift = deviates(1, 2, 3, 4), deviates(2, 3), deviates(3, 3)
    actual = DEFINITIONS["affine"]((x, scale, shift), {"activation": "Relu"}, x.shape)
    np.testing.assert_allclose(actual, np.maximum(x * scale[None, :, None] + shift[None, :, None], 0), rtol=1e-12)


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("Add", lambda a, b: a + b),
        ("Sub", lambda a, b: a - b),
        ("Mul", lambda a, b: a * b),
        ("Div", lambda a, b: a / b),
        ("Pow", lambda a, b: a**b),
        ("Max", max),
        ("Min", min),
    ],
)
def test_binary(op: str, function: Callable[[float, float], float]):
    a, b = np.abs(deviates(1, 2, 1, 4)) + 0.1, deviates(2, 3, 1)
    expected = np.empty((2, 3, 4))
    for i, j, k in np.ndindex(2, 3, 4):
        expected[i, j, k] = math.tanh(function(a[i, 0, k], b[j, 0]))
    actual = DEFINITIONS["binary"]((a, b), {"op": op, "activation": "Tanh"}, (2, 3, 4))
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


FORMULAS: dict[str, Callable[[float, float, float], float]] = {
    "Relu": lambda x, a, b: max(x, 0.0),
    "LeakyRelu": lambda x, a, b: a * x if x < 0 else x,
    "Clip": lambda x, a, b: min(max(x, a), b),
    "Sigmoid": lambda x, a, b: 1 / (1 + math.exp(-x)),
    "Tanh": lambda x, a, b: math.tanh(x),
    "HardSigmoid": lambda x, a, b: min(max(a * x + b, 0), 1),
    "HardSwish": lambda x, a, b: x * min(max(x / 6 + 0.5, 0), 1),
    "SiLU": lambda x, a, b: x / (1 + math.exp(-a * x)),
    "Gelu": lambda x, a, b: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "GeluTanh": lambda x, a, b: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "Elu": lambda x, a, b: a * (math.exp(x) - 1) if x < 0 else x,
    "Abs": lambda x, a, b: abs(x),
    "Neg": lambda x, a, b: -x,
    "Exp": lambda x, a, b: math.exp(x),
    "Log": lambda x, a, b: math.log(x) if x > 0 else -math.inf if x == 0 else math.nan,
    "Sqrt": lambda x, a, b: math.sqrt(x) if x >= 0 else math.nan,
    "Reciprocal": lambda x, a, b: 1 / x if x else math.inf,
    "Floor": lambda x, a, b: math.floor(x),
    "Ceil": lambda x, a, b: math.ceil(x),
    "Erf": lambda x, a, b: math.erf(x),
    "Sin": lambda x, a, b: math.sin(x),
    "Cos": lambda x, a, b: math.cos(x),
    "Round": lambda x, a, b: round(x),
    "Sign": lambda x, a, b: int(x > 0) - int(x < 0),
}


@pytest.mark.parametrize("op", FORMULAS)
def test_unary(op: str):
    x = np.concatenate([np.linspace(-9, 9, 37), [0.0, 1e-9, -1e-9, 30.0, -30.0]])
    expected = [FORMULAS[op](value, 0.3, 0.7) for value in x]
    actual = DEFINITIONS["unary"]((x,), {"op": op, "alpha": 0.3, "beta": 0.7}, x.shape)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-15)
    if op in ACTIVATION:
        zeros = np.zeros_like(x)
        epilogue = {"op": "Add", "activation": op, "alpha": 0.3, "beta": 0.7}
        np.testing.assert_array_equal(DEFINITIONS["binary"]((x, zeros), epilogue, x.shape), actual)


def test_every_kernel_with_arithmetic_is_defined():
    assert set(DEFINITIONS) == set(KERNELS) - {"extents", "host"}
    assert {"", *ACTIVATION} == set(ACTIVATIONS)


@pytest.mark.parametrize("name", sorted(ACTIVATION))
def test_nan_stays_nan(name: str):
    assert np.isnan(apply_activation(name, np.array([np.nan]), 0.5, 0.5)).all()


def test_infinities_follow_the_formulas():
    x = np.array([np.inf, -np.inf], np.float32)
    assert apply_activation("Relu", x, 0, 0).tolist() == [math.inf, 0]
    assert apply_activation("Sigmoid", x, 0, 0).tolist() == [1, 0]
    assert apply_activation("Clip", x, -1, 6).tolist() == [6, -1]
    assert apply_activation("Elu", x, 1, 0).tolist() == [math.inf, -1]
    # minus infinity times zero
    assert np.isnan(apply_activation("SiLU", x, 1, 0)).tolist() == [False, True]


def test_clip_with_crossed_limits_gives_the_upper_one():
    assert apply_activation("Clip", np.array([-5.0, 0.0, 5.0]), 3.0, 1.0).tolist() == [1, 1, 1]


def test_nan_reaches_the_windows_that_hold_it():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    x[0, 0, 1, 1] = np.nan
    attributes = {
        "kind": "max",
        "is_global": False,
        "kernel": [2, 2],
        "strides": [2, 2],
        "pads": [0] * 4,
        "dilations": [1, 1],
        "include_pad": False,
    }
    for kind in ("max", "average"):
        y = DEFINITIONS["pool"]((x,), {**attributes, "kind": kind}, (1, 1, 2, 2))
        assert np.isnan(y).tolist() == [[[[True, False], [False, False]]]]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["conv", "matmul", "pool", "affine", "unary", "binary", "relayout", "copy"])
def test_results_have_the_type_of_the_operands(kernel: str, dtype: type):
    x = deviates(1, 1, 2, 2, 2).astype(dtype)
    window = {"kernel": [1, 1], "strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1], "group": 1}
    attributes = {
        "conv": {**window, "activation": "Gelu"},
        "matmul": {"trans_a": False, "trans_b": False, "scale": 0.3, "activation": "Clip", "alpha": -1, "beta": 1},
        "pool": {**window, "kind": "average", "is_global": False, "include_pad": False},
        "affine": {"activation": "SiLU", "alpha": 1.0},
        "unary": {"op": "Erf"},
        "binary": {"op": "Pow", "activation": "Elu", "alpha": 2.0},
    }.get(kernel, {})
    weight = np.ones((2, 2, 1, 1), dtype)
    vector = np.ones(2, dtype)
    operands = {
        "conv": (x, weight, vector, x),
        "matmul": (x, x, vector, x),
        "affine": (x, vector, vector),
        "binary": (np.abs(x), x),
    }.get(kernel, (x,))
    found = DEFINITIONS[kernel](operands, attributes, x.shape)
    result = found[0] if isinstance(found, tuple) else found
    assert result.dtype == dtype
    assert result.shape == x.shape


def test_halves_are_summed_in_float32():
    x = np.ones((1, 4096), np.float16)
    attributes = {"trans_a": False, "trans_b": True, "scale": 1.0, "activation": ""}
    ones = np.full((1, 4096), 1 + 2**-10, np.float16)
    assert DEFINITIONS["matmul"]((x, ones, None, None), attributes, (1, 1))[0, 0] == 4100


def test_operands_stay_as_they_are():
    x, w = deviates(1, 1, 2, 3, 3), deviates(2, 2, 2, 1, 1)
    kept = x.copy(), w.copy()
    window = {"kernel": [1, 1], "strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1], "group": 1}
    DEFINITIONS["conv"]((x, w, np.ones(2), x), {**window, "activation": "Relu"}, (1, 2, 3, 3))
    moved = DEFINITIONS["copy"]((x,), {}, (1, 18))
    moved += 1
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(w, kept[1])


def test_erf_is_as_good_as_the_library():
    x = np.concatenate([np.linspace(-7, 7, 20001), [1e-300, -1e-300, 0.46875, 4.0, 40.0]])
    expected = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(erf(x), expected, rtol=1e-15, atol=0)
    assert math.copysign(1, float(erf(np.array([-0.0]))[0])) == -1
    assert erf(x.astype(np.float32)).dtype == np.float32


def test_conv_scales_its_channels_by_a_gate():
    x, w, gate = deviates(1, 2, 3, 4, 5), deviates(2, 6, 3, 1, 1), deviates(3, 2, 3, 1, 1)
    window = {"kernel": [1, 1], "strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1], "group": 1, "activation": ""}
    actual, _ = DEFINITIONS["conv"]((x, w, None, None, gate), window, (2, 6, 4, 5))
    expected = np.einsum("nchw,nc,mc->nmhw", x, gate[:, :, 0, 0], w[:, :, 0, 0])
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_excite():
    x, reduce, expand = deviates(1, 2, 5, 1, 1), deviates(2, 3, 5), deviates(3, 3, 7)
    bias = deviates(4, 3)
    attributes = {"activation": "Relu", "gate": "HardSigmoid", "gate_alpha": 0.25, "gate_beta": 0.5}
    actual = DEFINITIONS["excite"]((x, reduce, bias, expand, None), attributes, (2, 7, 1, 1))
    hidden = np.maximum(x[:, :, 0, 0] @ reduce.T + bias, 0)
    expected = np.clip(0.25 * (hidden @ expand) + 0.5, 0, 1)
    np.testing.assert_allclose(actual[:, :, 0, 0], expected, rtol=1e-12, atol=1e-12)
