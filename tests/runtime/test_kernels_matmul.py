"""Matrix products of the C library against their numpy definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autofusion.plan import ACTIVATIONS
from autofusion.runtime.native import Native
from runtime.steps import PLAIN_EPILOGUE, Case, assert_agrees


def make_matmul(
    a: tuple[int, ...],
    b: tuple[int, ...],
    *,
    trans_a: bool = False,
    trans_b: bool = False,
    scale: float = 1.0,
    packed: bool = False,
    bias: bool = False,
    residual: bool = False,
    epilogue: dict[str, Any] = PLAIN_EPILOGUE,
) -> Case:
    """A product of random matrices of the shapes [..., M, K] and [..., K, N], stored transposed where asked."""
    random = np.random.default_rng(3)
    shape = (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    left, right = random.standard_normal(a) / np.sqrt(max(1, a[-1])), random.standard_normal(b)
    operands = [
        left.swapaxes(-1, -2) if trans_a else left,
        right.swapaxes(-1, -2) if trans_b else right,
        random.standard_normal(b[-1]) if bias else None,
        random.standard_normal(shape) if residual else None,
    ]
    attributes = {"trans_a": trans_a, "trans_b": trans_b, "scale": scale, "packed": packed, **epilogue}
    stored = [None if array is None else np.ascontiguousarray(array, np.float32) for array in operands]
    return Case("matmul", stored, attributes, shape)


SHAPES = {
    "one": make_matmul((1, 1), (1, 1)),
    "vector": make_matmul((1, 300), (300, 17), packed=True, bias=True),
    "primes": make_matmul((13, 37), (37, 19)),
    "packed primes": make_matmul((13, 37), (37, 19), packed=True, bias=True, residual=True, scale=0.5),
    "packed and stacked": make_matmul((2, 5, 7, 11), (11, 33), packed=True, bias=True),
    "deep": make_matmul((7, 521), (521, 18)),
    "tall": make_matmul((301, 9), (9, 16), packed=True),
    "very tall": make_matmul((611, 9), (9, 16), bias=True),
    "transposed a": make_matmul((150, 300), (300, 33), trans_a=True),
    "transposed b": make_matmul((5, 270), (270, 31), trans_b=True),
    "transposed both": make_matmul((3, 17, 20), (3, 20, 15), trans_a=True, trans_b=True),
    "batches": make_matmul((2, 3, 5, 8), (2, 3, 8, 7), residual=True),
    "batches broadcast": make_matmul((2, 1, 5, 8), (3, 8, 7), bias=True),
    "batches broadcast both ways": make_matmul((2, 1, 4, 1, 5, 8), (1, 3, 1, 2, 8, 7), scale=2.0),
    "matrix of a": make_matmul((5, 8), (4, 8, 7)),
    "matrix of b": make_matmul((4, 3, 5, 8), (8, 7)),
    "column": make_matmul((40, 8), (8, 1)),
    "no depth": make_matmul((3, 0), (0, 5), bias=True),
    "no rows": make_matmul((0, 4), (4, 5)),
    "no matrices": make_matmul((0, 3, 4), (0, 4, 5)),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(native: Native, name: str, threads: int) -> None:
    assert_agrees(native, SHAPES[name], threads)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epilogues(native: Native, activation: str) -> None:
    epilogue = {"activation": activation, "alpha": 0.3, "beta": 0.7}
    assert_agrees(native, make_matmul((9, 20), (20, 21), scale=0.25, bias=True, residual=True, epilogue=epilogue))
