"""Steps of the C library that move, choose, compare and make elements, against their numpy definitions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from autofusion.runtime.encode_data import ARITHMETIC, COMPARISONS, COORDINATES, PAD_MODES, ROUNDINGS
from autofusion.runtime.native import Native
from runtime.steps import Bench, Case, assert_agrees, assert_equals

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SIZES = ("bool", "int16", "float32", "int64")


def draw(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Elements of any type: all bit patterns of integers, NaN and infinities among floats."""
    random = np.random.default_rng(seed + len(shape))
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        x = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return np.where(random.random(shape) < 0.5, x, (x % 7).astype(dtype))
    x = np.round(random.standard_normal(shape) * 4)
    x = np.where(random.random(shape) < 0.1, random.choice([np.nan, np.inf, -np.inf, -0.0, 1e300], shape), x)
    with np.errstate(over="ignore"):
        return x.astype(dtype)


VIEWS = {
    "transpose": ((7, 19), [19, 7], [0, 1, 19]),
    "transpose of matrices": ((3, 33, 40), [3, 40, 33], [0, 1320, 1, 40]),
    "heads": ((2, 5, 3, 8), [2, 3, 5, 8], [0, 120, 8, 24, 1]),
    "reversed axes": ((2, 3, 5, 7), [7, 5, 3, 2], [0, 1, 7, 35, 105]),
    "slice": ((9, 17), [3, 5], [18, 51, 2]),
    "repeat": ((1, 5, 1), [4, 5, 3], [0, 0, 1, 0]),
    "one": ((5,), [1, 1], [3, 0, 0]),
    "none": ((5, 0), [0, 5], [0, 1, 0]),
    "eight axes": ((2,) * 8, [2] * 8, [0, *(1 << place for place in range(8))]),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("name", VIEWS)
def test_strided(native: Native, name: str, dtype: str, threads: int) -> None:
    shape, extents, view = VIEWS[name]
    case = Case("strided", [draw(dtype, *shape)], {"extents": extents, "view": view}, tuple(extents), dtype=dtype)
    assert_equals(native, case, threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_large_transposes(native: Native, threads: int) -> None:
    view = {"extents": [3, 130, 71], "view": [0, 9230, 1, 130]}
    assert_equals(native, Case("strided", [draw("float32", 3, 71, 130)], view, (3, 130, 71)), threads)


@pytest.mark.parametrize("pitches", [(6, 6), (9, 7)])
def test_shuffled_channels_of_pixels(native: Native, pitches: tuple[int, int]) -> None:
    x = draw("float32", 2, 6, 4, 3)
    attributes = {"extents": [2, 3, 2, 4, 3], "view": [0, 72, 12, 36, 3, 1]}
    case = Case("strided", [x], attributes, x.shape, ("nhwc",), {0: pitches[0]}, "nhwc", pitches[1])
    shuffled = x.reshape(2, 2, 3, 4, 3).swapaxes(1, 2).reshape(x.shape)
    np.testing.assert_array_equal(Bench(case).run(native), shuffled)


@pytest.mark.parametrize("layouts", [("nhwc", "nhwc"), ("nhwc", "plain"), ("plain", "nhwc")])
def test_slices_of_pixels(native: Native, layouts: tuple[str, str]) -> None:
    x = draw("float32", 2, 6, 5, 4)
    attributes = {"extents": [2, 3, 2, 4], "view": [24, 120, 20, 8, 1]}
    case = Case("strided", [x], attributes, (2, 3, 2, 4), layouts[:1], {}, layouts[1])
    np.testing.assert_array_equal(Bench(case, 2).run(native), x[:, 1:4, 1:4:2])


@pytest.mark.parametrize(
    "view", [[0, 120, 1, 5], [60, 120, 20, 1], [0, 60, 20, 1]], ids=["over axes", "past the channels", "wrong batch"]
)
def test_views_that_pixels_do_not_have_are_refused(view: list[int]) -> None:
    x = draw("float32", 2, 6, 5, 4)
    extents = [2, 20, 6] if view[2] == 1 else [2, 4, 20]
    with pytest.raises(Exception, match=r"AF524: .* a view .* of \[2, 6, 5, 4\]"):
        Bench(Case("strided", [x], {"extents": extents, "view": view}, tuple(extents), ("nhwc",)))


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concat(native: Native, axis: int, dtype: str) -> None:
    parts = [draw(dtype, *(extent if place == axis else 3 for place in range(3))) for extent in (2, 0, 5, 1)]
    shape = tuple(8 if place == axis else 3 for place in range(3))
    assert_equals(native, Case("concat", parts, {"axis": axis}, shape, dtype=dtype), 2)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concat_of_pixels(native: Native, axis: int) -> None:
    parts = [draw("float32", *(extent if place == axis else 4 for place in range(4))) for extent in (1, 7, 3)]
    shape = tuple(11 if place == axis else 4 for place in range(4))
    pitches = {0: 3, 1: 8} if axis == 1 else {}
    case = Case("concat", parts, {"axis": axis}, shape, ("nhwc",) * 3, pitches, "nhwc", 13 if axis == 1 else None)
    np.testing.assert_array_equal(Bench(case).run(native), np.concatenate(parts, axis))


BROADCASTS = [((3, 17), (3, 17)), ((3, 17), (17,)), ((3, 1), (3, 17)), ((1, 17), (5, 3, 1)), ((), (4,)), ((0, 3), (3,))]


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    return np.broadcast_shapes(*shapes)


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize(("a", "b"), BROADCASTS)
def test_select(native: Native, a: tuple[int, ...], b: tuple[int, ...], dtype: str) -> None:
    for condition in {a, b, broadcast(a, b), ()}:
        operands = [draw("bool", *condition), draw(dtype, *a), draw(dtype, *b, seed=1)]
        assert_equals(native, Case("select", operands, {}, broadcast(a, b), dtype=dtype), 2)


@pytest.mark.parametrize("dtype", ["bool", "float32", "float64", *INTEGERS])
@pytest.mark.parametrize("op", COMPARISONS)
def test_compare(native: Native, op: str, dtype: str) -> None:
    for a, b in BROADCASTS:
        operands = [draw(dtype, *a), draw(dtype, *b, seed=1)]
        assert_equals(native, Case("compare", operands, {"op": op}, broadcast(a, b), dtype="bool"))


def list_arithmetic() -> list[tuple[str, str]]:
    pairs = [(op, dtype) for op in ARITHMETIC for dtype in INTEGERS]
    pairs += [(op, "float64") for op in ARITHMETIC if op not in ("And", "Or", "Xor")]
    return [
        *pairs,
        *((op, "bool") for op in ("Max", "Min", "And", "Or", "Xor")),
        ("Mod", "float32"),
        ("FMod", "float32"),
    ]


@pytest.mark.parametrize(("op", "dtype"), list_arithmetic())
def test_arithmetic(native: Native, op: str, dtype: str) -> None:
    for a, b in BROADCASTS:
        operands = [draw(dtype, *a), draw(dtype, *b, seed=1)]
        if op == "Pow" and dtype == "float64":
            operands[1] = np.abs(operands[1])
        case = Case("arithmetic", operands, {"op": op}, broadcast(a, b), dtype=dtype)
        if dtype == "float64" and op == "Pow":
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(Bench(case).run(native), np.power(*operands), rtol=1e-14)
        else:
            assert_equals(native, case)


def test_quotients_that_integers_do_not_have(native: Native) -> None:
    a, b = np.array([-(2**31), 7, 0, -7, -7], np.int32), np.array([-1, 0, 0, 2, -1], np.int32)
    for op, expected in (("Div", [-(2**31), 0, 0, -3, 7]), ("Mod", [0, 0, 0, 1, 0]), ("FMod", [0, 0, 0, -1, 0])):
        case = Case("arithmetic", [a, b], {"op": op}, (5,), dtype="int32")
        assert Bench(case).run(native).tolist() == expected


def test_powers_of_integers(native: Native) -> None:
    a, b = np.array([2, 2, 1, -1, -1, 0, 0], np.int64), np.array([62, -1, -5, -2, -3, 0, -1], np.int64)
    case = Case("arithmetic", [a, b], {"op": "Pow"}, (7,), dtype="int64")
    assert Bench(case).run(native).tolist() == [1 << 62, 0, 1, 1, -1, 1, 0]
    assert_equals(native, case)


KINDS = ("bool", "float16", "float32", "float64", *INTEGERS)


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_convert(native: Native, source: str, target: str) -> None:
    x = draw(source, 3, 401)
    if x.dtype.kind == "f" and target not in ("bool", "float16", "float32", "float64"):
        # What an integer type cannot hold depends on the processor in numpy.
        x = (np.arange(x.size).reshape(x.shape) % 100 + 0.7).astype(source)
    if source == "float64" and target in ("float16", "float32"):
        x = x * (1 + 1e-9 * np.arange(401))
    assert_equals(native, Case("convert", [x], {"to": target}, x.shape, dtype=target), 2)


def test_halves_are_rounded_to_even(native: Native) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        exact = every.astype(np.float64)
        wide = np.concatenate([exact, exact * (1 + 2.0**-11), [65519.9, 65520, 1e-8]])
    assert_equals(native, Case("convert", [every], {"to": "float32"}, every.shape, dtype="float32"))
    assert_equals(native, Case("convert", [wide], {"to": "float16"}, wide.shape, dtype="float16"))


def test_bfloat16(native: Native) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    every = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    with np.errstate(all="ignore"):
        wide = every.astype(np.float32)
        near = np.concatenate([wide, wide * np.float32(1 + 2.0**-8), wide * np.float32(1 + 2.0**-8 + 2.0**-20)])
    case = Case("convert", [near], {"to": "bfloat16"}, near.shape, dtype="bfloat16")
    actual = Bench(case).run(native)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(actual.astype(np.float32), near.astype(ml_dtypes.bfloat16).astype(np.float32))


@pytest.mark.parametrize("mode", PAD_MODES)
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 2, 3, 4], [0, 3, 0, 0], [-1, 2, 1, -2], [9, 0, 9, 11]])
def test_pad(native: Native, pads: list[int], mode: str) -> None:
    for dtype, extents in itertools.product(SIZES, [(3, 5), (1, 4), (4, 1)]):
        x = draw(dtype, *extents)
        shape = tuple(extent + pads[axis] + pads[2 + axis] for axis, extent in enumerate(extents))
        if min(shape) < 0:
            continue
        for value in (None, draw(dtype, 1)):
            case = Case("pad", [x, value], {"pads": pads, "mode": mode}, shape, dtype=dtype)
            assert_equals(native, case, 2)


