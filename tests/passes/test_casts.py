"""Casts: what changes nothing goes, what narrows, rounds or wraps stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autofusion.ir import DType
from autofusion.passes.casts import WIDER, remove_casts
from passes.passing import apply, ops

FLOAT, INT32, INT64, BOOL, HALF, DOUBLE, INT8, UINT8 = 1, 6, 7, 9, 10, 11, 3, 2
NAMES = {FLOAT: "float", INT64: "int64", BOOL: "bool", HALF: "float16", DOUBLE: "double", INT32: "int32", INT8: "int8"}
NUMPY = {FLOAT: "f4", INT64: "i8", BOOL: "?", HALF: "f2", DOUBLE: "f8", INT32: "i4", INT8: "i1"}
NUMBERS = np.array([-300.7, -1.5, -0.9, -0.0, 0.1, 1.0, 65504.0])


def chain(start: int, *types: int) -> str:
    nodes = [f"v{index + 1} = Cast<to = {code}>(v{index})" for index, code in enumerate(types)]
    nodes.append(f"y = Identity(v{len(types)})")
    return f"g ({NAMES[start]}[7] v0) => ({NAMES[types[-1]]}[7] y) {{ {chr(10).join(nodes)} }}"


@pytest.mark.parametrize(
    ("start", "types", "left"),
    [
        (FLOAT, [FLOAT], "Identity"),
        (INT64, [INT64, INT64], "Identity"),
        (FLOAT, [DOUBLE, FLOAT], "Identity"),
        (HALF, [FLOAT, DOUBLE, FLOAT, HALF], "Identity"),
        (BOOL, [FLOAT, BOOL], "Identity"),
        (INT32, [INT64, INT32], "Identity"),
        (INT32, [DOUBLE, INT32], "Identity"),
        (INT8, [HALF, INT8], "Identity"),
        (FLOAT, [INT32, BOOL], "Cast Cast"),
        (INT64, [INT32, INT64], "Cast Cast"),
        (FLOAT, [HALF, FLOAT], "Cast Cast"),
        (DOUBLE, [FLOAT, DOUBLE], "Cast Cast"),
        (FLOAT, [BOOL, FLOAT], "Cast Cast"),
        (INT32, [FLOAT, INT32], "Cast Cast"),
        (HALF, [FLOAT, DOUBLE], "Cast Cast"),
    ],
)
def test_pairs(tmp_path: Path, start: int, types: list[int], left: str) -> None:
    feeds = {"v0": NUMBERS.astype(NUMPY[start])}
    assert ops(apply(remove_casts, chain(start, *types), tmp_path, feeds)) == left


def test_the_wider_value_stays_where_others_read_it(tmp_path: Path) -> None:
    text = (
        "g (float[7] x) => (float[7] y, double[7] z) { w = Cast<to = 11>(x) v = Cast<to = 1>(w) y = Neg(v) z = Neg(w) }"
    )
    assert ops(apply(remove_casts, text, tmp_path, {"x": NUMBERS.astype(np.float32)})) == "Neg Cast Neg"


def test_a_cast_like_one_of_its_own_type_goes(tmp_path: Path) -> None:
    text = "g (float[7] x, float[1] like) => (float[7] y) { v = CastLike(x, like) y = Neg(v) }"
    feeds = {"x": NUMBERS.astype(np.float32), "like": np.zeros(1, np.float32)}
    assert ops(apply(remove_casts, text, tmp_path, feeds)) == "Neg"


@pytest.mark.parametrize("narrow", WIDER, ids=lambda dtype: dtype.value)
def test_wider_types_hold_every_value(narrow: DType) -> None:
    kind = narrow.numpy
    if narrow is DType.BOOL:
        values = np.array([False, True])
    elif kind.kind in "iu" and kind.itemsize > 2:
        span = np.iinfo(kind.name)
        values = np.array([span.min, span.min + 1, span.max - 1, span.max, span.max // 2 + 1], kind)
    else:
        codes = np.arange(1 << 8 * min(kind.itemsize, 2), dtype=np.uint32)
        shifted = codes << 16 | codes * 7 % 65536 if kind.itemsize == 4 else codes
        values = shifted.astype(f"u{kind.itemsize}").view(kind)
        with np.errstate(invalid="ignore"):
            values = values[~np.isnan(values.astype(np.float64))]
    for wide in WIDER[narrow]:
        np.testing.assert_array_equal(values.astype(wide.numpy).astype(kind), values)
