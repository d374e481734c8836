"""Slices that take everything, and Slices in a row, against numpy's own slicing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autofusion.ir import symbol
from autofusion.passes.slices import FAR, Cut, compose, merge_slices
from frontend.models import model, node, random, tensor
from passes.passing import apply, ops

Bounds = tuple[list[int], list[int], list[int], list[int]]


def build(shape: list[int | str], *slices: Bounds, outputs: str = "y") -> onnx.ModelProto:
    """Slices of x, one after the other, and a Neg."""
    nodes, weights, last = [], {}, "x"
    for number, columns in enumerate(slices):
        names = [f"k{number}_{place}" for place in range(4)]
        weights.update({name: np.array(column, np.int64) for name, column in zip(names, columns, strict=True)})
        nodes.append(node("Slice", f"{last} {' '.join(names)}", f"v{number}"))
        last = f"v{number}"
    nodes.append(node("Neg", last, "y"))
    return model(nodes, [tensor("x", shape)], [tensor(name, None) for name in outputs.split()], weights)


@pytest.mark.parametrize(
    ("shape", "slices", "left"),
    [
        ([9, 4], [([0], [9], [0], [1])], "Neg"),
        ([9, 4], [([0, 0], [FAR, 2**63 - 1], [0, -1], [1, 1])], "Neg"),
        ([9, 4], [([-9], [100], [0], [1])], "Neg"),
        ([9, 4], [([-100], [9], [-2], [1])], "Neg"),
        ([0, 4], [([3], [1], [0], [1])], "Neg"),
        (["n", 4], [([0], [FAR], [0], [1])], "Neg"),
        (["n", 4], [([0], [9], [0], [1])], "Slice Neg"),
        (["n", 4], [([-9], [FAR], [0], [1])], "Slice Neg"),
        ([9, 4], [([0], [9], [0], [2])], "Slice Neg"),
        ([9, 4], [([-1], [-(2**31)], [0], [-1])], "Slice Neg"),
        ([9, 4], [([0], [-1], [0], [1])], "Slice Neg"),
        ([9, 4], [([2], [8], [0], [1]), ([1], [-1], [0], [2])], "Slice Neg"),
        ([9, 4], [([2], [8], [0], [1]), ([1], [3], [1], [1])], "Slice Neg"),
        ([9, 4], [([-1], [-(2**31)], [0], [-2]), ([1], [3], [1], [1])], "Slice Neg"),
        ([9, 4], [([-1], [-(2**31)], [0], [-2]), ([3], [0], [0], [-2])], "Slice Slice Neg"),
        ([9, 4], [([-1], [-(2**31)], [0], [-2]), ([1], [3], [0], [1])], "Slice Slice Neg"),
        ([9, 4], [([5], [2], [0], [1]), ([0], [3], [1], [1])], "Slice Neg"),
        (["n", 4], [([1], [FAR], [0], [1]), ([2], [FAR], [0], [1])], "Slice Neg"),
        (["n", 4], [([1], [7], [0], [1]), ([2], [100], [0], [1])], "Slice Neg"),
        (["n", 4], [([1], [FAR], [0], [1]), ([0], [-1], [0], [1])], "Slice Slice Neg"),
        (["n", 4], [([0], [FAR], [0], [2]), ([1], [3], [0], [1])], "Slice Slice Neg"),
    ],
)
def test_slices(tmp_path: Path, shape: list[int | str], slices: list[Bounds], left: str) -> None:
    extents = [extent if isinstance(extent, int) else 9 for extent in shape]
    assert ops(apply(merge_slices, build(shape, *slices), tmp_path, {"x": random(1, *extents)})) == left


def test_a_slice_that_others_read_stays(tmp_path: Path) -> None:
    proto = build([9, 4], ([2], [8], [0], [1]), ([1], [3], [0], [1]), outputs="y v0")
    assert ops(apply(merge_slices, proto, tmp_path, {"x": random(1, 9, 4)})) == "Slice Slice Neg"


def test_limits_that_are_not_known_stay(tmp_path: Path) -> None:
    text = (
        """g (float[4] x, int64[1] end) => (float[m] y) <int64[1] zero = {0}> { a = Slice(x, zero, end) y = Neg(a) }"""
    )
    feeds = {"x": random(1, 4), "end": np.array([2])}
    assert ops(apply(merge_slices, text, tmp_path, feeds)) == "Slice Neg"


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    extent=st.integers(0, 8),
    bounds=st.tuples(*[st.one_of(st.integers(-10, 10), st.just(FAR))] * 4),
    steps=st.tuples(st.integers(-2, 3).filter(bool), st.integers(-2, 3).filter(bool)),
    is_known=st.booleans(),
)
def test_what_is_composed_takes_the_same(
    extent: int, bounds: tuple[int, int, int, int], steps: tuple[int, int], is_known: bool
) -> None:
    first, second = Cut(bounds[0], bounds[1], steps[0]), Cut(bounds[2], bounds[3], steps[1])
    both = compose(first, second, extent if is_known else symbol("n"))
    if both is None:
        assert not is_known or min(steps) < 1
        return
    elements = np.arange(extent)
    expected = elements[first.start : first.end : first.step][second.start : second.end : second.step]
    np.testing.assert_array_equal(elements[both.start : both.end : both.step], expected)
