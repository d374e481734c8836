"""What the comparison must let pass, and what it must not."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.services.comparison import Case, compare_tensor

CASE = Case(0, {})
SHAPES = [(2, 8, 13, 11), (1, 1000), (3, 17, 96), (257,), ()]


def tensors(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A float64 truth and a float32 result with the rounding errors of a deep network."""
    rng = np.random.default_rng(7)
    exact = rng.standard_normal(shape) + 0.1
    return exact, (exact + rng.standard_normal(shape) * 3e-7).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_rounding_passes(shape: tuple[int, ...]) -> None:
    exact, oracle = tensors(shape)
    ours = (exact + np.random.default_rng(8).standard_normal(shape) * 3e-7).astype(np.float32)
    assert compare_tensor("y", ours, oracle, exact, CASE).ok


@pytest.mark.parametrize("shape", SHAPES)
def test_zeros_fail(shape: tuple[int, ...]) -> None:
    exact, oracle = tensors(shape)
    assert not compare_tensor("y", np.zeros_like(oracle), oracle, exact, CASE).ok


@pytest.mark.parametrize(("shape", "axis"), [((2, 8, 13, 11), 1), ((1, 1000), 1), ((3, 17, 96), 2), ((257,), 0)])
@pytest.mark.parametrize("channel", [0, 5])
def test_one_percent_on_one_channel_fails(shape: tuple[int, ...], axis: int, channel: int) -> None:
    exact, oracle = tensors(shape)
    ours = oracle.copy()
    np.moveaxis(ours, axis, 0)[channel] *= np.float32(1.01)
    result = compare_tensor("y", ours, oracle, exact, CASE)
    assert not result.ok
    assert result.where == f"channel {channel}"
    assert result.error > 5 * result.allowed


@pytest.mark.parametrize("axis", [1, 2])
def test_of_rank_three_both_axes_may_have_the_channels(axis: int) -> None:
    exact, _ = tensors((1, 84, 100))
    exact[0, :4] *= 300.0
    exact[0, :, :4] *= 300.0
    oracle = exact.astype(np.float32)
    ours = oracle.copy()
    np.moveaxis(ours, axis, 0)[7] *= np.float32(1.01)
    assert not compare_tensor("y", ours, oracle, exact, CASE).ok


def test_small_channel_is_judged_by_its_own_scale() -> None:
    exact, oracle = tensors((2, 8, 13, 11))
    exact[:, 3] *= 1e-4
    oracle = exact.astype(np.float32)
    ours = oracle.copy()
    ours[:, 3] *= np.float32(1.01)
    assert not compare_tensor("y", ours, oracle, exact, CASE).ok


def test_spread_out_error_is_seen_by_its_rms() -> None:
    exact, oracle = tensors((1, 1, 100, 100))
    oracle = exact.astype(np.float32)
    oracle[0, 0, 0, 0] += np.float32(1e-3)
    ours = (exact + 1e-3).astype(np.float32)
    result = compare_tensor("y", ours, oracle, exact, CASE)
    assert not result.ok


def test_a_slice_may_have_the_error_of_the_oracles_worst_slice() -> None:
    exact, _ = tensors((2, 8, 13, 11))
    oracle = exact.astype(np.float32)
    oracle[:, 2] *= np.float32(1 + 1e-4)
    ours = exact.astype(np.float32)
    ours[:, 5] *= np.float32(1 + 1e-4)
    assert compare_tensor("y", ours, oracle, exact, CASE).ok
    assert not compare_tensor("y", ours, exact.astype(np.float32), exact, CASE).ok


def test_a_slice_is_not_forgiven_what_is_no_rounding() -> None:
    exact, oracle = tensors((2, 8, 13, 11))
    exact[:, 2], oracle[:, 2] = 1e-9, 1e-8
    ours = oracle.copy()
    ours[:, 5] *= np.float32(1.01)
    assert not compare_tensor("y", ours, oracle, exact, CASE).ok