def test_pad_of_pixels(native: Native) -> None:
    x = draw("float32", 2, 5, 4, 3)
    attributes = {"pads": [0, 1, 2, 0, 0, 0, 1, 3], "mode": "constant"}
    case = Case("pad", [x, None], attributes, (2, 6, 7, 6), ("nhwc",), {0: 8}, "nhwc", 7)
    np.testing.assert_array_equal(Bench(case, 2).run(native), np.pad(x, [(0, 0), (1, 0), (2, 1), (0, 3)]))


def make_resize(x: np.ndarray, spatial: tuple[int, ...], layout: str = "plain", **settings: Any) -> Case:
    scales = [float(target) / source for source, target in zip(x.shape[2:], spatial, strict=True)]
    defaults = {"coordinates": "half_pixel", "rounding": "round_prefer_floor", "cubic": -0.75, "exclude_outside": False}
    attributes = {"scales": scales, **defaults, **settings}
    pitches = {0: x.shape[1] + 3} if layout == "nhwc" else {}
    return Case("resize", [x], attributes, (*x.shape[:2], *spatial), (layout,), pitches, layout)


@pytest.mark.parametrize("layout", ["plain", "nhwc"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_resize(native: Native, coordinates: str, mode: str, layout: str) -> None:
    x = np.random.default_rng(5).standard_normal((2, 19, 5, 4)).astype(np.float32)
    for spatial in ((10, 8), (7, 9), (3, 1), (5, 4), (1, 13)):
        case = make_resize(x, spatial, layout, mode=mode, coordinates=coordinates, exclude_outside=spatial[0] == 7)
        assert_agrees(native, case, 2)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_rounding_of_nearest_cells(native: Native, rounding: str) -> None:
    x = np.arange(2 * 3 * 6, dtype=np.float32).reshape(2, 3, 6)
    for extent in (3, 4, 9, 12):
        assert_agrees(native, make_resize(x, (extent,), mode="nearest", rounding=rounding, coordinates="asymmetric"))


def test_nearest_cells_know_nothing_of_others(native: Native) -> None:
    x = np.array([[[np.nan, 1, -np.inf, 2]]], np.float32)
    case = make_resize(x, (8,), mode="nearest", rounding="floor", coordinates="asymmetric")
    assert_equals(native, case)
    np.testing.assert_array_equal(Bench(case, 1).run(native).ravel(), x.ravel().repeat(2))


def test_resize_of_volumes(native: Native) -> None:
    x = np.random.default_rng(5).standard_normal((1, 2, 3, 4, 5)).astype(np.float32)
    assert_agrees(native, make_resize(x, (5, 3, 7), mode="linear"), 2)
    assert_agrees(native, make_resize(x, (6, 8, 10), "nhwc", mode="nearest"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int32", "int64"])
def test_range(native: Native, dtype: str) -> None:
    start, delta = np.array(-5, dtype), np.array([3], dtype)
    for count in (0, 1, 100):
        assert_equals(native, Case("range", [start, delta], {}, (count,), dtype=dtype), 2)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
def test_triangle(native: Native, diagonal: int, upper: bool) -> None:
    for dtype in SIZES:
        x = draw(dtype, 2, 4, 6)
        settings = {"diagonal": [max(diagonal, 0), max(-diagonal, 0)], "upper": upper}
        assert_equals(native, Case("triangle", [x], settings, x.shape, dtype=dtype), 2)
