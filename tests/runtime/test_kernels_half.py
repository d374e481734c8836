"""Weights of two bytes an element: every kernel that widens them, in every instruction set, against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import DType
from autofusion.runtime.native import Native
from runtime.free_steps import run_step
from runtime.steps import PLAIN_EPILOGUE, Bench, Case, assert_agrees

HALVES = [DType.FLOAT16.numpy, DType.BFLOAT16.numpy]


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


@pytest.fixture(params=HALVES, ids=str)
def half(request: pytest.FixtureRequest) -> np.dtype[np.generic]:
    return request.param


PRODUCT = {"trans_a": False, "trans_b": False, "scale": 1.0, "packed": True, **PLAIN_EPILOGUE}


@pytest.mark.parametrize("depth", [1, 3, 4, 257, 1031])
@pytest.mark.parametrize("columns", [1, 15, 16, 17, 50])
@pytest.mark.parametrize("rows", [1, 2, 4, 5, 11, 12, 13, 31])
def test_product(native: Native, half: np.dtype[np.generic], rows: int, columns: int, depth: int) -> None:
    weight = (draw(depth, columns) / depth**0.5).astype(half)
    case = Case("matmul", [draw(rows, depth), weight, draw(columns), draw(rows, columns)], PRODUCT, (rows, columns))
    assert_agrees(native, case, 2)


def test_parts_of_a_deep_product(native: Native, half: np.dtype[np.generic]) -> None:
    weight = (draw(6000, 35) / 77).astype(half)
    for rows in (1, 14, 250):
        settings = {**PRODUCT, "norm": "layer", "epsilon": 1e-5, "activation": "Relu"}
        assert_agrees(native, Case("matmul", [draw(rows, 6000), weight], settings, (rows, 35)), 2)


def every_number(half: np.dtype[np.generic]) -> np.ndarray:
    """All bit patterns: subnormal numbers, both zeros, infinities and NaN among them."""
    return np.arange(1 << 16, dtype=np.uint16).view(half)


def assert_same_numbers(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(actual, expected)
    regular = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual[regular]), np.signbit(expected[regular]))


def test_gather_widens_every_number(native: Native, half: np.dtype[np.generic]) -> None:
    numbers = every_number(half).reshape(128, 512)
    for width in (1, 7, 16, 511, 512):
        table, rows = numbers[:, :width], np.arange(128) - 128
        case = Case("gather", [np.ascontiguousarray(table), rows], {"axis": 0}, (128, width))
        assert_same_numbers(Bench(case, 2).run(native), table.astype(np.float32))


def test_product_widens_every_number(native: Native, half: np.dtype[np.generic]) -> None:
    numbers = every_number(half)
    numbers = numbers[~np.isnan(numbers.astype(np.float32))]
    case = Case("matmul", [np.ones((1, 1), np.float32), numbers.reshape(1, -1)], PRODUCT, (1, len(numbers)))
    np.testing.assert_array_equal(Bench(case).run(native)[0], numbers.astype(np.float32))


def test_rounding(native: Native, half: np.dtype[np.generic]) -> None:
    """Every number of the type, the ties between neighbours, what lies beside a tie, and what is too large."""
    numbers = np.sort(every_number(half).astype(np.float32))
    numbers = numbers[np.isfinite(numbers)]
    ties = ((numbers[1:].astype(np.float64) + numbers[:-1]) / 2).astype(np.float32)
    beside = [np.nextafter(ties, np.float32(end)) for end in (np.inf, -np.inf)]
    far = np.array([65519, 65520, 65536, 1e30, 3.4e38, np.inf, np.nan, 1e-30, 1e-45], np.float32)
    x = np.concatenate([numbers, ties, *beside, far, -far])
    with np.errstate(over="ignore"):
        expected = x.astype(half).astype(np.float32)
    settings = {"op": "ToFloat16" if half == np.float16 else "ToBfloat16", "alpha": 0.0, "beta": 0.0}
    assert_same_numbers(Bench(Case("unary", [x], settings, x.shape), 2).run(native), expected)


@pytest.mark.parametrize("width", [1, 15, 33])
def test_embedding(native: Native, half: np.dtype[np.generic], width: int) -> None:
    ids, kinds = np.array([[1, -1, 3]]), np.array([[0, 1, 0]], np.int32)
    words, types, places = draw(9, width).astype(half), draw(2, width).astype(half), draw(1, 3, width)
    settings = {"norm": "", "epsilon": 0.0}
    (found,) = run_step(native, "embedding", [words, ids, types, kinds, places], settings, [(1, 3, width)])
    np.testing.assert_array_equal(found, words.astype(np.float32)[ids] + types.astype(np.float32)[kinds] + places)
