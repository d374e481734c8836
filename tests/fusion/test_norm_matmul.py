"""Normalizations with what stands before and behind them: the sum they read, the products that read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from autofusion.ir import DType, Graph
from fusion.support import Extents, Net, displays, ops, reasons, run

ROWS: Extents = ("batch", 3, 5)


def norm(net: Net, x: str, y: str, op: str = "LayerNormalization", axis: int = 2) -> str:
    block = (3, 5)[axis - 1 :] if len(net.graph.value(x).shape or ()) == 3 else (5,)
    gamma, beta = net.const(f"{y}_gamma", block), net.const(f"{y}_beta", block)
    operands = f"{x} {gamma} {beta}" if op[0] == "L" else f"{x} {gamma}"
    return net.op(op, operands, y, attributes={"axis": axis})


def product(net: Net, x: str, y: str, columns: int = 4, rows: int = 5, bias: bool = True) -> str:
    weight = net.const(f"{y}_w", (rows, columns))
    shape = (*ROWS[:-1], columns)
    if not bias:
        return net.op("MatMul", f"{x} {weight}", y, shape)
    net.op("MatMul", f"{x} {weight}", f"{y}_product", shape)
    return net.op("Add", f"{y}_product {net.const(f'{y}_b', (columns,))}", y, shape)


def before_product(op: str, act: str = "", bias: bool = True) -> Graph:
    net = Net()
    net.input("x", ROWS)
    norm(net, "x", "n", op)
    last = product(net, "n", "p", bias=bias)
    return net.output(net.op(act, last, "y") if act else last)


@pytest.mark.parametrize(("op", "word"), [("LayerNormalization", "LayerNorm"), ("RMSNormalization", "RMSNorm")])
@pytest.mark.parametrize(
    ("act", "bias", "display"),
    [("", False, "MatMul"), ("", True, "MatMul+BiasAdd"), ("Gelu", True, "MatMul+BiasAdd+Gelu")],
)
def test_norm_of_a_product(op: str, word: str, act: str, bias: bool, display: str) -> None:
    graph = before_product(op, act, bias)
    assert displays(run(graph))[-1] == f"{word}+{display}"
    assert ops(graph) == [f"{word}{display.replace('+', '').replace('BiasAdd', 'Bias')}FusionOp"]


def test_norm_of_a_gemm_with_a_transposed_matrix() -> None:
    net = Net()
    net.input("x", (3, 5))
    norm(net, "x", "n", axis=1)
    net.const("w", (4, 5))
    net.const("b", (4,))
    net.op("Gemm", "n w b", "y", (3, 4), {"transB": 1})
    assert displays(run(net.output("y"))) == ["LayerNorm+MatMul"]


def refusal(case: str) -> Graph:
    net = Net()
    net.input("x", ROWS)
    norm(net, "x", "n", axis=1 if case == "two axes" else 2)
    if case == "a variable matrix":
        net.input("v", (5, 4))
        return net.output(net.op("MatMul", "n v", "y", ("batch", 3, 4)))
    if case == "the right operand":
        net.const("k", (3, 3))
        return net.output(net.op("MatMul", "k n", "y", ROWS))
    last = product(net, "n", "p", bias=False)
    return net.output(last, "n") if case == "an output" else net.output(last)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("two axes", "AXIS(1, 2)"),
        ("a variable matrix", "NOT_CONSTANT(w)"),
        ("the right operand", ""),
        ("an output", "GRAPH_OUTPUT(n)"),
    ],
)
def test_norms_that_no_product_does(case: str, reason: str) -> None:
    graph = refusal(case)
    found = reasons(run(graph)).values()
    assert not reason or reason in found
    assert len(ops(graph)) == 2


def test_a_transposed_left_operand_is_no_rows() -> None:
    """Of a square, the axes cannot be told by their extents."""
    net = Net()
    net.input("x", (5, 5))
    norm(net, "x", "n", axis=1)
    net.const("w", (5, 4))
    net.op("Gemm", "n w", "g", (5, 4), {"transA": 1})
    net.op("Relu", "g", "y")
    result = run(net.output("y"))
    assert displays(result) == ["MatMul+Relu"]
    assert "KERNEL_LIMIT(mm, Gemm, rows times a constant matrix)" in reasons(result).values()


@pytest.mark.parametrize(
    ("shape", "variable", "fused"),
    [((3, 4), True, True), ((4,), False, True), ((3, 1), False, False), ((4,), True, False)],
)
def test_addends_of_a_gemm_behind_a_norm(shape: tuple[int, ...], variable: bool, fused: bool) -> None:
    net = Net()
    net.input("x", (3, 5))
    norm(net, "x", "n", axis=1)
    net.const("w", (5, 4))
    net.input("c", shape) if variable else net.const("c", shape)
    net.op("Gemm", "n w c", "y", (3, 4))
    assert displays(run(net.output("y"))) == (["LayerNorm+MatMul"] if fused else [])


def test_statistics_that_are_read() -> None:
    net = Net()
    net.input("x", ROWS)
    net.const("g", (5,))
    net.op("LayerNormalization", "x g", "n mean", attributes={"axis": 2})
    net.const("w", (5, 4))
    net.op("MatMul", "n w", "y", ("batch", 3, 4))
    graph = net.output("y", "mean")
    assert "EXTRA_OUTPUT(mean)" in reasons(run(graph)).values()
    assert ops(graph) == ["LayerNormalization", "MatMul"]


def sum_and_norm(shape: Extents = ROWS, op: str = "LayerNormalization", gamma: Sequence[int] = (5,)) -> Net:
    net = Net()
    net.input("a", ROWS)
    net.input("r", shape)
    net.op("Add", "a r", "s", ROWS)
    net.const("g", tuple(gamma))
    net.op(op, "s g", "y", attributes={"axis": 2})
    return net


@pytest.mark.parametrize(
    ("op", "display", "fused"),
    [
        ("LayerNormalization", "Add+LayerNorm", "AddLayerNormFusionOp"),
        ("RMSNormalization", "Add+RMSNorm", "AddRMSNormFusionOp"),
    ],
)
def test_sum_before_a_norm(op: str, display: str, fused: str) -> None:
    graph = sum_and_norm(op=op).output("y")
    assert displays(run(graph)) == [display]
    assert ops(graph) == [fused]


@pytest.mark.parametrize("outputs", [("y", "s"), ("y", "z")])
def test_a_sum_that_is_read_elsewhere_is_a_second_result(outputs: tuple[str, ...]) -> None:
    net = sum_and_norm()
    net.op("Exp", "s", "z")
    graph = net.output(*outputs)
    assert displays(run(graph)) == ["Add+LayerNorm"]
    assert graph.producer("y") is graph.producer("s")


@pytest.mark.parametrize("shape", [(5,), (1, 3, 5), ("batch", 1, 5), ("batch", 3, 1)])
def test_a_sum_that_widens(shape: Extents) -> None:
    result = run(sum_and_norm(shape).output("y"))
    assert next(iter(reasons(result).values())).startswith("BROADCAST(")
    assert not displays(result)


def test_a_scale_of_another_extent() -> None:
    net = sum_and_norm(gamma=(3, 1))
    assert reasons(run(net.output("y")))["S"] == "BROADCAST(layer, [3, 1], [5])"


def test_types_that_differ() -> None:
    net = Net(dtype=DType.FLOAT16)
    net.input("a", ROWS)
    net.input("r", ROWS)
    net.op("Add", "a r", "s", ROWS)
    net.const("g", np.ones(5, np.float32))
    net.op("LayerNormalization", "s g", "y", attributes={"axis": 2})
    assert reasons(run(net.output("y")))["S"] == "DTYPE(gamma, float, float16)"


def encoder(readers: str) -> Graph:
    """Product, residual, norm, and what reads it: another product alone (`pre`), or the next residual too (`post`)."""
    net = Net()
    net.input("x", ROWS)
    product(net, "x", "p", columns=5)
    net.op("Add", "p x", "s")
    norm(net, "s", "n")
    product(net, "n", "q", columns=5)
    net.op("Add", "q s" if readers == "pre" else "q n", "t")
    return net.output(norm(net, "t", "y"))


def test_a_norm_before_one_product_leaves_the_sum_to_the_product_ahead() -> None:
    graph = encoder("pre")
    run(graph)
    assert ops(graph) == ["AddLayerNormFusionOp", "LayerNormMatMulBiasFusionOp", "MatMulBiasAddFusionOp"]


def test_a_norm_with_more_readers_takes_the_sum() -> None:
    graph = encoder("post")
    run(graph)
    assert ops(graph) == ["AddLayerNormFusionOp", "AddLayerNormFusionOp", "MatMulBiasFusionOp", "MatMulBiasFusionOp"]


def test_a_sum_that_no_product_ahead_does_is_the_norms() -> None:
    net = sum_and_norm()
    graph = net.output(product(net, "y", "p"), "s")
    run(graph)
    assert ops(graph) == ["AddLayerNormFusionOp", "MatMulBiasFusionOp"]


@pytest.mark.parametrize("columns", [4, 5])
def test_a_constant_is_no_residual(columns: int) -> None:
    """Positions are added once, before the first norm."""
    net = Net()
    net.input("x", (1, 3, 5))
    net.const("c", (1, 3, 5))
    net.op("Add", "x c", "s")
    norm(net, "s", "n")
    graph = net.output(product(net, "n", "p", columns), "s")
    run(graph)
    assert ops(graph) == ["Add", "LayerNormMatMulBiasFusionOp"]


def test_a_norm_before_queries_keys_and_values_is_theirs() -> None:
    net = Net()
    net.input("x", ROWS)
    net.input("r", ROWS)
    product(net, "x", "m", columns=5)
    net.op("Add", "m r", "s")
    norm(net, "s", "n")
    for part in "qkv":
        product(net, "n", part)
    graph = net.output("q", "k", "v", "s")
    assert displays(run(graph))[-1] == "LayerNorm+QKV+MatMul"
    assert ops(graph) == ["LayerNormQKVMatMulFusionOp", "MatMulBiasAddFusionOp"]
    assert graph.producer("q") is graph.producer("v")
