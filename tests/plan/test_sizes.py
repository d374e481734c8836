"""Which symbols a size depends on, and what is no size."""

from __future__ import annotations

import pytest

from autofusion.plan import Size, evaluate_size, size_symbols


@pytest.mark.parametrize(
    ("size", "symbols"),
    [
        (7, set[str]()),
        ("7", set[str]()),
        ("batch", {"batch"}),
        ("batch*seq*768 - 1", {"batch", "seq"}),
        ("(H + 6 - 7)//2 + 1", {"H"}),
        ("min(a, -b) % max(c, 2)", {"a", "b", "c"}),
    ],
)
def test_symbols_of_a_size(size: Size, symbols: set[str]) -> None:
    assert size_symbols(size) == symbols
    evaluate_size(size, dict.fromkeys(symbols, 3))


@pytest.mark.parametrize(
    "text",
    [
        *("", "a b", "a**2", "a/2", "1.5", "'a'", "f(a)", "min(a)", "min(a, b, c)", "a.b", "a[0]", "a if b else c"),
        *("__import__('os')", "(" * 500, "-" * 100000 + "a", "\x00", "lambda: 0", "min(a, b, key=c)", "True + None"),
    ],
)
def test_other_texts_are_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="no size"):
        size_symbols(text)
