"""Calls of one fused node that become one: norms with products, products side by side, sums with norms."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Graph, Node
from autofusion.lowering import Lowered, lower
from lowering.graphs import build, check_plan, fuse, kernels_of, make_feeds, node, randoms, run_graph, run_plan

VECTORS = {"g": randoms(3, 5), "h": randoms(4, 5)}


def check_dynamic(graph: Graph, names: str, outputs: str, kernels: list[str]) -> Lowered:
    """As `check_plan`, for a fused node with several results and an extent that is known at run time only."""
    feeds = {"x": randoms(8, 2, 3, 5)}
    expected = run_graph(graph, feeds)
    fuse(graph, names, outputs=outputs)
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == kernels
    for actual, right in zip(run_plan(lowered, feeds), expected, strict=True):
        np.testing.assert_allclose(actual, right, rtol=0, atol=1e-5)
    return lowered


@pytest.mark.parametrize(
    "norm", [node("LayerNormalization", "x g h", "n", axis=-1), node("RMSNormalization", "x g", "n", axis=-1)]
)
def test_a_norm_before_a_product(norm: Node):
    nodes = [norm, node("MatMul", "n w", "p"), node("Add", "p b", "s"), node("Relu", "s", "y")]
    graph = build({"x": ["batch", 3, 5]}, nodes, "y", {"w": randoms(1, 5, 4), "b": randoms(2, 4), **VECTORS})
    lowered = check_dynamic(graph, "n p s y", "", ["matmul"])
    (step,) = lowered.plan.steps
    assert step.inputs[4:] == (("g", "h") if norm.op[0] == "L" else ("g", ""))
    assert (step.attributes["norm"], step.attributes["activation"]) == ("layer" if norm.op[0] == "L" else "rms", "Relu")


def test_a_norm_before_a_transposed_matrix():
    nodes = [
        node("LayerNormalization", "x g h", "n", axis=-1),
        node("Gemm", "n w b", "y", transB=1, alpha=0.5, beta=2.0),
    ]
    graph = build({"x": [3, 5]}, nodes, "y", {"w": randoms(1, 4, 5), "b": randoms(2, 4), **VECTORS})
    lowered = check_plan(graph, "n y", ["matmul"])
    assert lowered.plan.steps[0].attributes["trans_b"] is False


@pytest.mark.parametrize(
    ("changed", "kernels"),
    [
        ({"n": node("LayerNormalization", "x k", "n", axis=0)}, ["norm", "matmul"]),
        ({"y": node("Gemm", "n v", "y", transA=1)}, ["norm", "matmul"]),
    ],
)
def test_a_norm_that_a_product_cannot_do(changed: dict[str, Node], kernels: list[str]):
    nodes = {"n": node("LayerNormalization", "x g", "n", axis=-1), "y": node("MatMul", "n w", "y")} | changed
    constants = {"w": randoms(1, 5, 4), "v": randoms(1, 3, 4), "k": randoms(7, 3, 5), **VECTORS}
    check_plan(build({"x": [3, 5]}, list(nodes.values()), "y", constants), "n y", kernels)


def test_a_norm_before_a_variable_matrix_stays():
    nodes = [node("LayerNormalization", "x g", "n", axis=-1), node("MatMul", "n w", "y")]
    graph = build({"x": [3, 5], "w": [5, 4]}, nodes, "y", VECTORS)
    check_plan(graph, "n y", ["norm", "matmul"])


def test_products_of_one_value_deal_out_their_columns():
    nodes = [
        *(node("MatMul", f"x w{part}", f"p{part}") for part in "qkv"),
        *(node("Add", f"p{part} b{part}", part) for part in "qkv"),
    ]
    widths = {"q": 4, "k": 17, "v": 2}
    constants = {f"w{part}": randoms(1, 5, width) for part, width in widths.items()}
    constants |= {f"b{part}": randoms(2, width) for part, width in widths.items()}
    graph = build({"x": ["batch", 3, 5]}, nodes, "q k v", constants)
    lowered = check_dynamic(graph, "pq pk pv q k v", "q k v", ["matmul"])
    (step,) = lowered.plan.steps
    assert step.attributes["widths"] == [4, 17, 2]
    assert step.outputs == ("q", "k", "v")


def test_a_norm_before_products_of_one_value():
    nodes = [node("RMSNormalization", "x g", "n", axis=-1), *(node("MatMul", f"n w{part}", part) for part in "qk")]
    graph = build({"x": ["batch", 3, 5]}, nodes, "q k", {"wq": randoms(1, 5, 4), "wk": randoms(2, 5, 6), **VECTORS})
    lowered = check_dynamic(graph, "n q k", "q k", ["matmul"])
    assert lowered.plan.steps[0].attributes["norm"] == "rms"


def test_parts_with_factors_and_transposed_matrices():
    nodes = [
        node("Gemm", "x a c", "p", transB=1, alpha=2.0),
        node("Gemm", "x b", "q", alpha=-1.0),
    ]
    graph = build({"x": [3, 5]}, nodes, "p q", {"a": randoms(1, 4, 5), "b": randoms(2, 5, 6), "c": randoms(3, 4)})
    feeds = make_feeds(graph)
    expected = run_graph(graph, feeds)
    fuse(graph, "p q", outputs="p q")
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == ["matmul"]
    for actual, right in zip(run_plan(lowered, feeds), expected, strict=True):
        np.testing.assert_allclose(actual, right, rtol=0, atol=1e-5)


@pytest.mark.parametrize("order", ["a u", "u a"])
def test_a_gated_product(order: str):
    nodes = [
        node("MatMul", "x w", "g"),
        node("Sigmoid", "g", "s"),
        node("Mul", "g s", "a"),
        node("MatMul", "x v", "u"),
        node("Mul", order, "y"),
    ]
    graph = build({"x": ["batch", 3, 5]}, nodes, "y", {"w": randoms(1, 5, 7), "v": randoms(2, 5, 7)})
    lowered = check_dynamic(graph, "g s a u y", "", ["matmul"])
    (step,) = lowered.plan.steps
    assert (step.attributes["gated"], step.attributes["activation"]) == (True, "SiLU")


def test_two_gates_stay_products():
    nodes = [
        node("MatMul", "x w", "g"),
        node("Relu", "g", "a"),
        node("MatMul", "x v", "u"),
        node("Tanh", "u", "t"),
        node("Mul", "a t", "y"),
    ]
    graph = build({"x": [3, 5]}, nodes, "y", {"w": randoms(1, 5, 7), "v": randoms(2, 5, 7)})
    check_plan(graph, "g a u t y", ["matmul", "matmul", "binary"])


@pytest.mark.parametrize("outputs", ["y", "y s"])
def test_a_sum_before_a_norm(outputs: str):
    nodes = [node("Add", "x r", "s"), node("LayerNormalization", "s g h", "y", axis=-1)]
    graph = build({"x": [2, 3, 5], "r": [2, 3, 5]}, nodes, outputs, VECTORS)
    feeds = make_feeds(graph)
    expected = run_graph(graph, feeds)
    fuse(graph, "s y", outputs=outputs)
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == ["norm"]
    assert lowered.plan.steps[0].outputs == tuple(outputs.split())
    for actual, right in zip(run_plan(lowered, feeds), expected, strict=True):
        np.testing.assert_allclose(actual, right, rtol=0, atol=1e-5)


def test_a_sum_that_widens_stays_outside_of_the_norm():
    nodes = [node("Add", "x r", "s"), node("LayerNormalization", "s g", "y", axis=-1)]
    graph = build({"x": [2, 3, 5], "r": [3, 5]}, nodes, "y", VECTORS)
    check_plan(graph, "s y", ["binary", "norm"])
