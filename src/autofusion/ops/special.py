"""Special functions that numpy lacks."""

from __future__ import annotations

import numpy as np

# Rational approximations of W. J. Cody, "Rational Chebyshev approximations for the error function",
# Mathematics of Computation 23 (1969): erf(x) / x near zero, erfc(x) exp(x^2) in the middle, and its tail.
_NEAR_P = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_NEAR_Q = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_MIDDLE_P = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e0,
    6.61191906371416295e1,
    2.98635138197400131e2,
    8.81952221241769090e2,
    1.71204761263407058e3,
    2.05107837782607147e3,
    1.23033935479799725e3,
)
_MIDDLE_Q = (
    1.0,
    1.57449261107098347e1,
    1.17693950891312499e2,
    5.37181101862009858e2,
    1.62138957456669019e3,
    3.29079923573345963e3,
    4.36261909014324716e3,
    3.43936767414372164e3,
    1.23033935480374942e3,
)
_NEAR_LIMIT = 0.46875
_ONE_FROM = 6.0


def erf(x: np.ndarray) -> np.ndarray:
    """The error function in x's own type, to a few units in the last place of float64.

    NaN stays NaN; beyond 6 the result rounds to 1.
    """
    wide = np.asarray(x, np.float64)
    size = np.abs(wide)
    with np.errstate(all="ignore"):
        square = np.where(size <= _NEAR_LIMIT, wide * wide, 0.0)
        near = wide * _polynomial(_NEAR_P, square) / _polynomial(_NEAR_Q, square)
        middle = np.clip(size, _NEAR_LIMIT, _ONE_FROM)
        tail = np.exp(-middle * middle) * _polynomial(_MIDDLE_P, middle) / _polynomial(_MIDDLE_Q, middle)
        far = np.copysign(1.0 - tail, wide)
    return np.where(size <= _NEAR_LIMIT, near, np.where(np.isnan(wide), wide, far)).astype(x.dtype)


def _polynomial(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total
