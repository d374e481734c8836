"""Convolutions of the C library against their numpy definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autofusion.plan import ACTIVATIONS
from autofusion.runtime.native import Native
from runtime.steps import PLAIN_EPILOGUE, Case, assert_agrees


def make_conv(
    x: tuple[int, ...],
    filters: int,
    kernel: tuple[int, ...],
    *,
    group: int = 1,
    strides: tuple[int, ...] = (),
    pads: tuple[int, ...] = (),
    dilations: tuple[int, ...] = (),
    residual: bool = False,
    bias: bool = True,
    winograd: int = 0,
    narrow: bool = False,
    pitches: tuple[int, int, int] = (0, 0, 0),
    epilogue: dict[str, Any] = PLAIN_EPILOGUE,
) -> Case:
    """A convolution of random operands; `pitches` are by how much those of x, residual and y exceed the channels."""
    axes = len(kernel)
    strides, dilations, pads = strides or (1,) * axes, dilations or (1,) * axes, pads or (0,) * 2 * axes
    spatial = tuple(
        (x[2 + axis] + pads[axis] + pads[axes + axis] - (kernel[axis] - 1) * dilations[axis] - 1) // strides[axis] + 1
        for axis in range(axes)
    )
    shape = (x[0], filters, *spatial)
    random = np.random.default_rng(7)
    depth = x[1] // group * math.prod(kernel)
    operands = [
        random.standard_normal(x),
        random.standard_normal((filters, x[1] // group, *kernel)) / math.sqrt(depth),
        random.standard_normal(filters) if bias else None,
        random.standard_normal(shape) if residual else None,
    ]
    attributes = {
        "kernel": list(kernel),
        "strides": list(strides),
        "pads": list(pads),
        "dilations": list(dilations),
        "group": group,
        **({"winograd": winograd} if winograd else {}),
        **({"narrow": True} if narrow else {}),
        **epilogue,
    }
    return Case(
        "conv",
        [None if array is None else array.astype(np.float32) for array in operands],
        attributes,
        shape,
        ("nhwc", "plain", "plain", "nhwc"),
        {0: x[1] + pitches[0], 3: filters + pitches[1]},
        "nhwc",
        filters + pitches[2],
    )


SILU = {"activation": "SiLU", "alpha": 1.0, "beta": 0.0}
SHAPES = {
    "pointwise": make_conv((1, 16, 7, 7), 16, (1, 1)),
    "pointwise of one channel": make_conv((1, 1, 1, 1), 1, (1, 1)),
    "primes": make_conv((1, 13, 11, 7), 17, (3, 3), pads=(1, 1, 1, 1)),
    "panel less one": make_conv((2, 31, 5, 5), 15, (3, 3), pads=(1, 1, 1, 1)),
    "panel and one": make_conv((1, 33, 5, 5), 17, (1, 1)),
    "stem": make_conv((1, 3, 23, 19), 32, (7, 7), strides=(2, 2), pads=(3, 3, 3, 3)),
    "stem with gaps": make_conv((1, 3, 12, 13), 5, (3, 3), pads=(1, 1, 1, 1), pitches=(5, 0, 1)),
    "asymmetric": make_conv((1, 9, 8, 10), 4, (2, 3), strides=(1, 2), pads=(0, 2, 1, 3), dilations=(3, 2)),
    "deep": make_conv((1, 520, 4, 4), 20, (3, 3), pads=(1, 1, 1, 1)),
    "panel and a half": make_conv((1, 19, 7, 7), 24, (1, 1), residual=True),
    "two panels and less than a half": make_conv((1, 300, 5, 7), 39, (3, 3), pads=(1, 1, 1, 1)),
    "many rows": make_conv((3, 24, 13, 13), 8, (1, 1)),
    "no bias": make_conv((1, 8, 6, 6), 8, (3, 3), bias=False),
    "kernel larger than image": make_conv((1, 8, 2, 2), 8, (5, 5), pads=(2, 2, 2, 2)),
    "line": make_conv((2, 12, 29), 10, (5,), strides=(3,), pads=(2, 1)),
    "volume": make_conv((1, 9, 5, 6, 7), 11, (3, 2, 3), strides=(2, 1, 1), pads=(1, 0, 1, 1, 1, 0)),
    "dilated volume": make_conv((1, 9, 5, 6, 7), 5, (2, 2, 3), dilations=(3, 2, 2), pads=(1, 0, 1, 1, 1, 0)),
    "groups": make_conv((1, 24, 9, 9), 36, (3, 3), group=3, pads=(1, 1, 1, 1)),
    "small groups": make_conv((1, 12, 9, 9), 18, (3, 3), group=6, pads=(1, 1, 1, 1)),
    "wide groups": make_conv((1, 40, 5, 5), 42, (1, 1), group=2),
    "multiplier": make_conv((1, 6, 7, 7), 12, (3, 3), group=6, pads=(1, 1, 1, 1)),
    "multiplier of three": make_conv((2, 13, 9, 16), 39, (3, 3), group=13, pads=(1, 1, 1, 1), residual=True),
    "multiplier of three strided": make_conv((1, 7, 9, 33), 21, (5, 5), group=7, strides=(2, 2), pads=(2, 2, 2, 2)),
    "large multiplier": make_conv((1, 2, 5, 9), 80, (3, 3), group=2, pads=(1, 1, 1, 1), pitches=(3, 0, 2)),
    "multiplier of an image of one channel": make_conv((1, 1, 9, 9), 20, (3, 3), pads=(1, 1, 1, 1)),
    "multiplier dilated": make_conv((1, 11, 9, 16), 22, (3, 3), group=11, pads=(2, 2, 2, 2), dilations=(2, 2)),
    "depthwise apart": make_conv((1, 40, 33, 31), 40, (3, 3), group=40, pads=(12,) * 4, dilations=(12, 12)),
    "depthwise wide": make_conv((1, 20, 19, 23), 20, (9, 9), group=20, pads=(4, 4, 4, 4)),
    "depthwise past the image": make_conv((1, 18, 11, 13), 18, (31, 31), group=18, pads=(15, 15, 15, 15)),
    "depthwise every third": make_conv((1, 19, 20, 37), 19, (3, 3), group=19, strides=(3, 3), pads=(0, 0, 1, 1)),
    "depthwise of many channels": make_conv((1, 600, 5, 16), 600, (3, 3), group=600, pads=(1, 1, 1, 1)),
    "depthwise of blocks of channels": make_conv((1, 70, 31, 300), 70, (9, 3), group=70, dilations=(3, 1)),
    "deep volume": make_conv((1, 40, 4, 5, 6), 20, (3, 3, 3), pads=(1, 1, 1, 1, 1, 1), residual=True),
    "deep volume of groups": make_conv((2, 80, 3, 4, 5), 48, (3, 3, 3), group=2, pads=(1, 1, 1, 1, 1, 1)),
    "volume of few channels": make_conv((1, 3, 5, 9, 8), 35, (3, 5, 5), strides=(1, 2, 2), pads=(1, 2, 2, 1, 2, 2)),
    "taps far outside": make_conv((1, 24, 5, 6), 33, (3, 3), pads=(4, 4, 4, 4), dilations=(4, 4)),
    "windows of padding alone": make_conv((2, 20, 3, 2), 16, (3, 3), pads=(4, 5, 6, 4), strides=(2, 1)),
    "narrow groups": make_conv((2, 36, 9, 10), 36, (3, 3), narrow=True, group=9, pads=(1, 1, 1, 1), pitches=(5, 3, 7)),
    "narrow line": make_conv((1, 40, 29), 40, (3,), narrow=True, group=5, pads=(1, 1), epilogue=SILU),
    "narrow volume": make_conv((1, 18, 4, 5, 16), 18, (2, 3, 3), narrow=True, group=9, pads=(1, 1, 1, 0, 1, 1)),
    "narrow groups of other windows": make_conv((1, 24, 7, 9), 24, (3, 1), narrow=True, group=6, pads=(1, 0, 1, 0)),
    "long line": make_conv((1, 70, 43), 70, (31,), group=70, pads=(15, 15)),
    "depthwise": make_conv((2, 37, 9, 8), 37, (3, 3), group=37, pads=(1, 1, 1, 1)),
    "depthwise strided": make_conv((1, 16, 9, 9), 16, (5, 5), group=16, strides=(2, 2), pads=(1, 2, 3, 2)),
    "depthwise dilated": make_conv((1, 48, 12), 48, (3,), group=48, pads=(4, 2), dilations=(3,)),
    "depthwise volume of lines": make_conv((1, 21, 4, 5, 16), 21, (2, 3, 3), group=21, pads=(1, 1, 1, 0, 1, 1)),
    "depthwise volume": make_conv((1, 5, 4, 5, 6), 5, (2, 3, 3), group=5, pads=(1, 1, 1, 0, 1, 1)),
    "pitch": make_conv((1, 17, 7, 5), 19, (3, 3), pads=(1, 1, 1, 1), residual=True, pitches=(15, 13, 29)),
    "depthwise pitch": make_conv((1, 18, 6, 5), 18, (3, 3), group=18, residual=True, pitches=(14, 2, 30)),
    "empty batch": make_conv((0, 8, 6, 6), 8, (3, 3)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(native: Native, name: str, threads: int) -> None:
    assert_agrees(native, SHAPES[name], threads)


@pytest.mark.parametrize("group", [1, 20])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epilogues(native: Native, activation: str, group: int) -> None:
    epilogue = {"activation": activation, "alpha": 0.3, "beta": 0.7}
    case = make_conv((1, 20, 6, 5), 20, (3, 3), group=group, residual=True, pads=(1, 1, 1, 1), epilogue=epilogue)
    assert_agrees(native, case)


@pytest.mark.parametrize("channels", [1, 2, 7, 8, 15, 16, 17, 23, 24, 25, 31, 39, 40, 41, 48, 55, 56, 57, 255, 257])
def test_channel_counts(native: Native, channels: int) -> None:
    assert_agrees(native, make_conv((1, channels, 5, 3), channels, (2, 2), residual=True), 2)


@pytest.mark.parametrize("pixels", [1, 2, 3, 5, 6, 7, 11, 12, 13, 25, 143, 144, 145, 289])
@pytest.mark.parametrize("filters", [16, 24, 40])
def test_row_counts(native: Native, pixels: int, filters: int) -> None:
    assert_agrees(native, make_conv((1, 19, pixels), filters, (1,)), 2)


@pytest.mark.parametrize("groups", [2, 3, 5, 7, 9])
@pytest.mark.parametrize("columns", [1, 6, 7, 8, 15])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 1), (1, 2)])
@pytest.mark.parametrize("size", [2, 4, 8])
def test_narrow_groups(native: Native, size: int, stride: int, dilation: int, columns: int, groups: int) -> None:
    """Lines of chunks and single pixels, groups that fill parts of a vector, one and several."""
    channels, width = size * groups, (columns - 1) * stride + 2 * dilation - 1
    window = {"strides": (2, stride), "dilations": (1, dilation), "pads": (1, 1, 0, 1)}
    case = make_conv((2, channels, 5, width), channels, (3, 3), group=groups, narrow=True, residual=True, **window)
    assert_agrees(native, case, 3)


@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("columns", [1, 6, 7, 8, 13, 15])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("taps", [2, 3, 5, 7, 9])
def test_depthwise_lines(native: Native, taps: int, stride: int, columns: int, multiplier: int) -> None:
    """Chunks with and without borders, the last one over the one before; two vectors of channels and a part."""
    width, channels = (columns - 1) * stride + 2, 37 // multiplier
    pads = (taps // 2, taps // 2, taps // 2, taps - 1 - taps // 2)
    window = {"strides": (2, stride), "pads": pads, "group": channels}
    case = make_conv((2, channels, 6, width), channels * multiplier, (taps, taps), residual=True, **window)
    assert_agrees(native, case, 2)
