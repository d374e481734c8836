"""Affine, unary and binary steps, relayouts and copies of the C library against their numpy definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autofusion.plan import ACTIVATIONS
from autofusion.runtime.native import Native
from autofusion.runtime.records import BINARY_OPERATORS, UNARY_OPERATORS
from runtime.steps import PLAIN_EPILOGUE, Bench, Case, assert_agrees, define


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def make_unary(x: np.ndarray, op: str, alpha: float = 0.3, beta: float = 0.7, **layout: Any) -> Case:
    return Case("unary", [x], {"op": op, "alpha": alpha, "beta": beta}, x.shape, **layout)


SPECIALS = np.array(
    [
        *(0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0),
        *(1e-45, -1e-45, 1e-38, -1e-38, 1e-20, -1e-20, 1e20, -1e20, 3.4e38, -3.4e38),
        *(87.5, -87.5, 88.7, 88.8, -103.0, -103.9, -150.0, 150.0, 8388607.5, -8388607.5, 1e9, -1e9),
    ],
    np.float32,
)


@pytest.mark.parametrize("op", [op for op in UNARY_OPERATORS if op])
def test_functions_are_accurate(native: Native, op: str) -> None:
    wide = np.linspace(-12, 12, 20011, dtype=np.float32)
    near = np.concatenate([sign * np.geomspace(1e-30, 2, 2003, dtype=np.float32) for sign in (-1, 1)])
    x = np.concatenate([SPECIALS, wide, near, np.linspace(-100, 88, 4001, dtype=np.float32)])
    if op == "Log":
        x = np.abs(x)
    case = make_unary(x, op, alpha=1.0 if op == "SiLU" else 0.3)
    actual = Bench(case).run(native)
    with np.errstate(all="ignore"):
        expected = define(case).astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(np.isnan(expected), np.isnan(actual))
    # Where terms cancel, the error is one of x instead of the result; the smallest numbers have few digits.
    cancels = op in ("Gelu", "GeluTanh", "HardSigmoid", "HardSwish")
    slack = (2e-7 if cancels else 1.5e-45) * np.maximum(np.abs(x), 1)
    ok = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isinf(expected[ok]), np.isinf(actual[ok]))
    ok &= np.isfinite(expected)
    error = np.abs(actual[ok].astype(np.float64) - expected[ok])
    allowed = 1e-6 * np.abs(expected[ok]) + slack[ok]
    assert (error <= allowed).all(), x[ok][error > allowed][:5]


def test_logarithm_of_a_negative_number_is_nan(native: Native) -> None:
    x = np.array([-1.0, -np.inf, -1e-30], np.float32)
    assert np.isnan(Bench(make_unary(x, "Log")).run(native)).all()


def test_square_root_of_a_negative_number_is_nan(native: Native) -> None:
    assert np.isnan(Bench(make_unary(np.full(3, -1, np.float32), "Sqrt")).run(native)).all()


def test_clip_with_crossed_limits_gives_the_upper_one(native: Native) -> None:
    x = np.array([-5.0, 0.0, 1.0, 5.0, np.nan], np.float32)
    actual = Bench(make_unary(x, "Clip", alpha=2.0, beta=-2.0)).run(native)
    np.testing.assert_array_equal([-2, -2, -2, -2, np.nan], actual)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (16,), (17, 3), (2, 3, 5, 7), (40000,), (0, 4)])
def test_unary_shapes(native: Native, shape: tuple[int, ...], threads: int) -> None:
    assert_agrees(native, make_unary(draw(*shape), "HardSwish"), threads)


@pytest.mark.parametrize("pitches", [(24, 24), (20, 33), (19, 19)])
def test_unary_pixels(native: Native, pitches: tuple[int, int]) -> None:
    layout = {"layouts": ("nhwc",), "pitches": {0: pitches[0]}, "result_layout": "nhwc", "result_pitch": pitches[1]}
    assert_agrees(native, make_unary(draw(2, 19, 5, 3), "Sigmoid", **layout), 2)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_affine(native: Native, activation: str) -> None:
    x = draw(2, 21, 3, 5)
    case = Case(
        "affine",
        [x, draw(21), draw(21) + 1],
        {"activation": activation, "alpha": 0.3, "beta": 0.7},
        x.shape,
        ("nhwc",),
        {0: 32},
        "nhwc",
        24,
    )
    assert_agrees(native, case, 2)


def test_affine_of_a_matrix(native: Native) -> None:
    assert_agrees(native, Case("affine", [draw(5, 33), draw(33), draw(33)], PLAIN_EPILOGUE, (5, 33)))


def make_binary(a: np.ndarray, b: np.ndarray, op: str, **more: Any) -> Case:
    shape = np.broadcast_shapes(a.shape, b.shape)
    return Case("binary", [a, b], {"op": op, **PLAIN_EPILOGUE, **more.pop("epilogue", {})}, shape, **more)


BROADCASTS = [
    ((), ()),
    ((5,), (5,)),
    ((3, 17), ()),
    ((), (3, 17)),
    ((2, 3, 5, 7), (2, 3, 5, 7)),
    ((2, 3, 5, 33), (33,)),
    ((2, 3, 5, 33), (3, 1, 1)),
    ((4, 1), (1, 6)),
    ((2, 1, 3, 1, 2, 1, 3, 1), (1, 2, 1, 3, 1, 2, 1, 3)),
    ((7, 5000), (7, 1)),
    ((0, 3), (3,)),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("op", BINARY_OPERATORS)
@pytest.mark.parametrize("shapes", BROADCASTS)
def test_binary_broadcasting(native: Native, shapes: tuple[tuple[int, ...], ...], op: str, threads: int) -> None:
    a, b = draw(*shapes[0]), draw(*shapes[1])
    if op == "Pow":
        a = np.abs(a)
    if op == "Div":
        b = b + np.copysign(np.float32(0.5), b)
    assert_agrees(native, make_binary(a, b, op), threads)


@pytest.mark.parametrize("other", [(2, 19, 4, 5), (1, 19, 1, 1), (1, 1, 4, 5)])
def test_binary_pixels(native: Native, other: tuple[int, ...]) -> None:
    case = make_binary(
        draw(2, 19, 4, 5),
        draw(*other),
        "Mul",
        layouts=("nhwc", "nhwc"),
        pitches={0: 24, 1: other[1] + 3},
        result_layout="nhwc",
        result_pitch=21,
    )
    assert_agrees(native, case, 2)


@pytest.mark.parametrize("vector", [(19, 1, 1), (1,), (), (4, 1)])
def test_binary_pixels_with_a_plain_operand(native: Native, vector: tuple[int, ...]) -> None:
    case = make_binary(draw(2, 19, 4, 5), draw(*vector), "Add", layouts=("nhwc", "plain"), result_layout="nhwc")
    assert_agrees(native, case, 2)


def test_binary_of_single_channels_with_gaps(native: Native) -> None:
    pixels = {"layouts": ("nhwc", "nhwc"), "pitches": {0: 3, 1: 2}, "result_layout": "nhwc", "result_pitch": 4}
    assert_agrees(
        native, make_binary(draw(1, 1, 4, 5), draw(1, 1, 4, 5), "Sub", epilogue={"activation": "Tanh"}, **pixels)
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_binary_epilogues(native: Native, activation: str) -> None:
    epilogue = {"activation": activation, "alpha": 0.3, "beta": 0.7}
    assert_agrees(native, make_binary(draw(3, 1500), draw(3, 1500), "Add", epilogue=epilogue))


def test_power_is_that_of_numpy(native: Native) -> None:
    bases = np.array([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 1e-40, 3e38, np.inf, -np.inf, np.nan, 10, -3.5], np.float32)
    exponents = np.array(
        [0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1 / 3, 7.25, 1e10, -1e10, 16777217, np.inf, -np.inf, np.nan], np.float32
    )
    case = make_binary(bases[:, np.newaxis], exponents, "Pow")
    actual = Bench(case).run(native)
    with np.errstate(all="ignore"):
        expected = np.power(*(array.astype(np.float64) for array in case.operands if array is not None))
        expected = expected.astype(np.float32)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1.5e-45)
    np.testing.assert_array_equal(np.signbit(expected), np.signbit(actual) | np.isnan(expected) & np.signbit(expected))


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_extremes_keep_nan(native: Native, op: str) -> None:
    a = np.array([np.nan, 1, np.nan, 2, -np.inf, 3] * 5, np.float32)
    b = np.array([1, np.nan, np.nan, 3, 5, np.inf] * 5, np.float32)
    assert_agrees(native, make_binary(a, b, op))


@pytest.mark.parametrize("layouts", [("plain", "nhwc"), ("nhwc", "plain"), ("nhwc", "nhwc"), ("plain", "plain")])
@pytest.mark.parametrize(
    "shape", [(1, 3, 7, 5), (2, 33, 9, 8), (2, 40, 37), (1, 5, 3, 4, 2), (3, 64, 1, 1), (0, 3, 2, 2)]
)
def test_relayout(native: Native, shape: tuple[int, ...], layouts: tuple[str, str]) -> None:
    pitches = [shape[1] + 5 if layout == "nhwc" else None for layout in layouts]
    case = Case("relayout", [draw(*shape)], {}, shape, layouts[:1], {0: shape[1] + 5}, layouts[1], pitches[1])
    if layouts[0] == "plain":
        case.pitches = {}
    for threads in (1, 2):
        np.testing.assert_array_equal(case.operands[0], Bench(case, threads).run(native))


@pytest.mark.parametrize("size", [(1, 1), (1, 31), (3, 11), (5, 13), (20, 33)])
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_relayout_without_gaps(native: Native, channels: int, size: tuple[int, int]) -> None:
    shape = (2, channels, *size)
    case = Case("relayout", [draw(*shape)], {}, shape, (), {}, "nhwc")
    for threads in (1, 2):
        np.testing.assert_array_equal(case.operands[0], Bench(case, threads).run(native))


@pytest.mark.parametrize("shape", [(), (3, 5), (123457,)])
def test_copy(native: Native, shape: tuple[int, ...]) -> None:
    case = Case("copy", [draw(*shape)], {}, shape)
    np.testing.assert_array_equal(case.operands[0], Bench(case, 2).run(native))
