"""Symbolic extents: normal form, exact division, and the text form against plain integer arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autofusion.ir import parse_dim, symbol
from autofusion.ir.dims import (
    Dim,
    Expr,
    add,
    floor_divide,
    maximum,
    minimum,
    modulo,
    multiply,
    product,
    substitute,
    symbols,
)

BATCH, SEQ, HEIGHT = symbol("batch"), symbol("seq"), symbol("H")

leaves = st.one_of(st.integers(-6, 6), st.sampled_from([BATCH, SEQ, HEIGHT]))
dims = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(add, inner, inner),
        st.builds(multiply, inner, inner),
        st.builds(floor_divide, inner, st.integers(1, 5)),
        st.builds(modulo, inner, st.integers(1, 5)),
        st.builds(minimum, inner, inner),
        st.builds(maximum, inner, inner),
    ),
    max_leaves=8,
)
extents = st.fixed_dictionaries({"batch": st.integers(1, 9), "seq": st.integers(1, 9), "H": st.integers(1, 99)})


@given(dims, dims, extents)
def test_operations_mean_what_they_say_on_numbers(left: Dim, right: Dim, known: dict[str, int]) -> None:
    a, b = substitute(left, known), substitute(right, known)
    assert isinstance(a, int)
    assert isinstance(b, int)
    assert substitute(add(left, right), known) == a + b
    assert substitute(multiply(left, right), known) == a * b
    assert substitute(minimum(left, right), known) == min(a, b)
    assert substitute(maximum(left, right), known) == max(a, b)


@given(dims, st.sampled_from([1, 2, 3, 7, BATCH, multiply(BATCH, SEQ), multiply(2, SEQ), add(HEIGHT, 1)]), extents)
def test_floor_division_and_remainder_agree_with_python(left: Dim, right: Dim, known: dict[str, int]) -> None:
    a, b = substitute(left, known), substitute(right, known)
    assert isinstance(a, int)
    assert isinstance(b, int)
    assert substitute(floor_divide(left, right), known) == a // b
    assert substitute(modulo(left, right), known) == a % b


@given(dims)
def test_text_is_read_back(dim: Dim) -> None:
    assert parse_dim(str(dim)) == dim


def test_polynomials_compare_by_meaning() -> None:
    assert multiply(multiply(BATCH, SEQ), 768) == multiply(SEQ, multiply(768, BATCH))
    assert add(BATCH, multiply(BATCH, -1)) == 0
    assert product((BATCH, 3, SEQ)) == 3 * BATCH * SEQ
    assert BATCH != SEQ


def test_reshape_with_one_free_extent_is_solved() -> None:
    assert floor_divide(product((BATCH, SEQ, 768)), product((BATCH, SEQ, 12))) == 64
    assert floor_divide(product((BATCH, add(SEQ, 1), 6)), product((add(SEQ, 1), 3))) == 2 * BATCH


def test_convolution_extent_reads_well() -> None:
    extent = add(floor_divide(add(HEIGHT, -1), 2), 1)
    assert str(extent) == "((H - 1)//2) + 1"
    assert isinstance(extent, Expr)
    assert symbols(extent) == {"H"}


@pytest.mark.parametrize("text", ["", "a b", "a/b", "f(a)", "a + 'x'", "1.5", "min(a)"])
def test_what_is_no_extent_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no extent"):
        parse_dim(text)


@pytest.mark.parametrize("name", ["in", "None", "a b", "1a", "", "\u212a", "\ufb01n"])
def test_names_that_would_not_be_read_back_are_no_symbols(name: str) -> None:
    with pytest.raises(ValueError, match="is no symbol name"):
        symbol(name)


@pytest.mark.parametrize("name", ["batch", "min", "match", "\u00e9"])
def test_symbols_are_read_back(name: str) -> None:
    assert parse_dim(str(symbol(name))) == symbol(name)
