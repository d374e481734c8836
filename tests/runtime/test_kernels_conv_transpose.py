"""Transposed convolutions of the C library against their numpy definition, infinities included."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from autofusion.runtime.native import Native
from runtime.steps import PLAIN_EPILOGUE, Bench, Case, assert_agrees, define


def make_transposed(
    x: tuple[int, ...],
    filters: int,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    *,
    group: int = 1,
    pads: tuple[int, ...] = (),
    dilations: tuple[int, ...] = (),
    more: tuple[int, ...] = (),
    bias: bool = True,
    pitches: tuple[int, int] = (0, 0),
    epilogue: dict[str, Any] = PLAIN_EPILOGUE,
) -> Case:
    """`pads` are cut off before and behind, `more` are added behind; `pitches` exceed the channels of x and y by so."""
    axes = len(kernel)
    pads, more, dilations = pads or (0,) * 2 * axes, more or (0,) * axes, dilations or (1,) * axes
    spatial = tuple(
        (x[2 + axis] - 1) * strides[axis]
        + (kernel[axis] - 1) * dilations[axis]
        + 1
        + more[axis]
        - pads[axis]
        - pads[axes + axis]
        for axis in range(axes)
    )
    random = np.random.default_rng(5)
    depth = x[1] // group * math.prod(kernel) / math.prod(strides)
    operands = [
        random.standard_normal(x),
        random.standard_normal((x[1], filters // group, *kernel)) / math.sqrt(max(depth, 1)),
        random.standard_normal(filters) if bias else None,
    ]
    settings = {"kernel": [*kernel], "strides": [*strides], "pads": [*pads[:axes]], "dilations": [*dilations]}
    return Case(
        "conv_transpose",
        [None if array is None else array.astype(np.float32) for array in operands],
        {**settings, "group": group, **epilogue},
        (x[0], filters, *spatial),
        ("nhwc",),
        {0: x[1] + pitches[0]},
        "nhwc",
        filters + pitches[1],
    )


SHAPES = {
    "doubled": make_transposed((1, 16, 7, 5), 16, (2, 2), (2, 2)),
    "overlapping": make_transposed((2, 13, 9, 11), 17, (4, 4), (2, 2), pads=(1, 1, 1, 1)),
    "with an edge": make_transposed((1, 24, 8, 7), 40, (3, 3), (2, 2), pads=(1, 1, 1, 1), more=(1, 1)),
    "one pixel": make_transposed((1, 33, 1, 1), 48, (4, 4), (1, 1)),
    "few filters": make_transposed((2, 20, 9, 8), 3, (4, 4), (2, 2), pads=(1, 1, 1, 1)),
    "few filters, uneven phases": make_transposed((1, 20, 6, 8), 5, (5, 3), (2, 2), pads=(3, 0, 1, 1), more=(0, 1)),
    "few filters with gaps": make_transposed((1, 9, 5, 6), 7, (1, 2), (3, 4), more=(2, 1), pitches=(3, 2)),
    "one filter": make_transposed((1, 1, 5, 4), 1, (3, 3), (2, 2)),
    "many filters": make_transposed((1, 10, 13, 14), 150, (2, 3), (2, 2), pitches=(6, 10)),
    "many pixels": make_transposed((1, 4, 31, 29), 9, (3, 3), (2, 2), pads=(1, 1, 1, 1)),
    "gaps between": make_transposed((1, 8, 4, 5), 19, (1, 2), (3, 4)),
    "dilated": make_transposed((1, 6, 7, 6), 20, (3, 2), (2, 3), dilations=(2, 3), pads=(1, 1, 0, 0)),
    "dilated beside the stride": make_transposed((1, 6, 7, 6), 20, (3, 4), (3, 4), dilations=(2, 6), pads=(2, 1, 0, 3)),
    "cropped": make_transposed((1, 12, 5, 6), 18, (2, 2), (2, 2), pads=(3, 2, 1, 4)),
    "edges of zeros": make_transposed((1, 6, 2, 3), 18, (2, 2), (3, 3), more=(2, 1)),
    "one stride": make_transposed((1, 18, 6, 5), 21, (3, 3), (1, 1), pads=(1, 1, 1, 1)),
    "groups": make_transposed((1, 24, 5, 6), 40, (3, 3), (2, 2), group=2, pads=(1, 1, 0, 0)),
    "small groups": make_transposed((1, 12, 5, 6), 18, (4, 4), (2, 2), group=6, pads=(1, 1, 1, 1)),
    "single channels": make_transposed((2, 37, 5, 9), 37, (4, 4), (2, 2), group=37, pads=(1, 1, 1, 1), pitches=(3, 7)),
    "single channels apart": make_transposed((1, 21, 4, 11), 21, (2, 1), (3, 4), group=21, more=(1, 2)),
    "two filters of single channels": make_transposed((1, 9, 5, 9), 18, (4, 3), (2, 2), group=9, pads=(1, 1, 1, 1)),
    "single dilated channels": make_transposed(
        (1, 9, 6, 9), 9, (3, 3), (2, 2), group=9, dilations=(2, 3), pads=(1,) * 4
    ),
    "a row": make_transposed((2, 11, 13), 19, (5,), (3,), pads=(2, 1), more=(2,)),
    "a volume": make_transposed((1, 9, 3, 4, 5), 17, (2, 3, 2), (2, 1, 3), pads=(0, 1, 1, 0, 1, 0)),
    "a volume of single channels": make_transposed(
        (1, 9, 3, 4, 5), 9, (4, 2, 3), (2, 2, 2), group=9, pads=(1, 0, 1) * 2
    ),
    "no bias": make_transposed((1, 8, 5, 5), 24, (2, 2), (2, 2), bias=False),
    "deep": make_transposed((1, 600, 3, 3), 20, (2, 2), (2, 2)),
    "empty batch": make_transposed((0, 8, 5, 5), 24, (2, 2), (2, 2)),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(native: Native, name: str, threads: int) -> None:
    assert_agrees(native, SHAPES[name], threads)


@pytest.mark.parametrize("filters", [1, 7, 8, 9, 15, 16, 17, 127, 128, 129])
def test_filter_counts(native: Native, filters: int) -> None:
    assert_agrees(native, make_transposed((1, 11, 4, 7), filters, (3, 3), (2, 2), pads=(1, 1, 1, 1)), 2)


@pytest.mark.parametrize("group", [1, 3, 6])
@pytest.mark.parametrize("stride", [1, 2, 3, 5])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
def test_infinities_reach_what_their_taps_reach(native: Native, kernel: int, stride: int, group: int) -> None:
    for dilation, pad in itertools.product((1, 2, 3), (0, 1)):
        if (kernel - 1) * dilation < 2 * pad:
            continue
        case = make_transposed(
            (1, 6, 3, 9),
            6,
            (kernel, kernel),
            (stride, stride),
            group=group,
            dilations=(dilation, dilation),
            pads=(pad,) * 4,
            more=(stride - 1, 0),
        )
        x = case.operands[0]
        assert x is not None
        x[0, 1, 1, 4], x[0, 4, 0, 0], x[0, 5, 2, 8] = np.inf, -np.inf, np.nan
        assert_agrees(native, case, 2)


@pytest.mark.parametrize("rank", [1, 3])
def test_infinities_of_lines_and_volumes(native: Native, rank: int) -> None:
    for kernel, stride in ((3, 2), (4, 2), (2, 3), (5, 3)):
        case = make_transposed((1, 9, *(3, 3, 5)[-rank:]), 18, (kernel,) * rank, (stride,) * rank)
        x = case.operands[0]
        assert x is not None
        x[(0, 4, *[1] * rank)] = np.inf
        found = Bench(case).run(native)
        assert np.isinf(found).any()
        assert not np.isnan(found).any()
        assert_agrees(native, case)


def test_the_definition_adds_what_every_pixel_gives() -> None:
    case = make_transposed((1, 4, 3, 2), 6, (3, 2), (2, 3), group=2, pads=(1, 0, 0, 1), dilations=(1, 2))
    x, weight, bias = (np.asarray(array, np.float64) for array in case.operands)
    expected = np.zeros(case.shape) + bias.reshape(-1, 1, 1)
    for channel, row, column, m, i, j in np.ndindex(4, 3, 2, 3, 3, 2):
        place = (row * 2 + i - 1, column * 3 + j * 2)
        if 0 <= place[0] < case.shape[2] and place[1] < case.shape[3]:
            expected[0, channel // 2 * 3 + m][place] += x[0, channel, row, column] * weight[channel, m, i, j]
    np.testing.assert_allclose(define(case), expected, rtol=0, atol=1e-12)
