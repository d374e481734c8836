"""Matrix products: biases, scales, and every shape of Gemm's third operand."""

from __future__ import annotations

import numpy as np
import pytest

from lowering.graphs import build, check_plan, node, randoms


@pytest.mark.parametrize("shape", [(4,), (1, 4), (1, 1, 4), ()])
def test_matmul_biases(shape: tuple[int, ...]):
    nodes = [node("MatMul", "x w", "p"), node("Add", "b p", "s"), node("Relu", "s", "y")]
    graph = build({"x": ["3", 4, 5]}, nodes, "y", {"w": randoms(1, 5, 4), "b": randoms(2, *shape)})
    lowered = check_plan(graph, "p s y", ["matmul"])
    assert lowered.plan.buffers[lowered.plan.steps[0].inputs[2]].shape == (4,)


def test_a_column_of_a_square_product_is_no_bias():
    for shape in ((4, 1), (1, 4, 1)):
        nodes = [node("MatMul", "x w", "p"), node("Add", "b p", "y")]
        graph = build({"x": [3, 4, 5]}, nodes, "y", {"w": randoms(1, 5, 4), "b": randoms(2, *shape)})
        check_plan(graph, "p y", ["matmul", "binary"])


def test_a_bias_that_widens_is_none():
    nodes = [node("MatMul", "x w", "p"), node("Add", "b p", "y")]
    graph = build({"x": [3, 5]}, nodes, "y", {"w": randoms(1, 5, 4), "b": randoms(2, 1, 1, 4)})
    check_plan(graph, "p y", ["matmul", "binary"])


def test_a_variable_bias_and_a_scale():
    nodes = [node("MatMul", "x q", "p"), node("Mul", "p k", "s"), node("Add", "s b", "a"), node("Tanh", "a", "y")]
    graph = build({"x": [2, 3, 5], "q": [2, 5, 4], "b": [4]}, nodes, "y", {"k": np.array([0.125], np.float32)})
    lowered = check_plan(graph, "p s a y", ["matmul"])
    assert lowered.plan.steps[0].attributes["scale"] == 0.125


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("addend", [None, (4,), (1, 4), (4, 1), (4, 4), (1,), ()])
@pytest.mark.parametrize("is_constant", [False, True])
def test_gemm(trans_a: int, trans_b: int, addend: tuple[int, ...] | None, is_constant: bool):
    inputs: dict[str, list[int | str]] = {"x": [3, 4] if trans_a else [4, 3], "w": [4, 3] if trans_b else [3, 4]}
    constants: dict[str, np.ndarray] = {}
    if addend is not None and is_constant:
        constants["c"] = randoms(3, *addend)
    elif addend is not None:
        inputs["c"] = list(addend)
    for alpha, beta in ((1.0, 1.0), (0.5, 1.0), (1.0, -2.0)):
        gemm = node(
            "Gemm", "x w" if addend is None else "x w c", "y", alpha=alpha, beta=beta, transA=trans_a, transB=trans_b
        )
        if addend is None or is_constant or (beta == 1 and addend in ((4,), (4, 4))):
            kernels = ["matmul"]
        else:
            kernels = ["matmul", "binary"] if beta == 1 else ["matmul", "binary", "binary"]
        graph = build(inputs, [gemm], "y", constants)
        check_plan(graph, "", kernels)


def test_gemm_with_an_addend_of_its_own_still_takes_in_an_activation():
    nodes = [node("Gemm", "x w c", "g"), node("Relu", "g", "y")]
    graph = build({"x": [4, 3], "w": [3, 4], "c": [4, 1]}, nodes, "y", {})
    lowered = check_plan(graph, "g y", ["matmul", "binary"])
    assert lowered.plan.steps[1].attributes["activation"] == "Relu"
