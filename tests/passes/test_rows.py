"""Views before and behind operators that work on rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from autofusion.frontend import read_model
from autofusion.ir import Graph
from autofusion.ir.verify import verify_graph
from autofusion.passes import remove_dead
from autofusion.passes.rows import free_rows
from autofusion.passes.views import merge_views
from frontend.models import parse, random, run_graph, save
from passes.passing import ops

CONSTANTS = (
    "int64[2] flat = {-1, 4}, int64[3] back = {2, 5, 3}, int64[3] same = {2, 5, 4}, int64[4] heads = {2, 5, 3, 1}, "
    "int64[2] rows = {10, 3}, float[3, 4] turned = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}"
)
HEADER = "float[2, 5, 4] x, float[4, 3] w, float[3] b, float[4] v, float[10, 3] full, float[2, 5, 2, 2] split"
FEEDS = {
    "x": random(1, 2, 5, 4),
    "w": random(2, 4, 3),
    "b": random(3, 3),
    "v": random(4, 4),
    "full": random(5, 10, 3),
    "split": random(6, 2, 5, 2, 2),
}


def reduce(text: str, folder: Path, feeds: Mapping[str, np.ndarray]) -> Graph:
    """The graph of `text` when nothing is left to do; its results are those of the graph before."""
    graph = read_model(save(parse(text), folder)).graph
    before = run_graph(graph, feeds)
    while free_rows(graph) + merge_views(graph):
        verify_graph(graph, "the passes")
    remove_dead(graph)
    for name, array in run_graph(graph, feeds).items():
        assert array.shape == before[name].shape
        np.testing.assert_allclose(array, before[name], rtol=1e-6, atol=1e-6)
    return graph


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("a = Reshape(x, flat) p = MatMul(a, w) q = Reshape(p, back) y = Neg(q)", "MatMul Neg"),
        ("a = Reshape(x, flat) p = MatMul(a, w) y = Reshape(p, back)", "MatMul Identity"),
        ("a = Reshape(x, flat) p = Gemm(a, w, b) q = Reshape(p, back) y = Neg(q)", "MatMul Add Neg"),
        ("a = Reshape(x, flat) p = Gemm(a, w) q = Reshape(p, back) y = Neg(q)", "MatMul Neg"),
        ("a = Reshape(x, flat) p = Gemm<transB = 1>(a, turned, b) q = Reshape(p, back) y = Neg(q)", "MatMul Add Neg"),
        ("a = Reshape(x, flat) p = Gemm(a, w, b) q = Reshape(p, heads) y = Neg(q)", "MatMul Add Reshape Neg"),
        ("a = Reshape(x, flat) p = MatMul(a, w) r = Add(b, p) q = Reshape(r, back) y = Neg(q)", "MatMul Add Neg"),
        ("a = Reshape(x, flat) p = MatMul(a, w) r = Relu(p) q = Reshape(r, back) y = Neg(q)", "MatMul Relu Neg"),
        (
            "a = Reshape(x, flat) p = Mul(a, v) r = Softmax<axis = 1>(p) q = Reshape(r, same) y = Neg(q)",
            "Mul Softmax Neg",
        ),
        (
            "a = Reshape(x, flat) n = LayerNormalization(a, v) p = Gemm(n, w, b) q = Reshape(p, back) y = Neg(q)",
            "LayerNormalization MatMul Add Neg",
        ),
        # The view before splits the last axis of its operand, the one behind keeps that of the product.
        ("a = Reshape(split, flat) p = MatMul(a, w) q = Reshape(p, back) y = Neg(q)", "Reshape MatMul Neg"),
        # A view that others read stays for them.
        ("a = Reshape(x, flat) p = MatMul(a, w) q = Reshape(p, back) y = Neg(q) z = Neg(a)", "MatMul Neg Reshape Neg"),
    ],
)
def test_a_view_goes(tmp_path: Path, body: str, left: str) -> None:
    results = "float y, float z" if "z =" in body else "float y"
    graph = reduce(f"g ({HEADER}) => ({results}) <{CONSTANTS}> {{ {body} }}", tmp_path, FEEDS)
    assert ops(graph) == left


@pytest.mark.parametrize(
    "body",
    [
        # The product is read as it is, too.
        "a = Reshape(x, flat) p = MatMul(a, w) q = Reshape(p, back) s = ReduceSum<keepdims = 0>(p) y = Add(q, s)",
        # The addend has a row for every row.
        "a = Reshape(x, flat) p = MatMul(a, w) r = Add(p, full) q = Reshape(r, back) y = Neg(q)",
        # Along the rows.
        "a = Reshape(x, flat) p = Softmax<axis = 0>(a) q = Reshape(p, same) y = Neg(q)",
        "a = Reshape(x, flat) p = Gemm<alpha = 0.5>(a, w) q = Reshape(p, back) y = Neg(q)",
        "a = Reshape(x, flat) p = Gemm<beta = 0.5>(a, w, b) q = Reshape(p, back) y = Neg(q)",
        "a = Reshape(x, flat) t = Transpose(w) p = Gemm<transB = 1>(a, t, b) q = Reshape(p, back) y = Neg(q)",
        "a = Reshape(x, rows4) p = Gemm<transA = 1>(a, full, b) q = Reshape(p, back4) y = Neg(q)",
        # Neither the view before nor the one behind keeps the last axis.
        "a = Reshape(split, flat) p = MatMul(a, w) q = Reshape(p, heads) y = Neg(q)",
    ],
)
def test_what_stays(tmp_path: Path, body: str) -> None:
    constants = f"{CONSTANTS}, int64[2] rows4 = {{10, 4}}, int64[3] back4 = {{2, 2, 3}}"
    graph = reduce(f"g ({HEADER}) => (float y) <{constants}> {{ {body} }}", tmp_path, FEEDS)
    assert ops(graph).count("Reshape") == 2


@pytest.mark.parametrize("extents", [(2, 5), (3, 1), (0, 5)])
def test_open_extents(tmp_path: Path, extents: tuple[int, int]) -> None:
    text = """g (float[n, s, 4] x, float[4, 3] w, float[3] b) => (float[n, s, 3] y)
              <int64[2] flat = {-1, 4}, int64[1] three = {3}>
              { a = Reshape(x, flat) p = Gemm(a, w, b) e = Shape<start = 0, end = 2>(x)
                t = Concat<axis = 0>(e, three) q = Reshape(p, t) y = Neg(q) }"""
    feeds = {**FEEDS, "x": random(1, *extents, 4)}
    del feeds["v"], feeds["full"], feeds["split"]
    graph = reduce(text, tmp_path, feeds)
    assert ops(graph) == "MatMul Add Neg"


def test_names_of_nodes_are_kept(tmp_path: Path) -> None:
    text = f"g ({HEADER}) => (float y) <{CONSTANTS}> {{ a = Reshape(x, flat) p = Gemm(a, w, b) y = Reshape(p, back) }}"
    model = parse(text)
    for item in model.graph.node:
        item.name = f"the_{item.op_type}_{item.output[0]}"
    graph = read_model(save(model, tmp_path)).graph
    free_rows(graph)
    assert {node.origin for node in graph if node.op in ("MatMul", "Add")} == {("the_Gemm_p",)}
