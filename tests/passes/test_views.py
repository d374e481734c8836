"""Views in a row, and views that change nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autofusion.ir import symbol
from autofusion.passes import run_passes
from autofusion.passes.spelling import spell_target, spell_view
from autofusion.passes.views import merge_views
from frontend.models import random
from passes.passing import apply, ops

N, S = symbol("n"), symbol("s")


@pytest.mark.parametrize(
    ("shape", "body", "left"),
    [
        ("4, 6", "a = Reshape(x, s2x12) y = Reshape(a, s0x3x4)", "Reshape"),
        ("4, 6", "a = Reshape(x, s2x12) y = Reshape(a, s4x6)", "Identity"),
        ("4, 6", "a = Reshape(x, open) b = Reshape(a, s2x12) y = Neg(b)", "Reshape Neg"),
        ("4, 6", "a = Reshape(x, s4x6) y = Neg(a)", "Neg"),
        ("4, 6", "a = Flatten(x) y = Neg(a)", "Neg"),
        ("4, 1, 6", "a = Flatten(x) b = Unsqueeze(a, one) y = Neg(b)", "Neg"),
        ("4, 1, 6", "a = Squeeze(x, one) b = Unsqueeze(a, zero) y = Neg(b)", "Reshape Neg"),
        ("4, 6", "a = Unsqueeze(x, last) b = Squeeze(a, last) y = Neg(b)", "Neg"),
        ("4, 6", "a = Flatten(x) b = Flatten<axis = 0>(a) c = Reshape(b, s2x12) y = Neg(c)", "Reshape Neg"),
        ("4, 6", "a = Reshape(x, s2x12) b = Neg(a) y = Reshape(b, s4x6)", "Reshape Neg Reshape"),
        ("n, 4, 6", "a = Flatten(x) b = Reshape(a, c0x4x6) y = Neg(b)", "Neg"),
        ("n, 4, 6", "a = Flatten(x) b = Unsqueeze(a, zero) y = Neg(b)", "Reshape Neg"),
        ("4, n, 6", "a = Reshape(x, c0x0x2x3) b = Flatten<axis = 2>(a) y = Neg(b)", "Reshape Neg"),
        ("n, s, 6", "a = Unsqueeze(x, zero) b = Squeeze(a, zero) y = Neg(b)", "Neg"),
        ("n, s, 6", "a = Reshape(x, c0x0x2x3) b = Unsqueeze(a, last) y = Neg(b)", "Reshape Neg"),
        ("n, s, 6", "a = Unsqueeze(x, zero) b = Unsqueeze(a, zero) y = Neg(b)", "Unsqueeze Neg"),
    ],
)
def test_chains(tmp_path: Path, shape: str, body: str, left: str) -> None:
    targets = (
        "int64[2] s2x12 = {2, 12}, int64[3] s0x3x4 = {0, 3, 4}, int64[2] s4x6 = {4, 6}, int64[1] open = {-1}, "
        "int64[1] zero = {0}, int64[1] one = {1}, int64[1] last = {-1}, int64[3] c0x4x6 = {0, 4, 6}, "
        "int64[4] c0x0x2x3 = {0, 0, 2, 3}"
    )
    extents = [{"n": 4, "s": 5}.get(part) or int(part) for part in shape.split(", ")]
    text = f"g (float[{shape}] x) => (float y) <{targets}> {{ {body} }}"
    assert ops(apply(merge_views, text, tmp_path, {"x": random(1, *extents)})) == left


@pytest.mark.parametrize("extents", [(0, 4, 6), (3, 4, 6)])
def test_nothing_is_lost_of_tensors_without_elements(tmp_path: Path, extents: tuple[int, ...]) -> None:
    text = """g (float[n, 4, 6] x) => (float y) <int64[2] rows = {-1, 24}, int64[2] pairs = {-1, 12}>
              { a = Reshape(x, rows) b = Reshape(a, pairs) y = Neg(b) }"""
    assert ops(apply(merge_views, text, tmp_path, {"x": random(1, *extents)})) == "Reshape Neg"


def test_zeros_that_are_extents_stay_zeros(tmp_path: Path) -> None:
    text = """g (float[0, 4] x) => (float y) <int64[2] a2 = {8, 0}, int64[3] a3 = {0, 3, 5}>
              { a = Reshape<allowzero = 1>(x, a2) b = Reshape<allowzero = 1>(a, a3) y = Neg(b) }"""
    assert ops(apply(merge_views, text, tmp_path, {"x": random(1, 0, 4)})) == "Reshape Neg"


def test_the_result_of_a_view_as_a_target_is_no_chain(tmp_path: Path) -> None:
    text = """g (float[2, 6] x, int64[2, 1] k) => (float y) <int64[1] open = {-1}>
              { shape = Reshape(k, open) y = Reshape(x, shape) }"""
    feeds = {"x": random(1, 2, 6), "k": np.array([[3], [4]])}
    assert ops(apply(merge_views, text, tmp_path, feeds)) == "Reshape Reshape"


def test_unknown_targets_may_copy_and_stay(tmp_path: Path) -> None:
    text = """g (float[4, 6] x, int64[3] shape) => (float y) <int64[2] first = {2, 12}>
              { a = Reshape(x, first) y = Reshape(a, shape) }"""
    feeds = {"x": random(1, 4, 6), "shape": np.array([0, 3, 4])}
    assert ops(apply(merge_views, text, tmp_path, feeds)) == "Reshape Reshape"


def test_views_that_others_read_stay_unless_they_cancel(tmp_path: Path) -> None:
    text = """g (float[4, 6] x) => (float y, float z, float w)
              <int64[2] first = {2, 12}, int64[2] second = {8, 3}, int64[2] back = {4, 6}>
              { r = Relu(x) a = Reshape(r, first) y = Neg(a) b = Reshape(a, second) z = Exp(b)
                c = Reshape(a, back) w = Exp(c) }"""
    left = ops(apply(merge_views, text, tmp_path, {"x": random(1, 4, 6)}))
    assert sorted(left.split()) == ["Exp", "Exp", "Neg", "Relu", "Reshape", "Reshape"]


def test_targets_computed_from_shapes_become_constants(tmp_path: Path) -> None:
    text = """g (float[n, s, 6] x) => (float y)
              <int64 zero = {0}, int64 one = {1}, int64[1] axis = {0}, int64[2] tail = {2, 3}>
              { shape = Shape(x) n0 = Gather(shape, zero) s0 = Gather(shape, one)
                n1 = Unsqueeze(n0, axis) s1 = Unsqueeze(s0, axis)
                target = Concat<axis = 0>(n1, s1, tail) y = Reshape(x, target) }"""
    graph = apply(merge_views, text, tmp_path, {"x": random(1, 3, 5, 6)})
    assert ops(graph) == "Reshape"
    (node,) = graph
    assert graph.constants[node.inputs[1]].tolist() == [0, 0, 2, 3]
    assert run_passes(graph)[0].changes == 0


@pytest.mark.parametrize(
    ("shape", "given", "target"),
    [
        ((2, 3), (6,), [2, 3]),
        ((N, 3), (3, N), [-1, 3]),
        ((N, S, 3), (N, S * 3), None),
        ((N, S * 3), (N, S, 3), None),
        ((N + 1, S * 3), (N + 1, S, 3), [0, -1]),
        ((N, S), (N, S, 1), [0, 0]),
        ((S, N), (N, S), None),
        ((N, 0), (0, N), None),
        ((0, 5), (3, 0), [0, 5]),
    ],
)
def test_targets(shape: tuple[object, ...], given: tuple[object, ...], target: list[int] | None) -> None:
    assert spell_target(shape, given) == target


def test_axes_say_what_no_target_says() -> None:
    view = spell_view((N, 1, 1, S), (N, S))
    assert view is not None
    assert (view.op, view.numbers) == ("Unsqueeze", (1, 2))
    view = spell_view((N, S), (1, N, S, 1))
    assert view is not None
    assert (view.op, view.numbers) == ("Squeeze", (0, 3))
    assert spell_view((N, S), (N * S, 1)) is None
    assert spell_view((N, S), (S, N)) is None
