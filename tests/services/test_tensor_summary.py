"""Arrays in a few numbers."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.services.tensor_summary import summarize_tensor


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([[1, 2, 6]], np.float32), ["float32", [1, 3], 1.0, 6.0, 3.0]),
        (np.array([True, False]), ["bool", [2], 0.0, 1.0, 0.5]),
        (np.array([1.0, np.nan]), ["float64", [2], "nan", "nan", "nan"]),
        (np.array([1.0, np.inf]), ["float64", [2], 1.0, "inf", "inf"]),
        (np.zeros((0, 2), np.int64), ["int64", [0, 2], None, None, None]),
        (np.array(["a"], object), ["string", [1], None, None, None]),
    ],
)
def test_summary(array: np.ndarray, expected: list[object]) -> None:
    assert list(summarize_tensor("x", array).to_dict().values()) == ["x", *expected]