def test_rounding_that_few_elements_carry_may_be_larger_than_the_oracles() -> None:
    exact, oracle = tensors((1, 1000))
    oracle, ours = oracle.copy(), oracle.copy()
    oracle[0, 7] += np.float32(5e-5)
    ours[0, 7] += np.float32(5e-4)
    assert compare_tensor("y", ours, oracle, exact, CASE).ok
    ours[0, 7] += np.float32(1e-2)
    assert not compare_tensor("y", ours, oracle, exact, CASE).ok


def test_where_rounding_is_amplified_the_larger_error_of_two_counts() -> None:
    exact, oracle = tensors((1, 1000))
    noise = np.random.default_rng(9).standard_normal((2, 1, 1000)) * 1e-2
    ours, peer = ((exact + part).astype(np.float32) for part in noise)
    assert not compare_tensor("y", ours, oracle, exact, CASE).ok
    assert compare_tensor("y", ours, oracle, exact, CASE, peer).ok
    assert not compare_tensor("y", np.zeros_like(ours), oracle, exact, CASE, peer).ok


def test_zeros_never_pass_for_rounding() -> None:
    exact, oracle = tensors((1, 1000))
    peer = np.random.default_rng(9).standard_normal((1, 1000)).astype(np.float32) * 9
    assert not compare_tensor("y", np.zeros_like(oracle), oracle, exact, CASE, peer).ok


@pytest.mark.parametrize(("ours", "theirs"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf), (np.inf, 1.0)])
def test_nan_and_infinity_must_stand_where_the_oracle_has_them(ours: float, theirs: float) -> None:
    exact = np.array([theirs, 2.0])
    result = compare_tensor("y", np.array([ours, 2.0], np.float32), exact.astype(np.float32), exact, CASE)
    assert not result.ok
    assert result.reason.startswith("NaN or infinity")


def test_equal_nan_and_infinity_pass() -> None:
    exact = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert compare_tensor("y", exact.astype(np.float32), exact.astype(np.float32), exact, CASE).ok


def test_integers_are_exact() -> None:
    exact = np.arange(5)
    assert compare_tensor("y", exact, exact, exact, CASE).ok
    result = compare_tensor("y", exact + (exact == 3), exact, exact, CASE)
    assert result.reason == "1 of 5 elements differ"


@pytest.mark.parametrize(
    ("ours", "reason"),
    [
        (np.zeros((2, 3), np.float32), "shape is (2, 3), expected (3, 2)"),
        (np.zeros((3, 2), np.float64), "type is float64, expected float32"),
    ],
)
def test_shape_and_type_must_agree(ours: np.ndarray, reason: str) -> None:
    oracle = np.zeros((3, 2), np.float32)
    result = compare_tensor("y", ours, oracle, oracle, CASE)
    assert (result.ok, result.reason) == (False, reason)


def test_empty_and_all_zero_tensors_pass() -> None:
    for shape in ((0, 3), (2, 3)):
        zeros = np.zeros(shape, np.float32)
        assert compare_tensor("y", zeros, zeros, zeros, CASE).ok


def test_something_where_nothing_is_expected_fails() -> None:
    zeros = np.zeros((2, 3), np.float32)
    assert not compare_tensor("y", zeros + np.float32(1e-9), zeros, zeros, CASE).ok


@pytest.mark.parametrize(("dtype", "noise", "ok"), [("float16", 1e-3, True), ("float64", 1e-9, False)])
def test_each_type_has_its_own_floor(dtype: str, noise: float, ok: bool) -> None:
    exact = np.linspace(1, 2, 200).reshape(1, 2, 10, 10)
    oracle = exact.astype(dtype)
    ours = (exact * (1 + noise)).astype(dtype)
    assert compare_tensor("y", ours, oracle, oracle.astype(np.float64), CASE).ok is ok


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_are_hardly_there_may_have_few_digits(dtype: type[np.floating]) -> None:
    least = float(np.finfo(dtype).tiny)
    exact = np.linspace(1, 2, 200).reshape(2, 100)
    exact[:, 1] *= least / 100
    oracle = exact.astype(dtype)
    ours = oracle.copy()
    ours[:, 1] = 0
    assert compare_tensor("y", ours, oracle, exact, CASE).ok
    ours[:, 2] = 0
    assert not compare_tensor("y", ours, oracle, exact, CASE).ok
