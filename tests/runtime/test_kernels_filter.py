"""Filters of Winograd's tiles made by the C library against their definition, and a convolution that uses them."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.lowering.packing import pack_conv_weight
from autofusion.ops.definitions.filter import filter_tiles
from autofusion.plan import Buffer, Plan, Step, Tensor
from autofusion.runtime.native import Native
from autofusion.runtime.session import open_session
from runtime.free_steps import run_step


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize(
    ("filters", "channels"), [(16, 1), (16, 2), (32, 7), (16, 15), (48, 17), (16, 31), (16, 64), (32, 65)]
)
def test_filters_are_as_defined(native: Native, filters: int, channels: int, tile: int, threads: int) -> None:
    weight = np.random.default_rng(1).standard_normal((filters, channels, 3, 3), np.float32)
    shape = ((tile + 2) ** 2, filters // 16, channels, 16)
    packed = pack_conv_weight(weight, 1).reshape(weight.shape)
    (found,) = run_step(native, "filter", [packed], {"tile": tile}, [shape], threads)
    want = filter_tiles([weight.astype(np.float64)], {"tile": tile}, shape)
    np.testing.assert_allclose(found, want, rtol=0, atol=5e-7 * max(1.0, float(np.abs(want).max(initial=0))))
    np.testing.assert_array_equal(want.astype(np.float32).ravel(), pack_conv_weight(weight, 1, tile))


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize(("filters", "channels"), [(1, 3), (17, 5), (33, 20)])
def test_a_convolution_takes_them(filters: int, channels: int, tile: int) -> None:
    """With the last panel filled up: stored and made filters give nearly the same results."""
    random = np.random.default_rng(2)
    weight = random.standard_normal((filters, channels, 3, 3), np.float32)
    x = random.standard_normal((1, channels, 9, 10), np.float32)
    made = _convolve(x, weight, tile, stored=False)
    stored = _convolve(x, weight, tile, stored=True)
    np.testing.assert_allclose(made, stored, rtol=0, atol=2e-6 * np.abs(stored).max())


def _convolve(x: np.ndarray, weight: np.ndarray, tile: int, *, stored: bool) -> np.ndarray:
    filters, channels = weight.shape[:2]
    packed = pack_conv_weight(weight, 1, tile if stored else 0)
    shape = ((tile + 2) ** 2, -(-filters // 16), channels, 16)
    result = (1, filters, *x.shape[2:])
    settings = {"kernel": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1], "group": 1}
    settings |= {"winograd": tile, "activation": "", "alpha": 0.0, "beta": 0.0}
    buffers = [
        Buffer("x", "float", x.shape, "input"),
        Buffer("w", "float", weight.shape, "constant", tensor=0),
        Buffer("u", "float", shape),
        Buffer("a", "float", x.shape, layout="nhwc"),
        Buffer("b", "float", result, layout="nhwc"),
        Buffer("y", "float", result, "output"),
    ]
    steps = [
        Step("relayout", "in", "", ("x",), ("a",)),
        Step("filter", "w", "", ("w",), ("u",), {"tile": tile}),
        Step("conv", "conv", "Conv", ("a", "w" if stored else "u", "", ""), ("b",), settings),
        Step("relayout", "out", "", ("b",), ("y",)),
    ]
    tensors = (Tensor("w", "float", packed.shape, 0, packed.nbytes),)
    steps = [step for step in steps if not (stored and step.kernel == "filter")]
    used = {buffer.name: buffer for buffer in buffers if not (stored and buffer.name == "u")}
    plan = Plan("native", ("x",), ("y",), (), used, tensors, tuple(steps))
    weights = np.zeros(packed.nbytes + 64, np.uint8)
    start = -weights.ctypes.data % 64
    weights = weights[start : start + packed.nbytes]
    weights[:] = packed.view(np.uint8)
    return open_session(plan, weights, threads=2).run({"x": x})["y"]
