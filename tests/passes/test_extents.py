"""Tensors of extents: said once, and by the shape of an input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autofusion.frontend import read_model
from autofusion.passes import remove_dead
from autofusion.passes.extents import share_extents
from frontend.models import assert_same, parse, random, run_graph, run_runtime, save
from passes.passing import apply, ops, written

CONSTANTS = "int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] two = {2}"

SEVERAL = "Shape Squeeze Shape Squeeze Mul Add Unsqueeze"


def share(body: str, folder: Path) -> list[str]:
    text = f"g (float[n, s, 4] x) => (int64[k] y) <{CONSTANTS}> {{ {body} }}"
    return written(apply(share_extents, text, folder, {"x": random(1, 2, 3, 4)}))


def test_extents_of_an_inner_value_are_read_from_the_input(tmp_path: Path) -> None:
    left = share(
        "a = Neg(x) e = Shape(a) d = Gather(e, one) u = Unsqueeze(d, first) y = Concat<axis = 0>(u, two)", tmp_path
    )
    assert left == ["u = Shape(x)", "y = Concat(u, two)"]


def test_a_single_number_is_squeezed_out(tmp_path: Path) -> None:
    left = share("a = Neg(x) e = Shape(a) d = Gather(e, zero) y = Range(zero, d, one)", tmp_path)
    assert left == ["d_extents = Shape(x)", "d = Squeeze(d_extents, Gather_2_axes)", "y = Range(zero, d, one)"]


def test_equal_tensors_are_one(tmp_path: Path) -> None:
    body = """a = Neg(x) b = Abs(a) e = Shape(a) f = Shape(b) c = Concat<axis = 0>(e, two) d = Concat<axis = 0>(f, two)
              y = Concat<axis = 0>(c, d)"""
    left = share(body, tmp_path)
    assert left == ["e = Shape(x)", "c = Concat(e, two)", "y = Concat(c, c)"]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        # Products of extents are in no shape, but equal ones are one.
        ("e = Shape(x) p = Mul(e, e) q = Mul(e, e) y = Add(p, q)", "Shape Mul Add"),
        # What does not follow from shapes.
        ("a = Neg(x) i = NonZero(a) e = Shape(i) y = Add(e, e)", "Neg NonZero Shape Add"),
    ],
)
def test_other_tensors(tmp_path: Path, body: str, left: str) -> None:
    text = f"g (float[n, s, 4] x) => (int64[k] y) <{CONSTANTS}> {{ {body} }}"
    assert ops(apply(share_extents, text, tmp_path, {"x": random(1, 2, 3, 4)})) == left


def test_outputs_keep_their_names(tmp_path: Path) -> None:
    text = "g (float[n, s] x) => (int64[2] y, int64[2] z) { a = Neg(x) y = Shape(a) z = Shape(x) }"
    graph = apply(share_extents, text, tmp_path, {"x": random(1, 2, 3)})
    assert graph.outputs == ("y", "z")
    assert ops(graph) == "Shape Identity"


def test_branches_read_their_own_inputs(tmp_path: Path) -> None:
    text = """g (bool c, float[n, s] x) => (int64[2] y)
        { y = If (c) <then_branch = t () => (int64[2] p) { a = Neg(x) p = Shape(a) },
                      else_branch = e () => (int64[2] q) { b = Abs(x) q = Shape(b) }> }"""
    proto = parse(text)
    graph = read_model(save(proto, tmp_path)).graph
    share_extents(graph)
    remove_dead(graph)
    feeds = {"c": np.array(True), "x": random(1, 2, 3)}
    assert_same(run_runtime(proto, feeds), run_graph(graph, feeds))


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("e = Shape(c) y = Gather<axis = 0>(e, one)", "Shape Squeeze Shape Squeeze Add"),
        ("d = Concat<axis = 1>(c, x) e = Shape(d) y = Gather<axis = 0>(e, one)", "Shape Squeeze Shape Squeeze Mul Add"),
        ("d = Concat<axis = 1>(c, x) e = Shape(d) y = Gather<axis = 0>(e, row)", SEVERAL),
        ("d = Pad(c, more) e = Shape(d) y = Gather<axis = 0>(e, one)", "Shape Squeeze Shape Squeeze Add Add"),
        # Several extents at once stay where they are.
        ("e = Shape(c) y = Slice(e, first, two)", "Neg Concat Shape Slice"),
    ],
)
def test_a_sum_of_extents_is_computed_from_the_inputs(tmp_path: Path, body: str, left: str) -> None:
    given = "float[n, s, 4] x, float[n, p, 4] past"
    more = f"{CONSTANTS}, int64[1] row = {{1}}, int64[6] more = {{0, 1, 0, 0, 1, 0}}"
    text = f"g ({given}) => (int64 y) <{more}> {{ a = Neg(x) c = Concat<axis = 1>(a, past) {body} }}"
    feeds = {"x": random(1, 2, 3, 4), "past": random(2, 2, 5, 4)}
    assert ops(apply(share_extents, text, tmp_path, feeds)) == left
