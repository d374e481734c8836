"""Nodes that shapes or attributes prove to do nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.passes.idle import remove_idle
from frontend.models import parse, random
from passes.passing import apply, ops

CONSTANTS = (
    "int64[2] s23 = {2, 3}, int64[1] s1 = {1}, int64[3] s123 = {1, 2, 3}, int64[2] s43 = {4, 3}, "
    "int64[2] ones = {1, 1}, int64[2] twice = {2, 1}, int64[4] nothing = {0, 0, 0, 0}, int64[4] shift = {1, 0, -1, 0}, "
    "int64[1] axis = {1}, int64[2] p2 = {0, 0}, int64[0] none = {}, float low = {-1}"
)


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("a = Expand(x, s23) y = Neg(a)", "Neg"),
        ("a = Expand(x, s1) y = Neg(a)", "Neg"),
        ("a = Expand(x, s123) y = Neg(a)", "Expand Neg"),
        ("b = Gather<axis = 0>(x, s1) a = Expand(b, s43) y = Neg(a)", "Gather Expand Neg"),
        ("a = Tile(x, ones) y = Neg(a)", "Neg"),
        ("a = Tile(x, twice) y = Neg(a)", "Tile Neg"),
        ("a = Pad(x, nothing) y = Neg(a)", "Neg"),
        ('a = Pad<mode = "edge">(x, nothing) y = Neg(a)', "Neg"),
        ("a = Pad(x, p2, , axis) y = Neg(a)", "Neg"),
        ("a = Pad(x, shift) y = Neg(a)", "Pad Neg"),
        ("a = ReduceMean<noop_with_empty_axes = 1>(x, none) y = Neg(a)", "Neg"),
        ("a = ReduceSum<noop_with_empty_axes = 1>(x) y = Neg(a)", "Neg"),
        ("a = ReduceMean(x) y = Neg(a)", "ReduceMean Neg"),
        ("a = ReduceMean<noop_with_empty_axes = 1>(x, axis) y = Neg(a)", "ReduceMean Neg"),
        ("a = ReduceSumSquare<noop_with_empty_axes = 1>(x, axis) y = Neg(a)", "ReduceSumSquare Neg"),
        ("a = Clip(x) y = Neg(a)", "Neg"),
        ("a = Clip(x, low) y = Neg(a)", "Clip Neg"),
        ("y = Expand(x, s23)", "Identity"),
    ],
)
def test_matrices(tmp_path: Path, body: str, left: str) -> None:
    text = f"g (float[2, 3] x) => (float y) <{CONSTANTS}> {{ {body} }}"
    assert ops(apply(remove_idle, parse(text, opset=18), tmp_path, {"x": random(1, 2, 3)})) == left


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("a = MaxPool<kernel_shape = [1, 1]>(x) y = Neg(a)", "Neg"),
        ("a = AveragePool<kernel_shape = [1, 1], strides = [1, 1]>(x) y = Neg(a)", "Neg"),
        ('a = MaxPool<kernel_shape = [1, 1], auto_pad = "SAME_UPPER">(x) y = Neg(a)', "Neg"),
        ("a = MaxPool<kernel_shape = [1, 1], strides = [2, 1]>(x) y = Neg(a)", "MaxPool Neg"),
        ("a = MaxPool<kernel_shape = [2, 1]>(x) y = Neg(a)", "MaxPool Neg"),
        ("a = MaxPool<kernel_shape = [1, 1], ceil_mode = 1>(x) y = Neg(a)", "MaxPool Neg"),
        ("a, i = MaxPool<kernel_shape = [1, 1]>(x) b = Cast<to = 1>(i) y = Add(a, b)", "MaxPool Cast Add"),
        ("a = GlobalAveragePool(x) y = Neg(a)", "GlobalAveragePool Neg"),
        ("b = GlobalMaxPool(x) a = GlobalAveragePool(b) y = Neg(a)", "GlobalMaxPool Neg"),
        ("a = ReduceMean<axes = [2, 3]>(x) y = Neg(a)", "ReduceMean Neg"),
    ],
)
def test_images(tmp_path: Path, body: str, left: str) -> None:
    text = f"g (float[n, 3, 2, 5] x) => (float y) {{ {body} }}"
    assert ops(apply(remove_idle, text, tmp_path, {"x": random(1, 2, 3, 2, 5)})) == left


def test_symbolic_extents_are_the_same_only_under_one_symbol(tmp_path: Path) -> None:
    text = """g (float[n, 3] x, float[m, 3] z) => (float y, float w) {
        s = Shape(x) a = Expand(x, s) y = Neg(a) t = Shape(z) b = Expand(x, t) w = Neg(b) }"""
    graph = apply(remove_idle, text, tmp_path, {"x": random(1, 1, 3), "z": random(2, 4, 3)})
    assert ops(graph) == "Neg Shape Expand Neg"
