"""What is said of symbolic extents holds for every number that the symbols may be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autofusion.ir import Dim, symbol
from autofusion.ir.dims import floor_divide, maximum, minimum, modulo, substitute
from autofusion.ops.bounds import bounds, greater, is_equal, is_less, smaller
from autofusion.ops.broadcast import broadcast_extents

SYMBOLS = {"n": symbol("n"), "m": symbol("m"), "k": symbol("k", 2, 5)}


def combine(parts: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
    pairs = st.tuples(parts, parts)
    divisors = st.integers(1, 5)
    return st.one_of(
        pairs.map(lambda pair: pair[0] + pair[1]),
        pairs.map(lambda pair: pair[0] * pair[1]),
        pairs.map(lambda pair: minimum(*pair)),
        pairs.map(lambda pair: maximum(*pair)),
        st.tuples(parts, divisors).map(lambda pair: floor_divide(*pair)),
        st.tuples(parts, divisors).map(lambda pair: modulo(*pair)),
    )


EXTENTS = st.recursive(st.sampled_from([*SYMBOLS.values(), *range(-3, 6)]), combine, max_leaves=5)
NUMBERS = st.fixed_dictionaries({"n": st.integers(0, 7), "m": st.integers(0, 7), "k": st.integers(2, 5)})


def number(dim: Dim, known: dict[str, int]) -> int:
    found = substitute(dim, known)
    assert isinstance(found, int)
    return found


@given(EXTENTS, NUMBERS)
def test_an_extent_lies_within_its_bounds(extent: Dim, known: dict[str, int]):
    low, high = bounds(extent)
    found = number(extent, known)
    assert low is None or low <= found
    assert high is None or found <= high


@given(EXTENTS, EXTENTS, NUMBERS)
def test_comparisons_are_right_where_they_answer(left: Dim, right: Dim, known: dict[str, int]):
    a, b = number(left, known), number(right, known)
    assert is_equal(left, right) in (None, a == b)
    assert is_less(left, right) in (None, a < b)
    assert number(smaller(left, right), known) == min(a, b)
    assert number(greater(left, right), known) == max(a, b)


def test_limits_of_symbols_count() -> None:
    k = symbol("k", 2, 5)
    assert bounds(3 * k * k - k) == (7, 73)
    assert smaller(k, 8) == k == greater(k, 1)
    assert is_less(k, 6) is True
    assert is_equal(k, 0) is False
    assert is_equal(k, 5) is None


def test_comparisons_answer_where_it_is_certain():
    n = symbol("n")
    assert is_equal(n, -1) is False
    assert is_equal(n, 0) is None
    assert is_equal(n + 1, n) is False
    assert is_equal(n, n) is True
    assert is_less(n, n + 1) is True
    assert is_less(n, 0) is False
    assert is_less(minimum(n, 3), 4) is True
    assert smaller(n, n * 2) == n
    assert greater(floor_divide(n - 1, 2) + 1, 0) == floor_divide(n - 1, 2) + 1
    assert bounds(modulo(n, 4)) == (0, 3)


@given(EXTENTS, EXTENTS, NUMBERS)
def test_broadcast_extents_hold_for_all_numbers_that_can_be_broadcast(left: Dim, right: Dim, known: dict[str, int]):
    a, b = number(left, known), number(right, known)
    legal = min(a, b) >= 1 and (a == b or 1 in (a, b))
    if legal:
        assert number(broadcast_extents(left, right), known) == max(a, b)
