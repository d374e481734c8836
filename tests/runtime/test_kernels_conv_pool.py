"""A convolution and the pool of its result as one step of the C library, against their numpy definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autofusion.ops.definitions.conv import conv
from autofusion.ops.definitions.pool import pool
from autofusion.runtime.native import Native
from runtime.steps import PLAIN_EPILOGUE, Bench, Case, assert_agrees, define

RELU = {"activation": "Relu", "alpha": 0.0, "beta": 0.0}


def window(kernel: tuple[int, ...], strides: int = 1, pads: tuple[int, ...] = (), dilation: int = 1) -> dict[str, Any]:
    axes = len(kernel)
    extents = {"kernel": list(kernel), "strides": [strides] * axes, "pads": list(pads or (0,) * 2 * axes)}
    return extents | {"dilations": [dilation] * axes}


def count_windows(extent: int, one: dict[str, Any], axis: int, ceil_mode: bool = False) -> int:
    kernel, pads = one["kernel"], one["pads"]
    room = extent + pads[axis] + pads[axis + len(kernel)] - (kernel[axis] - 1) * one["dilations"][axis] - 1
    return (-(-room // one["strides"][axis]) if ceil_mode else room // one["strides"][axis]) + 1


def make_case(
    x: tuple[int, ...],
    filters: int,
    first: dict[str, Any],
    pooled: dict[str, Any] | None,
    *,
    kind: str = "max",
    include_pad: bool = False,
    ceil_mode: bool = False,
    group: int = 1,
    winograd: int = 0,
    residual: bool = False,
    bias: bool = True,
    pitches: tuple[int, int, int] = (0, 0, 0),
    epilogue: dict[str, Any] = RELU,
) -> Case:
    """`pooled` of None is the whole image; `pitches` are by how much those of x, residual and y exceed the channels."""
    axes = len(x) - 2
    inner = (x[0], filters, *(count_windows(x[2 + axis], first, axis) for axis in range(axes)))
    spatial: tuple[int, ...] = (1,) * axes
    attributes: dict[str, Any] = {**first, "group": group, **epilogue}
    attributes |= {"winograd": winograd} if winograd else {}
    attributes |= {"pool_kind": kind, "pool_is_global": pooled is None}
    if pooled is not None:
        spatial = tuple(count_windows(inner[2 + axis], pooled, axis, ceil_mode) for axis in range(axes))
        attributes |= {f"pool_{name}": value for name, value in {**pooled, "include_pad": include_pad}.items()}
    random = np.random.default_rng(13)
    depth = x[1] // group * math.prod(first["kernel"])
    operands = [
        random.standard_normal(x),
        random.standard_normal((filters, x[1] // group, *first["kernel"])) / math.sqrt(depth),
        random.standard_normal(filters) if bias else None,
        random.standard_normal(inner) if residual else None,
    ]
    return Case(
        "conv_pool",
        [None if array is None else array.astype(np.float32) for array in operands],
        attributes,
        (x[0], filters, *spatial),
        ("nhwc", "plain", "plain", "nhwc"),
        {0: x[1] + pitches[0], 3: filters + pitches[1]},
        "nhwc",
        filters + pitches[2],
    )


POINT, THREE = window((1, 1)), window((3, 3), pads=(1, 1, 1, 1))
STEM = window((7, 7), 2, (3, 3, 3, 3))
HALVE, OVERLAP = window((2, 2), 2), window((3, 3), 2, (1, 1, 1, 1))
# More than one band of 192 KiB.
WIDE = (1, 5, 37, 301)

SHAPES = {
    "one pixel": make_case((1, 2, 1, 1), 1, POINT, HALVE, ceil_mode=True),
    "stem": make_case((1, 3, 31, 29), 24, STEM, OVERLAP),
    "bands": make_case(WIDE, 37, THREE, OVERLAP),
    "bands of averages": make_case(WIDE, 40, THREE, window((3, 2), 1), kind="average"),
    "bands in steps": make_case((2, 9, 41, 67), 64, THREE, OVERLAP, winograd=4, residual=True),
    "bands in small steps": make_case(WIDE, 35, THREE, window((2, 3), 3, (1, 2, 0, 1)), winograd=2),
    "bands with gaps between windows": make_case(WIDE, 33, THREE, window((2, 2), 5), winograd=4),
    "tall windows": make_case(WIDE, 32, THREE, window((7, 3), 2, (3, 1, 3, 1)), winograd=4),
    "windows of padding alone": make_case((1, 4, 5, 5), 8, POINT, window((2, 2), 2, (3, 3, 3, 3)), kind="average"),
    "padding counts": make_case((2, 7, 9, 11), 13, THREE, OVERLAP, kind="average", include_pad=True),
    "ceil mode": make_case((1, 7, 10, 12), 13, THREE, OVERLAP, kind="average", include_pad=True, ceil_mode=True),
    "dilated pool": make_case((1, 6, 17, 15), 20, THREE, window((3, 3), 1, (2, 1, 2, 1), 2)),
    "groups": make_case((1, 12, 13, 11), 20, THREE, HALVE, group=4),
    "few channels in groups": make_case((1, 4, 13, 11), 34, THREE, HALVE, group=2),
    "deep": make_case((1, 300, 6, 7), 17, POINT, HALVE, residual=True),
    "no bias": make_case((1, 8, 9, 9), 16, THREE, HALVE, bias=False, epilogue=PLAIN_EPILOGUE),
    "pitches": make_case((1, 9, 12, 7), 19, THREE, OVERLAP, residual=True, pitches=(7, 13, 29)),
    "whole image": make_case((2, 9, 13, 17), 37, POINT, None, kind="average"),
    "whole image, largest": make_case((2, 9, 13, 17), 300, POINT, None, residual=True, pitches=(3, 5, 7)),
    "whole image in steps": make_case((2, 9, 13, 18), 150, THREE, None, kind="average", winograd=4, residual=True),
    "whole image in small steps": make_case((1, 9, 13, 19), 40, THREE, None, winograd=2),
    "whole deep image": make_case((1, 261, 7, 7), 129, THREE, None, kind="average", bias=False),
    "whole line": make_case((2, 6, 159), 20, window((5,), 3, (2, 1)), None, kind="average"),
    "whole volume": make_case((1, 3, 5, 4, 6), 21, window((2, 3, 1)), None),
    "empty batch": make_case((0, 4, 6, 6), 8, THREE, HALVE),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(native: Native, name: str, threads: int) -> None:
    tolerance = 1e-5 if SHAPES[name].attributes.get("winograd") else 2e-6
    assert_agrees(native, SHAPES[name], threads, tolerance)


@pytest.mark.parametrize("lines", [1, 2, 3, 4, 5, 7, 8, 13, 16, 17])
@pytest.mark.parametrize("winograd", [0, 2, 4])
def test_line_counts(native: Native, lines: int, winograd: int) -> None:
    """Tiles that end in the image and past it, shares of no lines."""
    assert_agrees(native, make_case((2, 5, lines, 9), 16, THREE, OVERLAP, winograd=winograd), 3, 1e-5)


@pytest.mark.parametrize("activation", ["", "LeakyRelu", "Clip", "SiLU"])
def test_epilogues(native: Native, activation: str) -> None:
    epilogue = {"activation": activation, "alpha": 0.3, "beta": 0.7}
    assert_agrees(native, make_case((1, 20, 6, 5), 20, THREE, OVERLAP, residual=True, epilogue=epilogue))


def test_nan_reaches_every_window_over_it(native: Native) -> None:
    case = make_case((1, 8, 12, 12), 16, POINT, OVERLAP)
    x = case.operands[0]
    assert x is not None
    x[0, 3, 5, 5] = np.nan
    result = Bench(case).run(native)
    assert np.isnan(define(case)).any()
    np.testing.assert_array_equal(np.isnan(result), np.isnan(define(case)))


def test_definition_is_one_after_the_other() -> None:
    case = SHAPES["stem"]
    x, weight, bias, _ = case.operands
    settings = {name.removeprefix("pool_"): value for name, value in case.attributes.items() if "pool_" in name}
    inner, _ = conv([x, weight, bias, None], case.attributes, (1, 24, 16, 15))
    expected = pool([inner], settings, case.shape)
    np.testing.assert_allclose(define(case), expected, rtol=0, atol=1e-5)
