"""Winograd's filtering of the C library against the definition of the convolution."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.plan import ACTIVATIONS
from autofusion.runtime.native import Native
from runtime.steps import Bench, assert_agrees, define
from runtime.test_kernels_conv import make_conv

TOLERANCES = {2: 2e-6, 4: 6e-6}
"""Largest error, as a share of the largest element, by results of a tile each way."""


SHAPES = {
    "whole tiles": ((1, 16, 8, 8), 16, (1, 1, 1, 1)),
    "primes": ((2, 19, 11, 13), 37, (1, 1, 1, 1)),
    "one pixel": ((1, 5, 1, 1), 3, (1, 1, 1, 1)),
    "no padding": ((1, 17, 6, 9), 33, (0, 0, 0, 0)),
    "wide padding": ((1, 8, 5, 6), 8, (2, 0, 3, 1)),
    "tiles less one": ((3, 20, 7, 15), 15, (1, 1, 1, 1)),
    "many tiles": ((1, 32, 45, 39), 70, (1, 1, 1, 1)),
    "panels and some": ((1, 37, 9, 10), 41, (1, 1, 1, 1)),
    "deep": ((1, 300, 6, 6), 130, (1, 1, 1, 1)),
    "empty batch": ((0, 8, 6, 6), 8, (1, 1, 1, 1)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(native: Native, name: str, tile: int, threads: int) -> None:
    x, filters, pads = SHAPES[name]
    case = make_conv(x, filters, (3, 3), pads=pads, winograd=tile, residual=True, pitches=(3, 2, 5))
    assert_agrees(native, case, threads, TOLERANCES[tile])


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epilogues(native: Native, activation: str, tile: int) -> None:
    epilogue = {"activation": activation, "alpha": 0.3, "beta": 0.7}
    case = make_conv((1, 20, 6, 5), 20, (3, 3), pads=(1, 1, 1, 1), winograd=tile, bias=False, epilogue=epilogue)
    assert_agrees(native, case, 1, TOLERANCES[tile])


@pytest.mark.parametrize("size", [14, 28, 31])
@pytest.mark.parametrize("is_positive", [False, True])
@pytest.mark.parametrize(("tile", "most"), [(0, 3e-7), (2, 6e-7), (4, 2e-6)])
def test_rounding(native: Native, tile: int, most: float, is_positive: bool, size: int) -> None:
    """The RMS error of tiles stays a few times that of plain sums, for activations of both signs and of one.

    Plain sums have 2e-7 where additions and multiplications are fused, as in all instruction sets but x86-64-v2.
    """
    case = make_conv((1, 128, size, size), 64, (3, 3), pads=(1, 1, 1, 1), winograd=tile, bias=False)
    x = case.operands[0]
    assert x is not None
    np.maximum(x, 0 if is_positive else -4, out=x)
    expected = define(case)
    error = Bench(case).run(native) - expected
    assert np.sqrt(np.square(error).mean() / np.square(expected).mean()) < most
