"""Unit axes round elementwise operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.passes.units import drop_units
from frontend.models import random
from passes.passing import apply, written

CONSTANTS = "int64[5] more = {1, 4, 3, 2, 2}, int64[4] back = {-1, 3, 2, 2}, int64[4] same = {4, 1, 3, 4}"


def reduce(body: str, folder: Path, extra: str = "") -> list[str]:
    text = f"g (float[4, 3, 2, 2] x) => (float y) <{CONSTANTS}{extra}> {{ {body} }}"
    return written(apply(drop_units, text, folder, {"x": random(1, 4, 3, 2, 2)}))


MASK = ", float[1, 4, 1, 2, 2] m = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}"


def test_a_mask_for_windows_is_added_at_once(tmp_path: Path) -> None:
    left = reduce("a = Reshape(x, more) s = Add(a, m) b = Reshape(s, back) y = Neg(b)", tmp_path, MASK)
    assert left == ["s_1 = Add(x, m_1)", "y = Neg(s_1)"]


def test_operands_on_either_side_and_scalars(tmp_path: Path) -> None:
    extra = ", float half = {0.5}"
    left = reduce("a = Reshape(x, more) s = Mul(half, a) b = Reshape(s, back) y = Neg(b)", tmp_path, extra)
    assert left == ["s_1 = Mul(half, x)", "y = Neg(s_1)"]


@pytest.mark.parametrize(
    "body",
    [
        # The scores are read in between.
        "a = Reshape(x, more) s = Add(a, m) b = Reshape(s, back) r = ReduceSum<keepdims = 0>(s) y = Add(b, r)",
        # The views do more than unit axes.
        "a = Reshape(x, same) s = Mul(a, k) b = Reshape(s, back) y = Neg(b)",
        # The constant widens.
        "a = Reshape(x, more) s = Add(a, wide) b = Reshape(s, back) y = Neg(b)",
        # Both operands are computed.
        "a = Reshape(x, more) s = Add(a, a) b = Reshape(s, back) y = Neg(b)",
    ],
)
def test_what_stays(tmp_path: Path, body: str) -> None:
    extra = f"{MASK}, float[4] k = {{1, 2, 3, 4}}, float[2, 1, 1, 1, 1] wide = {{1, 2}}"
    assert sum("Reshape" in line for line in reduce(body, tmp_path, extra)) == 2
