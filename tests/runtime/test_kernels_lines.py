"""Steps of the C library that reduce, order and look up elements, against their numpy definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autofusion.ops.definitions import DEFINITIONS
from autofusion.runtime.encode_lines import REDUCTIONS, SCATTERS
from autofusion.runtime.native import Native
from runtime.steps import Bench, Case, assert_agrees, assert_equals
from runtime.test_kernels_data import SIZES, draw

NUMBERS = ("bool", "int8", "uint8", "int32", "int64", "float32", "float64")


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32) * 5


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("shape", [(7,), (3, 1), (2, 16), (5, 33), (2, 3, 70), (3, 5, 67, 2), (2, 0, 3)])
def test_softmax(native: Native, shape: tuple[int, ...], log: bool) -> None:
    for axis in range(len(shape)):
        assert_agrees(native, Case("softmax", [normal(*shape)], {"axis": axis, "log": log}, shape), 2, 1e-6)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33])
def test_softmax_of_short_lines(native: Native, count: int, log: bool) -> None:
    assert_agrees(native, Case("softmax", [normal(5, count)], {"axis": 1, "log": log}, (5, count)), 2, 1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_of_infinities(native: Native, axis: int) -> None:
    x = normal(4, 19)
    x[0, 3], x[1], x[2, 5], x[3, 18] = -np.inf, -np.inf, np.nan, np.inf
    for log in (False, True):
        assert_agrees(
            native, Case("softmax", [x if axis else x.T.copy()], {"axis": axis, "log": log}, (4, 19)[:: 2 * axis - 1])
        )


def test_softmax_of_large_numbers_keeps_its_digits(native: Native) -> None:
    x = normal(1, 40) + np.float32(1e4)
    assert_agrees(native, Case("softmax", [x], {"axis": 1, "log": True}, x.shape), tolerance=1e-6)


def test_softmax_of_pixels(native: Native) -> None:
    x = normal(2, 19, 3, 5)
    case = Case("softmax", [x], {"axis": 1, "log": False}, x.shape, ("nhwc",), {0: 24}, "nhwc", 20)
    assert_agrees(native, case, 2, 1e-6)


EXACT = [kind for kind in REDUCTIONS if kind not in ("mean", "l2")]
"""Reductions that all types have."""


def reduce_shape(shape: tuple[int, ...], axes: tuple[int, ...], keep: bool) -> tuple[int, ...]:
    if keep:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (3,), (0, 2), (1, 3), (2, 3), (0, 1, 2, 3), ()])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reduce(native: Native, kind: str, axes: tuple[int, ...]) -> None:
    x = normal(3, 5, 4, 37) / 4
    for keep in (True, False):
        case = Case("reduce", [x], {"kind": kind, "axes": [*axes]}, reduce_shape(x.shape, axes, keep))
        assert_agrees(native, case, 2)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    # Truth values have no arithmetic.
    [(kind, dtype) for kind in EXACT for dtype in NUMBERS if dtype != "bool" or kind in ("max", "min")],
)
def test_reduce_of_types(native: Native, kind: str, dtype: str) -> None:
    x = draw(dtype, 4, 3, 7)
    for axes in ((0,), (1, 2), (2,)):
        case = Case("reduce", [x], {"kind": kind, "axes": [*axes]}, reduce_shape(x.shape, axes, False), dtype=dtype)
        actual = Bench(case).run(native)
        with np.errstate(all="ignore"):
            expected = DEFINITIONS["reduce"]([x], case.attributes, case.shape)
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reduce_of_nothing(native: Native, kind: str) -> None:
    case = Case("reduce", [np.zeros((3, 0, 2), np.float32)], {"kind": kind, "axes": [1]}, (3, 2))
    with np.errstate(all="ignore"):
        assert_agrees(native, case)


@pytest.mark.parametrize("axes", [(1,), (2, 3), (0, 1), (1, 3)])
def test_reduce_of_pixels(native: Native, axes: tuple[int, ...]) -> None:
    x = normal(2, 19, 4, 3)
    case = Case("reduce", [x], {"kind": "mean", "axes": [*axes]}, reduce_shape(x.shape, axes, True), ("nhwc",), {0: 24})
    assert_agrees(native, case, 2)


def test_sums_of_many_elements_are_accurate(native: Native) -> None:
    x = np.full((2, 1 << 18), 0.1, np.float32)
    for axes, shape in (([1], (2,)), ([0, 1], ())):
        actual = Bench(Case("reduce", [x], {"kind": "sum", "axes": axes}, shape)).run(native)
        np.testing.assert_allclose(actual, x.astype(np.float64).sum(tuple(axes)), rtol=1e-7)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_argument(native: Native, kind: str, last: bool, dtype: str) -> None:
    x = draw(dtype, 3, 11, 5)
    for axis in range(3):
        attributes = {"kind": kind, "axis": axis, "last": last}
        for keep in (True, False):
            shape = reduce_shape(x.shape, (axis,), keep)
            assert_equals(native, Case("argument", [x], attributes, shape, dtype="int64"), 2)


@pytest.mark.parametrize("dtype", [name for name in NUMBERS if name != "bool"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulate(native: Native, exclusive: bool, reverse: bool, dtype: str) -> None:
    x = draw(dtype, 3, 11, 5)
    if x.dtype.kind == "f":
        x = np.nan_to_num(x, nan=1, posinf=2, neginf=3).clip(-100, 100) + x.dtype.type(0)
    for axis in range(3):
        attributes = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
        assert_equals(native, Case("cumulate", [x], attributes, x.shape, dtype=dtype), 2)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("largest", [True, False])
def test_rank(native: Native, largest: bool, dtype: str) -> None:
    x = draw(dtype, 3, 29, 2)
    for axis, count in ((0, 2), (1, 1), (1, 7), (1, 29), (1, 0), (2, 2)):
        shape = tuple(count if place == axis else extent for place, extent in enumerate(x.shape))
        attributes = {"axis": axis, "largest": largest}
        assert_equals(native, Case("rank", [x], attributes, shape, dtype="int64"), 2)


def draw_indices(extent: int, *shape: int, dtype: str = "int64") -> np.ndarray:
    return np.random.default_rng(extent).integers(-extent, extent, shape, dtype)


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("index_type", ["int32", "int64"])
def test_gather(native: Native, index_type: str, dtype: str) -> None:
    x = draw(dtype, 3, 5, 7)
    for axis in range(3):
        for shape in ((), (4,), (2, 3), (0,)):
            indices = draw_indices(x.shape[axis], *shape, dtype=index_type)
            result = x.shape[:axis] + shape + x.shape[axis + 1 :]
            assert_equals(native, Case("gather", [x, indices], {"axis": axis}, result, dtype=dtype), 2)


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_elements(native: Native, axis: int, dtype: str) -> None:
    x, indices = draw(dtype, 3, 5, 7), draw_indices((3, 5, 7)[axis], 2, 4, 6)
    assert_equals(native, Case("gather_elements", [x, indices], {"axis": axis}, indices.shape, dtype=dtype), 2)


@pytest.mark.parametrize("dtype", SIZES)
def test_gather_blocks(native: Native, dtype: str) -> None:
    x = draw(dtype, 3, 5, 7)
    for batch, named, result in [
        (0, (4, 2), (4, 7)),
        (0, (2, 3, 3), (2, 3)),
        (0, (1,), (5, 7)),
        (1, (3, 4, 1), (3, 4, 7)),
        (2, (3, 5, 1), (3, 5)),
    ]:
        indices = draw_indices(3, *named)
        assert_equals(native, Case("gather_blocks", [x, indices], {"batch_dims": batch}, result, dtype=dtype), 2)


def scatter_types(reduction: str) -> tuple[str, ...]:
    return SIZES if reduction == "none" else ("float32", "float64", "int32", "int64")


@pytest.mark.parametrize("reduction", SCATTERS)
def test_scatter_elements(native: Native, reduction: str) -> None:
    for dtype in scatter_types(reduction):
        # Which zero is larger is left open.
        x, updates = (array + array.dtype.type(0) for array in (draw(dtype, 3, 5, 7), draw(dtype, 2, 4, 6, seed=1)))
        for axis in range(3):
            indices = draw_indices(x.shape[axis], 2, 4, 6)
            attributes = {"axis": axis, "reduction": reduction}
            assert_equals(native, Case("scatter_elements", [x, indices, updates], attributes, x.shape, dtype=dtype), 2)


@pytest.mark.parametrize("reduction", SCATTERS)
def test_scatter_blocks(native: Native, reduction: str) -> None:
    for dtype in scatter_types(reduction):
        x = draw(dtype, 3, 5, 7)
        for named, block in [((4, 2), (4, 7)), ((9, 3), (9,)), ((1,), (5, 7)), ((0, 2), (0, 7))]:
            operands = [x, draw_indices(3, *named), draw(dtype, *block, seed=1)]
            case = Case("scatter_blocks", operands, {"reduction": reduction}, x.shape, dtype=dtype)
            assert_equals(native, case, 2)


LOOKUPS: dict[str, tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]] = {
    "gather": ({"axis": 1}, (2, 1), (3, 2, 1)),
    "gather_elements": ({"axis": 1}, (3, 2), (3, 2)),
    "gather_blocks": ({"batch_dims": 0}, (2, 2), (2,)),
    "scatter_elements": ({"axis": 1, "reduction": "none"}, (3, 2), (3, 5)),
    "scatter_blocks": ({"reduction": "none"}, (2, 2), (3, 5)),
}


@pytest.mark.parametrize("wrong", [5, -6, 1 << 40, -(1 << 62)])
@pytest.mark.parametrize("kernel", LOOKUPS)
def test_indices_out_of_range_are_a_fault(native: Native, kernel: str, wrong: int) -> None:
    attributes, named, shape = LOOKUPS[kernel]
    indices = np.zeros(named, np.int64)
    operands = [draw("float32", 3, 5), indices]
    if kernel.startswith("scatter"):
        operands.append(draw("float32", *(named if kernel == "scatter_elements" else named[:-1])))
    bench = Bench(Case(kernel, operands, attributes, shape), 2)
    bench.run(native)
    assert bench.fault is None
    indices[-1, -1] = wrong
    bench = Bench(Case(kernel, operands, attributes, shape), 2)
    bench.run(native)
    assert bench.fault == 0
