"""Elementary functions over all of float32: to a millionth of the result, and to two bits where it is denormal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autofusion.ops.special import erf
from autofusion.plan import ACTIVATIONS
from autofusion.runtime.native import Native
from autofusion.runtime.records import UNARY_OPERATORS
from runtime.steps import Bench
from runtime.test_kernels_pointwise import instruct, make_case

SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)
BIT = float(np.finfo(np.float32).smallest_subnormal)
LARGEST = float(np.finfo(np.float32).max)


def from_bits(bits: np.ndarray) -> np.ndarray:
    return bits.astype(np.uint32).view(np.float32)


EDGES = from_bits(
    np.array(
        [
            *(0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000),  # to infinity
            *(0x7F800001, 0x7FC00000, 0x7FC00001, 0x7FC12345, 0x7FFFFFFF),  # NaN, told apart by their payload
        ]
    )
)
EDGES = np.concatenate([EDGES, -EDGES])
TURNS = np.array([0.35, 0.625, np.sqrt(0.5), 1, 2, 4, 6, 9.01, 87.33655, 88.72284, 103.28, 103.98, 110], np.float32)
"""Where results overflow, go under, or are computed in another way."""


def sample(step: int) -> np.ndarray:
    """Every `step`th float of all, NaN included; edges; the neighbours of turns; usual arguments densely."""
    near = (TURNS.view(np.int32)[:, np.newaxis] + np.arange(-20, 21)).ravel()
    dense = np.linspace(-110, 110, 20011, dtype=np.float32)
    return np.concatenate([EDGES, from_bits(near), -from_bits(near), from_bits(np.arange(0, 1 << 32, step)), dense])


def assert_close(x: np.ndarray, got: np.ndarray, expected: np.ndarray) -> None:
    """NaN where it is expected, and only there; signs are those expected; errors as this file allows."""
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    numbers = ~np.isnan(expected)
    x, got, expected = x[numbers], got[numbers].astype(np.float64), expected[numbers]
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))
    # Rounding may go either way where the result is nearly too large.
    bounded = np.clip(expected, -LARGEST, LARGEST)
    overflows = np.isinf(got) & (np.abs(expected) > LARGEST * (1 - 1e-6))
    allowed = np.where(np.abs(expected) < SMALLEST_NORMAL, 2 * BIT, 1e-6 * np.abs(bounded))
    with np.errstate(invalid="ignore"):
        wrong = ~overflows & ~(np.abs(got - bounded) <= allowed)
    assert not wrong.any(), [*zip(x[wrong][:5], got[wrong][:5], expected[wrong][:5], strict=True)]
    np.testing.assert_array_equal(np.isinf(expected) & np.isfinite(got), False)


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Tanh": np.tanh,
    "Erf": erf,
    "Reciprocal": lambda x: 1 / x,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions_of_all_numbers(native: Native, op: str) -> None:
    x = sample(99_991)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[op](x.astype(np.float64))
    assert_close(x, Bench(make_case([x], [instruct(op, 0)])).run(native), expected)


def test_powers_of_all_numbers(native: Native) -> None:
    random = np.random.default_rng(0)
    numbers = sample(9_999_991)
    whole = random.integers(-40, 40, 10_000).astype(np.float32)
    usual = random.uniform(-40, 40, 20_000).astype(np.float32)
    exponents = np.concatenate([np.tile(EDGES, EDGES.size), random.choice(numbers, 10_000), whole, usual])
    positive = random.lognormal(0, 3, 30_000).astype(np.float32)
    bases = np.concatenate([np.repeat(EDGES, EDGES.size), random.choice(numbers, 10_000), positive])
    with np.errstate(all="ignore"):
        expected = np.power(bases.astype(np.float64), exponents.astype(np.float64))
    assert_close(bases, Bench(make_case([bases, exponents], [instruct("Pow", 0, 1)])).run(native), expected)


@pytest.mark.parametrize("op", [name for name in UNARY_OPERATORS if name])
def test_every_nan_stays(native: Native, op: str) -> None:
    """Whatever its payload: kernels compute with bits."""
    payloads = np.concatenate(
        [0x7F800001 + np.arange(64), 0x7FC00000 + np.arange(600), 0x7FC00000 + (1 << np.arange(22))]
    )
    x = np.concatenate([from_bits(payloads), from_bits(payloads | 0x80000000)])
    numbers = {"alpha": 0.3, "beta": 0.7} if op in ACTIVATIONS else {}
    assert np.isnan(Bench(make_case([x], [instruct(op, 0, **numbers)])).run(native)).all()
