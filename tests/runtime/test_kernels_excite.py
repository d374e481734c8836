"""Squeeze and excitation natively: means of depthwise convolutions, the gate, and convolutions that it scales."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autofusion.plan import ACTIVATIONS
from autofusion.runtime.native import Native
from runtime.cases import conv_depthwise_case
from runtime.steps import PLAIN_EPILOGUE, Bench, Case, assert_agrees


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def make_depthwise(
    x: tuple[int, ...],
    size: int = 3,
    stride: int = 1,
    dilation: int = 1,
    pad: int = 1,
    activation: str = "",
    gap: int = 0,
) -> Case:
    """A depthwise convolution with means."""
    axes, channels = len(x) - 2, x[1]
    reach = (size - 1) * dilation + 1
    spatial = [(extent + 2 * pad - reach) // stride + 1 for extent in x[2:]]
    attributes = {
        "kernel": [size] * axes,
        "strides": [stride] * axes,
        "pads": [pad] * (2 * axes),
        "dilations": [dilation] * axes,
        "group": channels,
        **PLAIN_EPILOGUE,
        "activation": activation,
        "alpha": 1.0,
    }
    operands = [draw(1, *x), draw(2, channels, 1, *[size] * axes), draw(3, channels)]
    means = (x[0], channels, *[1] * axes)
    shape = (x[0], channels, *spatial)
    return Case(
        "conv", operands, attributes, shape, ("nhwc",), {0: channels + gap}, "nhwc", channels + gap, further=[means]
    )


MEANS = {
    "one channel short of a vector": make_depthwise((1, 15, 9, 9)),
    "overlapping chunks": make_depthwise((1, 17, 8, 13)),
    "images": make_depthwise((3, 33, 7, 7), activation="SiLU"),
    "many images, few lines": make_depthwise((5, 16, 3, 9), activation="Relu"),
    "stride": make_depthwise((1, 40, 23, 23), size=5, stride=2, pad=2, activation="HardSwish"),
    "narrow": make_depthwise((1, 20, 5, 3)),
    "dilation": make_depthwise((2, 24, 11, 11), dilation=2, pad=2),
    "volume": make_depthwise((2, 5, 3, 4, 9)),
    "gaps": make_depthwise((2, 18, 9, 9), gap=14),
    "large": make_depthwise((1, 32, 97, 101), activation="SiLU"),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", MEANS)
def test_means_of_a_depthwise_convolution(native: Native, name: str, threads: int) -> None:
    assert_agrees(native, MEANS[name], threads)


def test_means_are_the_same_in_every_run(native: Native) -> None:
    benches = [Bench(MEANS["large"], 3) for _ in range(20)]
    for bench in benches:
        bench.run(native)
        np.testing.assert_array_equal(bench.further[0], benches[0].further[0])


def test_means_of_no_pixels_are_nan(native: Native) -> None:
    bench = Bench(make_depthwise((2, 8, 0, 4), pad=0, size=1))
    bench.run(native)
    assert np.isnan(bench.further[0]).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [1, 3])
def test_means_of_joined_convolutions(native: Native, batch: int, threads: int) -> None:
    case = conv_depthwise_case()
    operands = [draw(1, batch, 16, 41, 37), *case.operands[1:]]
    shape = (batch, 32, 41, 37)
    assert_agrees(native, replace(case, operands=operands, shape=shape, further=[(batch, 32, 1, 1)]), threads)


def make_gated(
    x: tuple[int, ...], filters: int, *, bias: bool = True, residual: bool = False, gap: int = 0, activation: str = ""
) -> Case:
    """A 1x1 convolution of a gated image."""
    axes = len(x) - 2
    shape = (x[0], filters, *x[2:])
    attributes = {
        "kernel": [1] * axes,
        "strides": [1] * axes,
        "pads": [0] * (2 * axes),
        "dilations": [1] * axes,
        "group": 1,
        **PLAIN_EPILOGUE,
        "activation": activation,
        "alpha": 1.0,
    }
    weight = draw(2, filters, x[1], *[1] * axes) / np.float32(np.sqrt(x[1]))
    gate = draw(4, x[0], x[1], *[1] * axes)
    operands = [draw(1, *x), weight, draw(3, filters) if bias else None, draw(5, *shape) if residual else None, gate]
    pitches = {0: x[1] + gap, 3: filters + gap}
    layouts = ("nhwc", "plain", "plain", "nhwc")
    return Case("conv", operands, attributes, shape, layouts, pitches, "nhwc", filters + gap)


GATED = {
    "pixels of one image": make_gated((1, 33, 7, 7), 65),
    "pixels of several images": make_gated((5, 24, 7, 7), 50, residual=True, activation="SiLU"),
    "deep pixels": make_gated((2, 600, 5, 5), 40, gap=3),
    "weights of one image": make_gated((1, 40, 20, 20), 24, residual=True),
    "weights of several images": make_gated((4, 17, 13, 11), 16, bias=False, activation="Relu"),
    "weights of as many filters as pixels": make_gated((3, 20, 5, 5), 25),
    "deep weights": make_gated((2, 515, 12, 13), 37, gap=5),
    "few channels": make_gated((2, 3, 9, 9), 7),
    "one channel": make_gated((2, 1, 9, 9), 7),
    "line": make_gated((2, 9, 50), 11),
    "volume": make_gated((2, 9, 3, 4, 5), 11),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", GATED)
def test_gated_convolutions(native: Native, name: str, threads: int) -> None:
    assert_agrees(native, GATED[name], threads)


def make_excite(
    rows: int,
    channels: int,
    hidden: int,
    columns: int,
    activation: str = "Relu",
    gate: str = "Sigmoid",
    bias: bool = True,
) -> Case:
    attributes = {
        "activation": activation,
        "alpha": 0.3,
        "beta": 0.7,
        "gate": gate,
        "gate_alpha": 0.2,
        "gate_beta": 0.5,
    }
    operands = [
        draw(1, rows, channels, 1, 1),
        draw(2, hidden, channels) / np.float32(np.sqrt(channels)),
        draw(3, hidden) if bias else None,
        draw(4, hidden, columns) / np.float32(np.sqrt(hidden)),
        draw(5, columns) if bias else None,
    ]
    return Case("excite", operands, attributes, (rows, columns, 1, 1))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "extents", [(1, 1, 1, 1), (1, 32, 8, 32), (3, 31, 5, 33), (2, 97, 13, 15), (1, 1152, 48, 1152), (2, 64, 4, 300)]
)
def test_excite(native: Native, extents: tuple[int, int, int, int], threads: int) -> None:
    assert_agrees(native, make_excite(*extents), threads)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_of_excite(native: Native, activation: str) -> None:
    assert_agrees(native, make_excite(2, 21, 6, 18, activation, ""), 1)
    assert_agrees(native, make_excite(2, 21, 6, 18, "", activation, bias=False), 1)
