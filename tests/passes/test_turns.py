"""Views and Transposes that stand between each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autofusion.ir import symbol
from autofusion.passes.transposes import merge_transposes
from autofusion.passes.turns import group_axes, merge_turned_views, place_units
from autofusion.passes.views import merge_views
from frontend.models import random
from passes.passing import apply, ops, written

N = symbol("n")


def reduce(text: str, folder: Path, feeds: dict[str, np.ndarray]) -> str:
    run = lambda graph: merge_views(graph) + merge_transposes(graph) + merge_turned_views(graph)  # noqa: E731
    return ops(apply(run, text, folder, feeds))


@pytest.mark.parametrize(
    ("shape", "body", "left"),
    [
        # Heads and batch read as one axis for the keys, and back.
        (
            "2, 5, 3, 4",
            """t = Transpose<perm = [0, 2, 1, 3]>(x) a = Reshape(t, s6x5x4) u = Transpose<perm = [0, 2, 1]>(a)
               b = Reshape(u, s2x3x4x5) y = Neg(b)""",
            "Transpose Neg",
        ),
        # A unit axis that a view puts in behind the Transpose goes before it.
        (
            "5, 12",
            "a = Reshape(x, s5x3x4) t = Transpose<perm = [1, 0, 2]>(a) b = Unsqueeze(t, zero) y = Neg(b)",
            "Reshape Transpose Neg",
        ),
        # A Transpose of unit axes alone is a view.
        ("5, 1, 4", "t = Transpose<perm = [1, 0, 2]>(x) y = Neg(t)", "Reshape Neg"),
        ("5, 1, 4", "t = Transpose<perm = [1, 0, 2]>(x) a = Reshape(t, s5x4) y = Neg(a)", "Reshape Neg"),
        # Merged axes that go together, then a view that cuts elsewhere.
        (
            "2, 3, 5, 4",
            "a = Reshape(x, s6x5x4) t = Transpose<perm = [1, 0, 2]>(a) b = Reshape(t, s5x2x12) y = Neg(b)",
            "Transpose Reshape Neg",
        ),
        # Axes that are split and then moved apart: nothing goes.
        (
            "4, 4, 3",
            "a = Reshape(x, s2x2x2x2x3) t = Transpose<perm = [0, 2, 1, 3, 4]>(a) b = Reshape(t, s4x4x3) y = Neg(b)",
            "Reshape Transpose Reshape Neg",
        ),
        # Shuffled channels.
        (
            "2, 6, 5",
            "a = Reshape(x, s2x2x3x5) t = Transpose<perm = [0, 2, 1, 3]>(a) b = Reshape(t, s2x6x5) y = Neg(b)",
            "Reshape Transpose Reshape Neg",
        ),
        # The view is read by others.
        (
            "2, 3, 5, 4",
            """a = Reshape(x, s6x5x4) t = Transpose<perm = [1, 0, 2]>(a) b = Reshape(t, s5x2x12)
               c = Reshape(a, s5x2x12) y = Add(b, c)""",
            "Reshape Transpose Reshape Reshape Add",
        ),
    ],
)
def test_chains(tmp_path: Path, shape: str, body: str, left: str) -> None:
    targets = {
        name: [int(part) for part in name[1:].split("x")]
        for name in ("s6x5x4", "s2x3x4x5", "s5x3x4", "s5x4", "s5x2x12", "s2x2x2x2x3", "s4x4x3", "s2x2x3x5", "s2x6x5")
    }
    constants = ", ".join(
        f"int64[{len(extents)}] {name} = {{{', '.join(map(str, extents))}}}" for name, extents in targets.items()
    )
    text = f"g (float[{shape}] x) => (float y) <{constants}, int64[1] zero = {{0}}> {{ {body} }}"
    assert reduce(text, tmp_path, {"x": random(1, *map(int, shape.split(", ")))}) == left


@pytest.mark.parametrize("batch", [1, 2])
def test_an_open_batch(tmp_path: Path, batch: int) -> None:
    text = """g (float[n, 5, 3, 4] x) => (float[n, 3, 4, 5] y)
              <int64[3] joined = {-1, 5, 4}, int64[4] split = {-1, 3, 4, 5}>
              { t = Transpose<perm = [0, 2, 1, 3]>(x) a = Reshape(t, joined) u = Transpose<perm = [0, 2, 1]>(a)
                b = Reshape(u, split) y = Neg(b) }"""
    assert reduce(text, tmp_path, {"x": random(1, batch, 5, 3, 4)}) == "Transpose Neg"


def test_operands_of_products_keep_their_transposes(tmp_path: Path) -> None:
    """Attention knows its keys by the Transpose, be there only one of them."""
    text = """g (float[2, 3, 1, 4] q, float[2, 3, 1, 4] k) => (float y)
              { t = Transpose<perm = [0, 1, 3, 2]>(k) y = MatMul(q, t) }"""
    ones = np.ones((2, 3, 1, 4), np.float32)
    graph = apply(merge_turned_views, text, tmp_path, {"q": ones, "k": ones})
    assert written(graph) == ["t = Transpose(k)", "y = MatMul(q, t)"]


def test_repeated_heads_keep_their_views(tmp_path: Path) -> None:
    text = """g (float[1, 5, 8] x) => (float y)
              <int64[4] heads = {1, 5, 2, 4}, int64[1] two = {2}, int64[5] wide = {1, 2, 3, 5, 4},
               int64[3] all = {6, 5, 4}, int64[4] split = {1, 6, 4, 5}>
              { a = Reshape(x, heads) t = Transpose<perm = [0, 2, 1, 3]>(a) u = Unsqueeze(t, two) e = Expand(u, wide)
                b = Reshape(e, all) k = Transpose<perm = [0, 2, 1]>(b) c = Reshape(k, split) y = Neg(c) }"""
    left = reduce(text, tmp_path, {"x": random(1, 1, 5, 8)})
    assert left == "Reshape Transpose Unsqueeze Expand Reshape Transpose Neg"


def test_groups_and_units() -> None:
    assert group_axes((2, 3, 5), (6, 5)) == [[0, 1], [2]]
    assert group_axes((N, 3, 5), (N * 3, 1, 5)) == [[0, 1], [], [2]]
    assert group_axes((2, 5, 1), (2, 5)) == [[0], [1, 2]]
    assert group_axes((2, 6), (4, 3)) is None
    assert group_axes((2, 0), (0,)) is None
    assert group_axes((1,), ()) is None
    assert place_units([1, 0, 2], (1, 4, 5), (4, 1, 5)) == [1, 0, 2]
    assert place_units([0, 2, 1], (1, 4, 5), (5, 1, 4)) == [2, 0, 1]
    assert place_units([1, 0, 2], (1, 4, 5), (20,)) == [1, 0, 2]
