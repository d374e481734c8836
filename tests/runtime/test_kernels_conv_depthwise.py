"""A convolution and the depthwise one after it as one step of the C library, against their numpy definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autofusion.ops.definitions.conv import conv
from autofusion.plan import ACTIVATIONS
from autofusion.runtime.native import Native
from runtime.steps import Bench, Case, assert_agrees, define

SILU = {"activation": "SiLU", "alpha": 1.0, "beta": 0.0}
# Of 0 it gives 0.5: padding must not be computed from the bias alone.
SIGMOID = {"activation": "Sigmoid", "alpha": 0.0, "beta": 0.0}


def window(kernel: tuple[int, ...], strides: int = 1, pad: int = 0, dilations: int = 1) -> dict[str, Any]:
    axes = len(kernel)
    extents = {"kernel": list(kernel), "strides": [strides] * axes, "pads": [pad] * 2 * axes}
    return extents | {"dilations": [dilations] * axes}


def count_windows(extent: int, one: dict[str, Any], axis: int) -> int:
    pads = one["pads"][axis] + one["pads"][axis + len(one["kernel"])]
    return (extent + pads - (one["kernel"][axis] - 1) * one["dilations"][axis] - 1) // one["strides"][axis] + 1


def make_case(
    x: tuple[int, ...],
    filters: int,
    depth: dict[str, Any],
    *,
    first: dict[str, Any] | None = None,
    biases: tuple[bool, bool] = (True, True),
    pitches: tuple[int, int] = (0, 0),
    inner: dict[str, Any] = SIGMOID,
    outer: dict[str, Any] = SILU,
) -> Case:
    """`pitches` are by how much those of x and y exceed the channels."""
    axes = len(x) - 2
    first = first or window((1,) * axes)
    spatial = tuple(count_windows(count_windows(x[2 + axis], first, axis), depth, axis) for axis in range(axes))
    random = np.random.default_rng(11)
    count = x[1] * math.prod(first["kernel"])
    operands = [
        random.standard_normal(x),
        random.standard_normal((filters, x[1], *first["kernel"])) / math.sqrt(count),
        random.standard_normal(filters) if biases[0] else None,
        random.standard_normal((filters, 1, *depth["kernel"])),
        random.standard_normal(filters) if biases[1] else None,
    ]
    attributes = {**first, **{f"depth_{name}": value for name, value in depth.items()}}
    attributes |= {f"inner_{name}": value for name, value in inner.items()}
    return Case(
        "conv_depthwise",
        [None if array is None else array.astype(np.float32) for array in operands],
        {**attributes, **outer},
        (x[0], filters, *spatial),
        ("nhwc",),
        {0: x[1] + pitches[0]},
        "nhwc",
        filters + pitches[1],
    )


THREE, FIVE = window((3, 3), pad=1), window((5, 5), pad=2)
SHAPES = {
    "one pixel": make_case((1, 1, 1, 1), 1, THREE),
    "primes": make_case((1, 13, 11, 7), 17, THREE),
    "two images": make_case((2, 8, 9, 10), 33, FIVE),
    "strided": make_case((1, 24, 15, 17), 144, window((3, 3), strides=2, pad=1)),
    "wide lines": make_case((1, 5, 6, 199), 31, FIVE),
    "large image": make_case((1, 24, 67, 63), 70, THREE),
    "large image strided": make_case((2, 24, 67, 63), 40, window((5, 5), strides=2, pad=2)),
    "no padding": make_case((1, 16, 9, 9), 48, window((3, 3))),
    "padding alone": make_case((1, 4, 2, 3), 8, window((3, 3), pad=5)),
    "uneven padding": make_case((1, 8, 8, 9), 32, {**window((3, 3)), "pads": [0, 1, 2, 0]}),
    "strides past the window": make_case((1, 6, 23, 23), 20, window((3, 3), strides=5)),
    "dilated": make_case((1, 6, 14, 13), 65, window((3, 3), pad=2, dilations=2)),
    "window larger than image": make_case((1, 8, 2, 2), 16, window((7, 7), pad=3)),
    "no biases": make_case((1, 8, 6, 6), 24, THREE, biases=(False, False)),
    "pitches": make_case((1, 7, 8, 7), 19, THREE, pitches=(9, 13)),
    "deep": make_case((1, 600, 5, 5), 40, THREE),
    "stem": make_case((1, 3, 21, 23), 32, THREE, first=window((3, 3), strides=2, pad=1)),
    "first window with gaps": make_case((1, 9, 12, 13), 20, THREE, first=window((2, 3), strides=2, pad=1, dilations=2)),
    "line": make_case((2, 12, 29), 10, window((5,), pad=2)),
    "empty batch": make_case((0, 8, 6, 6), 8, THREE),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(native: Native, name: str, threads: int) -> None:
    assert_agrees(native, SHAPES[name], threads)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epilogues(native: Native, activation: str) -> None:
    one, other = ({"activation": name, "alpha": 0.3, "beta": 0.7} for name in (activation, "Relu"))
    assert_agrees(native, make_case((1, 9, 7, 6), 20, THREE, inner=one, outer=other))
    assert_agrees(native, make_case((1, 9, 7, 6), 20, THREE, inner=other, outer=one))


@pytest.mark.parametrize("filters", [1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100])
def test_channel_counts(native: Native, filters: int) -> None:
    assert_agrees(native, make_case((1, 10, 7, 8), filters, THREE), 2)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 13, 31])
def test_line_counts(native: Native, rows: int, stride: int) -> None:
    """Stripes of several lines, the last one short, and more threads than lines."""
    depth = {**FIVE, "strides": [stride, 1]}
    assert_agrees(native, make_case((1, 6, rows, 19), 35, depth), 3)


def test_definition_is_that_of_two_convolutions() -> None:
    case = make_case((2, 5, 9, 8), 12, window((3, 3), strides=2, pad=1), first=window((3, 3), pad=1))
    x, weight, bias, depth_weight, depth_bias = case.operands
    inner, _ = conv([x, weight, bias], {**window((3, 3), pad=1), "group": 1, **SIGMOID}, (2, 12, 9, 8))
    depth = {**window((3, 3), strides=2, pad=1), "group": 12, **SILU}
    expected, _ = conv([inner, depth_weight, depth_bias], depth, case.shape)
    np.testing.assert_allclose(define(case), expected, rtol=1e-5, atol=1e-5)


def test_nan_stays_where_its_windows_are(native: Native) -> None:
    case = make_case((1, 8, 9, 9), 32, THREE, inner={"activation": "Relu", "alpha": 0.0, "beta": 0.0})
    x = case.operands[0]
    assert x is not None
    x[0, 3, 4, 5] = np.nan
    found = Bench(case).run(native)
    assert np.isnan(found[0, :, 3:6, 4:7]).all()
    assert np.isnan(found).sum() == 32 * 9
    assert_agrees(native, case)
