"""Concats of what was cut apart, and joins and cuts of one part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autofusion.passes.joins import merge_joins
from frontend.models import parse, random
from passes.passing import apply, ops

CONSTANTS = (
    "int64[1] k0 = {0}, int64[1] k1 = {1}, int64[1] k2 = {2}, int64[1] k3 = {3}, int64[1] far = {1000}, "
    "int64[1] end = {2147483647}, int64[1] back = {-2}, int64[2] parts = {1, 3}, int64[1] all = {4}, "
    "int64[3] three = {1, 1, 2}"
)
CUT = "a = Slice(x, k0, k2, k0) b = Slice(x, k2, far, k0)"
SPLIT = "a, b = Split<axis = 0>(x, parts)"


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (f"{CUT} y = Concat<axis = 0>(a, b)", "Identity"),
        (f"{CUT} y = Concat<axis = -2>(a, b)", "Identity"),
        ("a = Slice(x, k0, back, k0) b = Slice(x, back, end, k0) y = Concat<axis = 0>(a, b)", "Identity"),
        (
            "a = Slice(x, k0, k2, k0) b = Slice(x, k2, k3, k0) c = Slice(x, k3, end, k0) y = Concat<axis = 0>(a, b, c)",
            "Identity",
        ),
        (f"{SPLIT} y = Concat<axis = 0>(a, b)", "Identity"),
        ("a, b, c = Split<axis = 0>(x, three) y = Concat<axis = 0>(a, b, c)", "Identity"),
        (f"{SPLIT} y = Concat<axis = 0>(x, a, b, x)", "Concat"),
        ("y = Concat<axis = 0>(x)", "Identity"),
        ("a = Split<axis = 0>(x, all) y = Neg(a)", "Neg"),
        (f"{CUT} y = Concat<axis = 0>(b, a)", "Slice Slice Concat"),
        (f"{CUT} y = Concat<axis = 0>(a, a)", "Slice Concat"),
        ("a = Slice(x, k0, k2, k0) b = Slice(x, k3, far, k0) y = Concat<axis = 0>(a, b)", "Slice Slice Concat"),
        ("a = Slice(x, k0, k3, k0) b = Slice(x, k2, far, k0) y = Concat<axis = 0>(a, b)", "Slice Slice Concat"),
        ("a = Slice(x, k0, k2, k0) b = Slice(x, k2, k3, k0) y = Concat<axis = 0>(a, b)", "Slice Slice Concat"),
        ("a = Slice(x, k0, k2, k1) b = Slice(x, k2, end, k1) y = Concat<axis = 0>(a, b)", "Slice Slice Concat"),
        (
            "a = Slice(x, k0, far, k0, k2) b = Slice(x, k1, far, k0, k2) y = Concat<axis = 0>(a, b)",
            "Slice Slice Concat",
        ),
        (f"{SPLIT} y = Concat<axis = 0>(b, a)", "Split Concat"),
        (f"{SPLIT} c = Neg(a) y = Concat<axis = 0>(c, b)", "Split Neg Concat"),
        ("a, b, c = Split<axis = 0>(x, three) y = Concat<axis = 0>(a, b)", "Split Concat"),
        (
            "n = Neg(x) a = Slice(x, k0, k2, k0) b = Slice(n, k2, far, k0) y = Concat<axis = 0>(a, b)",
            "Slice Neg Slice Concat",
        ),
        ("a, b = Split<axis = 1, num_outputs = 2>(x) y = Concat<axis = 0>(a, b)", "Split Concat"),
    ],
)
def test_parts(tmp_path: Path, body: str, left: str) -> None:
    text = f"g (float[4, 4] x) => (float y) <{CONSTANTS}> {{ {body} }}"
    assert ops(apply(merge_joins, parse(text, opset=18), tmp_path, {"x": random(1, 4, 4)})) == left


@pytest.mark.parametrize(("first", "second"), [("k2", "far"), ("k1", "k2"), ("back", "end")])
def test_symbolic_axes_may_be_longer_or_shorter(tmp_path: Path, first: str, second: str) -> None:
    body = f"a = Slice(x, k0, {first}, k0) b = Slice(x, {first}, {second}, k0) y = Concat<axis = 0>(a, b)"
    text = f"g (float[n, 4] x) => (float y) <{CONSTANTS}> {{ {body} }}"
    assert ops(apply(merge_joins, text, tmp_path, {"x": random(1, 3, 4)})) == "Slice Slice Concat"


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_symbolic_axes_are_whole_whatever_their_extent(tmp_path: Path, count: int) -> None:
    text = f"g (float[n, 3] x) => (float y) <{CONSTANTS}> {{ {CUT} y = Concat<axis = 0>(a, b) }}".replace(
        "far, k0", "end, k0"
    )
    assert ops(apply(merge_joins, text, tmp_path, {"x": random(1, count, 3)})) == "Identity"


def test_parts_without_elements_go(tmp_path: Path) -> None:
    text = """g (float[0, 3] none, float[2, 3] x, float[n, 3] some) => (float y, float z) {
        a = Concat<axis = 0>(none, x, none) y = Neg(a) b = Concat<axis = 0>(none, some, x) z = Neg(b) }"""
    feeds = {"none": random(1, 0, 3), "x": random(2, 2, 3), "some": random(3, 0, 3)}
    assert ops(apply(merge_joins, text, tmp_path, feeds)) == "Neg Concat Neg"


def test_one_of_parts_that_are_all_empty_stays(tmp_path: Path) -> None:
    text = "g (float[0, 3] x, float[0, 3] z) => (float y) { a = Concat<axis = 0>(x, z) y = Neg(a) }"
    assert ops(apply(merge_joins, text, tmp_path, {"x": random(1, 0, 3), "z": random(1, 0, 3)})) == "Neg"


def test_an_extent_of_zero_on_another_axis_is_no_empty_part(tmp_path: Path) -> None:
    text = "g (float[2, 0] x, float[3, 0] z) => (float y) { y = Concat<axis = 0>(x, z) }"
    graph = apply(merge_joins, text, tmp_path, {"x": random(1, 2, 0), "z": np.zeros((3, 0), np.float32)})
    assert ops(graph) == "Concat"
