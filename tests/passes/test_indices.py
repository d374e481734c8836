"""Index arithmetic: Gathers that take everything in order, comparisons that are always true, broadcasts in vain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autofusion.frontend import read_model
from autofusion.ir import symbol
from autofusion.passes import run_passes
from autofusion.passes.affine import Affine, add_affine, affine_of
from autofusion.passes.idle import remove_idle
from autofusion.passes.indices import settle_indices
from autofusion.passes.neutral import remove_neutral
from frontend.models import assert_same, parse, random, run_graph, run_runtime, save
from passes.passing import apply, ops

N, S = symbol("n"), symbol("s")

FLATTENED = """g (bool[n, s] m, float[n, 2, s, s] x) => (float[n, 2, s, s] y)
    <int64 zero = {0}, int64 one = {1}, int64[4] rows = {-1, 1, 1, 1}, int64[4] columns = {1, 1, 1, -1},
     float off = {-100}, float on = {0}, int64[1] last = {4}>
    { e = Shape(m) n = Gather(e, zero) s = Gather(e, one) f = Flatten<axis = 2>(m)
      r = Range(zero, n, one) rr = Reshape(r, rows) rs = Mul(rr, s) c = Range(zero, s, one) cc = Reshape(c, columns)
      i = Add(cc, rs) g = Gather<axis = 0>(f, i) k = Squeeze(g, last)
      o = GreaterOrEqual(cc2, zero) a = And(o, k) w = Where(a, on, off) y = Add(x, w) }"""


@pytest.mark.parametrize("extents", [(1, 1), (2, 5), (3, 1)])
def test_a_mask_counted_through_is_the_mask(tmp_path: Path, extents: tuple[int, int]) -> None:
    text = FLATTENED.replace("o = GreaterOrEqual(cc2", "q = Reshape(c, heads) o = GreaterOrEqual(q")
    text = text.replace("int64 zero", "int64[4] heads = {1, 1, -1, 1}, int64 zero")
    proto = parse(text)
    graph = read_model(save(proto, tmp_path)).graph
    run_passes(graph)
    assert ops(graph) == "Unsqueeze Where Add"
    n, s = extents
    feeds = {"m": np.arange(n * s).reshape(n, s) % 3 > 0, "x": random(1, n, 2, s, s)}
    assert_same(run_runtime(proto, feeds), run_graph(graph, feeds))


def gather(indices: str, folder: Path, data: str = "float[6, 2] x", body: str = "y = Gather(x, i)") -> str:
    shape = [int(part) for part in data[data.index("[") + 1 : data.index("]")].split(",")]
    return ops(
        apply(settle_indices, f"g ({data}) => (float y) <{indices}> {{ {body} }}", folder, {"x": random(1, *shape)})
    )


@pytest.mark.parametrize(
    ("indices", "left"),
    [
        ("int64[6] i = {0, 1, 2, 3, 4, 5}", "Reshape"),
        ("int64[2, 3] i = {0, 1, 2, 3, 4, 5}", "Reshape"),
        ("int64[2, 1, 3] i = {0, 1, 2, 3, 4, 5}", "Reshape"),
        ("int64[3, 2] i = {0, 3, 1, 4, 2, 5}", "Gather"),
        ("int64[5] i = {0, 1, 2, 3, 4}", "Gather"),
        ("int64[6] i = {-6, -5, -4, -3, -2, -1}", "Gather"),
        ("int64[6] i = {0, 1, 2, 4, 3, 5}", "Gather"),
        ("int64[7] i = {0, 1, 2, 3, 4, 5, 0}", "Gather"),
    ],
)
def test_gathers(tmp_path: Path, indices: str, left: str) -> None:
    assert gather(indices, tmp_path) == left


@pytest.mark.parametrize(
    ("indices", "left"),
    [
        ("int64[2, 3, 2] i = {0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2}", "Reshape"),
        ("int64[3, 2, 2] i = {0, 0, 1, 0, 0, 1, 1, 1, 0, 2, 1, 2}", "GatherND"),
        ("int64[2, 1] i = {0, 1}", "Reshape"),
        ("int64[6, 2] i = {0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2}", "GatherND"),
        # Linear, but past the end of a row.
        ("int64[6, 2] i = {0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5}", "GatherND"),
    ],
)
def test_gathers_of_several_axes(tmp_path: Path, indices: str, left: str) -> None:
    text = f"g (float[2, 3, 4] x) => (float y) <{indices}> {{ y = GatherND(x, i) }}"
    graph = read_model(save(parse(text), tmp_path)).graph
    feeds = {"x": random(1, 2, 3, 4)}
    if "0, 5}" in indices:
        assert settle_indices(graph) == 0
        return
    assert ops(apply(settle_indices, text, tmp_path, feeds)) == left


@pytest.mark.parametrize(
    ("comparison", "goes"),
    [
        ("GreaterOrEqual(r, zero)", True),
        ("LessOrEqual(zero, r)", True),
        ("Greater(r, minus)", True),
        ("Less(minus, r)", True),
        ("Greater(r, zero)", False),
        ("GreaterOrEqual(zero, r)", False),
        ("LessOrEqual(r, columns)", False),
    ],
)
def test_comparisons(tmp_path: Path, comparison: str, goes: bool) -> None:
    text = f"""g (float[n] x) => (float[n] y)
        <int64 zero = {{0}}, int64 one = {{1}}, int64 minus = {{-1}}, float f = {{2}}>
        {{ e = Shape(x) n = Squeeze(e) r = Range(zero, n, one) columns = Sub(r, one)
           t = {comparison} y = Where(t, x, f) }}"""
    assert ("Range" not in ops(apply(settle_indices, text, tmp_path, {"x": random(1, 5)}))) == goes


@pytest.mark.parametrize(
    ("body", "goes"),
    [
        ("e = Expand(m, wide) y = Add(x, e)", True),
        ("e = Expand(m, wide) n = Neg(e) y = Mul(n, x)", True),
        ("e = Expand(m, wide) y = Neg(e)", False),
        ("e = Expand(m, wide) n = Neg(e) s = Add(n, x) r = ReduceSum<keepdims = 0>(n) y = Add(s, r)", False),
        ("e = Expand(m, wide) y = MatMul(x, e)", False),
        ("e = Expand(m, wide) d = Shape(e) f = Expand(m, d) s = Add(x, f) y = Add(s, e)", False),
        ("e = Expand(m, wider) y = Add(x, e)", False),
    ],
)
def test_expands(tmp_path: Path, body: str, goes: bool) -> None:
    text = f"""g (float[3, 3] x, float[1, 3] m) => (float y)
        <int64[2] wide = {{3, 3}}, int64[3] wider = {{2, 3, 3}}> {{ {body} }}"""
    feeds = {"x": random(1, 3, 3), "m": random(2, 1, 3)}
    assert ("Expand" not in ops(apply(remove_idle, text, tmp_path, feeds))) == goes


@pytest.mark.parametrize(
    ("body", "goes"),
    [
        ("a = And(m, all) y = Where(a, x, f)", True),
        ("a = And(m, all) y = Where(a, f, g)", False),
        ("a = And(m, most) y = Where(a, x, f)", False),
    ],
)
def test_neutral_operands_that_widen(tmp_path: Path, body: str, goes: bool) -> None:
    text = f"""g (float[2, 3] x, bool[1, 3] m) => (float y)
        <bool[2, 1] all = {{1, 1}}, bool[2, 1] most = {{1, 0}}, float f = {{2}}, float g = {{3}}> {{ {body} }}"""
    feeds = {"x": random(1, 2, 3), "m": np.array([[True, False, True]])}
    assert ("And" not in ops(apply(remove_neutral, text, tmp_path, feeds))) == goes


def test_steps() -> None:
    assert affine_of(np.arange(6).reshape(2, 3)) == Affine((2, 3), 0, (3, 1))
    assert affine_of(np.array([0, 1, 3])) is None
    assert affine_of(np.array([0.0, 1.0])) is None
    rows, columns = Affine((N, 1), 0, (S, 0)), Affine((1, S), 0, (0, 1))
    assert add_affine(rows, columns) == Affine((N, S), 0, (S, 1))
    assert Affine((N, S), 0, (S, 1)).counts_up()
    assert not Affine((S, N), 0, (1, S)).counts_up()
    assert add_affine(Affine((N,), 0, (1,)), Affine((S,), 0, (1,))) is None


@pytest.mark.parametrize(
    ("fill", "left"),
    [("int64[1] {1}", "Shape Squeeze Range Unsqueeze"), ("int64[1] {0}", "Shape ConstantOfShape NonZero")],
)
def test_places_of_equal_numbers_are_counted(tmp_path: Path, fill: str, left: str) -> None:
    text = f"g (float[n] x) => (int64[1, k] y) {{ e = Shape(x) o = ConstantOfShape<value = {fill}>(e) y = NonZero(o) }}"
    for count in (0, 1, 5):
        assert ops(apply(settle_indices, text, tmp_path, {"x": random(1, count)})) == left
