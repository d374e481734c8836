"""What is certain about a symbolic extent when every symbol lies within its limits."""

from __future__ import annotations

from autofusion.ir import Dim
from autofusion.ir.dims import Atom, Call, maximum, minimum

Bound = int | None
"""A finite bound, or None for none."""


def bounds(dim: Dim) -> tuple[Bound, Bound]:
    """Least and greatest value that `dim` can take (not always the tightest)."""
    if isinstance(dim, int):
        return dim, dim
    low: Bound = 0
    high: Bound = 0
    for monomial, factor in dim.terms:
        least, most = _monomial_bounds(monomial)
        if factor < 0:
            least, most = most, least
        low = None if low is None or least is None else low + factor * least
        high = None if high is None or most is None else high + factor * most
    return low, high


def is_at_least(dim: Dim, least: int) -> bool:
    """True where `dim >= least` is certain."""
    low = bounds(dim)[0]
    return low is not None and low >= least


def is_equal(left: Dim, right: Dim) -> bool | None:
    """Whether two extents are equal; None where that depends on the symbols."""
    low, high = bounds(left - right)
    if low == high == 0:
        return True
    if (low is not None and low > 0) or (high is not None and high < 0):
        return False
    return None


def is_less(left: Dim, right: Dim) -> bool | None:
    """Whether `left < right`; None where that depends on the symbols."""
    low, high = bounds(right - left)
    if low is not None and low > 0:
        return True
    if high is not None and high <= 0:
        return False
    return None


def smaller(left: Dim, right: Dim) -> Dim:
    """The smaller of two extents, written out where it is certain which one that is."""
    if is_at_least(right - left, 0):
        return left
    return right if is_at_least(left - right, 0) else minimum(left, right)


def greater(left: Dim, right: Dim) -> Dim:
    """The greater of two extents, written out where it is certain which one that is."""
    if is_at_least(left - right, 0):
        return left
    return right if is_at_least(right - left, 0) else maximum(left, right)


def _monomial_bounds(monomial: tuple[Atom, ...]) -> tuple[Bound, Bound]:
    if len(monomial) == 1 and isinstance(monomial[0], Call):
        return _call_bounds(monomial[0])
    low = 1
    high: Bound = 1
    for atom in monomial:
        least, most = _call_bounds(atom) if isinstance(atom, Call) else (atom.low, atom.high)
        if least is None or least < 0:
            return None, None
        low = low * least
        high = None if high is None or most is None else high * most
    return low, high


def _call_bounds(call: Call) -> tuple[Bound, Bound]:
    left, right = bounds(call.left), bounds(call.right)
    match call.function:
        case "min":
            lows = None if left[0] is None or right[0] is None else min(left[0], right[0])
            return lows, min((high for high in (left[1], right[1]) if high is not None), default=None)
        case "max":
            highs = None if left[1] is None or right[1] is None else max(left[1], right[1])
            return max((low for low in (left[0], right[0]) if low is not None), default=None), highs
        case "mod":
            if right[0] is None or right[0] < 0:
                return None, None
            return 0, None if right[1] is None else max(right[1] - 1, 0)
        case _:
            return _quotient_bounds(left, right)


def _quotient_bounds(left: tuple[Bound, Bound], right: tuple[Bound, Bound]) -> tuple[Bound, Bound]:
    """Bounds of a floor division by something that is never negative (0 divides nothing and may be left out)."""
    if right[0] is None or right[0] < 0:
        return None, None
    divisor = max(right[0], 1)
    low: Bound = None
    if left[0] is not None:
        low = 0 if left[0] >= 0 else left[0] // divisor
    high: Bound = None
    if left[1] is not None:
        high = left[1] // divisor if left[1] >= 0 else -1
    return low, high
