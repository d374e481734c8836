"""Filters of two bytes an element: every step that widens them, against its definition and against itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autofusion.ir import DType
from autofusion.lowering.packing import pack_conv_weight
from autofusion.runtime.native import Native
from runtime.cases import WEIGHTS, narrowed
from runtime.free_steps import run_step
from runtime.steps import Bench, Case, assert_agrees
from runtime.test_kernels_conv import SHAPES as CONVS
from runtime.test_kernels_conv import make_conv
from runtime.test_kernels_conv_depthwise import SHAPES as DEPTHWISE
from runtime.test_kernels_conv_pool import SHAPES as POOLED
from runtime.test_kernels_conv_transpose import SHAPES as TRANSPOSED
from runtime.test_kernels_excite import GATED, MEANS, make_excite

Half = np.dtype[np.generic]
PAD = (1, 1, 1, 1)
TILES = {
    "tiles": make_conv((2, 21, 9, 11), 37, (3, 3), pads=PAD, winograd=4, residual=True),
    "small tiles": make_conv((1, 300, 7, 6), 70, (3, 3), pads=PAD, winograd=2),
    "many tiles": make_conv((1, 5, 31, 29), 16, (3, 3), winograd=4),
}
EXCITED = {
    "one": make_excite(1, 1, 1, 1),
    "parts of vectors": make_excite(3, 31, 5, 33, bias=False),
    "whole vectors": make_excite(2, 96, 8, 64),
    "more than panels": make_excite(1, 1153, 49, 1155),
}
DEEP = {
    "many taps of few channels": make_conv((1, 9, 11, 11), 35, (7, 7)),
    "runs of just a block": make_conv((1, 256, 5, 5), 24, (3, 3)),
    "runs of more than half a block": make_conv((1, 200, 5, 5), 40, (3, 3)),
    "runs of more than a block": make_conv((1, 257, 13, 12), 24, (2, 2)),
    "deep groups": make_conv((1, 390, 5, 5), 60, (3, 3), group=2),
}
CASES = {
    f"{kind}: {name}": case
    for kind, cases in {
        "conv": CONVS | DEEP,
        "tiles": TILES,
        "gated": GATED,
        "excite": EXCITED,
        "means": MEANS,
        "pool": POOLED,
        "depthwise": DEPTHWISE,
        "transposed": TRANSPOSED,
    }.items()
    for name, case in cases.items()
}


@pytest.fixture(params=[DType.FLOAT16.numpy, DType.BFLOAT16.numpy], ids=str)
def half(request: pytest.FixtureRequest) -> Half:
    return request.param


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "winograd" not in case.attributes])
def test_it_computes_with_the_rounded_filters(native: Native, half: Half, name: str) -> None:
    assert_agrees(native, narrowed(CASES[name], half), 2)


@pytest.mark.parametrize("name", CASES)
def test_widened_filters_give_the_same_bits(native: Native, half: Half, name: str) -> None:
    narrow, wide = Bench(narrowed(CASES[name], half), 3), Bench(widen(narrowed(CASES[name], half)), 3)
    # Of filters that are transformed, what is rounded is the transformed ones.
    wide.weights[:] = narrow.weights.view(half).astype(np.float32).view(np.uint8)
    np.testing.assert_array_equal(narrow.run(native), wide.run(native))
    for ours, theirs in zip(narrow.further, wide.further, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def widen(case: Case) -> Case:
    weights = WEIGHTS[case.kernel]
    operands = [
        array.astype(np.float32) if array is not None and place in weights else array
        for place, array in enumerate(case.operands)
    ]
    return replace(case, operands=operands)


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize(("filters", "channels"), [(16, 1), (32, 7), (48, 17), (16, 31)])
def test_filters_of_tiles_are_made_of_widened_ones(
    native: Native, half: Half, filters: int, channels: int, tile: int
) -> None:
    weight = np.random.default_rng(1).standard_normal((filters, channels, 3, 3), np.float32).astype(half)
    shape = ((tile + 2) ** 2, filters // 16, channels, 16)
    packed = pack_conv_weight(weight.astype(np.float32), 1).reshape(weight.shape)
    (narrow,) = run_step(native, "filter", [packed.astype(half)], {"tile": tile}, [shape], 3)
    (wide,) = run_step(native, "filter", [packed], {"tile": tile}, [shape], 3)
    np.testing.assert_array_equal(narrow, wide)
