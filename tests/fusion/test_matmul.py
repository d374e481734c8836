"""Matrix products with bias and activation: the bias by the axis it lies on, never by its number of elements."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Attribute, Graph
from fusion.support import Net, builtin, displays, ops, reasons, run


def product(bias: tuple[int, ...] | None, x: tuple[int | str, ...] = (3, 5), act: str = "Relu") -> Graph:
    net = Net()
    net.input("x", x)
    net.const("w", (5, 4))
    net.op("MatMul", "x w", "m", (*x[:-1], 4))
    last = "m"
    if bias is not None:
        net.const("b", bias)
        last = net.op("Add", "m b", "s")
    if act:
        last = net.op(act, last, "y")
    return net.output(last)


@pytest.mark.parametrize("bias", [(4,), (1, 4), (), (1,), (1, 1)])
def test_bias_of_a_matrix_product(bias: tuple[int, ...]) -> None:
    graph = product(bias)
    assert displays(run(graph)) == ["MatMul+BiasAdd+Relu"]
    assert ops(graph) == ["MatMulBiasReluFusionOp"]


@pytest.mark.parametrize("bias", [(4,), (1, 1, 4), (1, 4)])
def test_bias_under_a_symbolic_batch(bias: tuple[int, ...]) -> None:
    assert displays(run(product(bias, ("batch", "rows", 5)))) == ["MatMul+BiasAdd+Relu"]


def test_names_follow_what_is_there() -> None:
    assert displays(run(product((4,), act=""))) == ["MatMul+BiasAdd"]
    assert displays(run(product(None))) == ["MatMul+Relu"]
    assert displays(run(product((4,), act="Tanh"))) == ["MatMul+BiasAdd+Tanh"]


def test_bias_on_the_left() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.const("b", (4,))
    net.op("MatMul", "x w", "m", (3, 4))
    net.op("Add", "b m", "y", (3, 4))
    assert displays(run(net.output("y"))) == ["MatMul+BiasAdd"]


def test_square_products_do_not_confuse_rows_with_columns() -> None:
    net = Net()
    net.input("x", (4, 5))
    net.const("w", (5, 4))
    net.const("b", (4, 1))
    net.op("MatMul", "x w", "m", (4, 4))
    net.op("Add", "m b", "y")
    assert reasons(run(net.output("y"))) == {"M": "AXIS(-2, -1)"}


@pytest.mark.parametrize(
    ("bias", "reason"),
    [
        ((1, 1, 4), "BROADCAST(rank, [1, 1, 4], [3, 4])"),
        ((3, 1), "AXIS(-2, -1)"),
    ],
)
def test_no_bias(bias: tuple[int, ...], reason: str) -> None:
    graph = product(bias, act="")
    result = run(graph)
    assert ops(graph) == ["Add", "MatMul"]
    assert reasons(result) == {"M": reason}


def test_an_addend_that_widens_the_result() -> None:
    net = Net()
    net.input("x", (3, 3))
    net.const("w", (3, 1))
    net.const("b", (1, 4))
    net.op("MatMul", "x w", "m", (3, 1))
    net.op("Add", "m b", "y", (3, 4))
    assert reasons(run(net.output("y"))) == {"M": "BROADCAST(1, [1, 4], [3, 1])"}


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("variable weight", "NOT_CONSTANT(w)"),
        ("constant on the left", "NOT_CONSTANT(w)"),
        ("variable bias", "NOT_CONSTANT(bias)"),
        ("batched weight", "KERNEL_LIMIT(w.rank, 3, 2)"),
        ("vector", "KERNEL_LIMIT(x.rank, 1, >= 2)"),
        ("shape unknown", "SHAPE_UNKNOWN(x)"),
    ],
)
def test_must_not_fuse(case: str, reason: str) -> None:
    net = Net()
    x = {"vector": (5,), "batched weight": (2, 3, 5), "shape unknown": None}.get(case, (3, 5))
    net.input("x", x)
    if case == "variable weight":
        net.input("w", (5, 4))
    elif case == "constant on the left":
        net.const("k", (3, 3))
    else:
        net.const("w", (2, 5, 4) if case == "batched weight" else (5, 4))
    net.input("b", (4,)) if case == "variable bias" else net.const("b", (4,))
    net.op("MatMul", "k x" if case == "constant on the left" else "x w", "m", (3, 4))
    net.op("Add", "m b", "y", (3, 4))
    assert reasons(run(net.output("y"))) == {"M": reason}


@pytest.mark.parametrize(
    ("bias", "attributes", "display"),
    [
        ("b", {}, "MatMul+BiasAdd+Relu"),
        ("b", {"transB": 1}, "MatMul+BiasAdd+Relu"),
        ("b", {"alpha": 0.5, "beta": 2.0, "transA": 1}, "MatMul+BiasAdd+Relu"),
        ("", {}, "MatMul+Relu"),
    ],
)
def test_gemm_with_activation(bias: str, attributes: dict[str, Attribute], display: str) -> None:
    net = Net()
    net.input("x", (5, 3) if attributes.get("transA") else (3, 5))
    net.const("w", (4, 5) if attributes.get("transB") else (5, 4))
    if bias:
        net.const("b", (4,))
    net.op("Gemm", f"x w {bias}", "m", (3, 4), attributes)
    net.op("Relu", "m", "y")
    assert displays(run(net.output("y"))) == [display]


def test_gemm_without_bias_takes_an_add() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.const("b", (4,))
    net.op("Gemm", "x w", "m", (3, 4))
    net.op("Add", "m b", "y")
    assert displays(run(net.output("y"))) == ["MatMul+BiasAdd"]


def test_only_the_first_of_two_sums_is_the_bias() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.const("b", (4,))
    net.const("d", (4,))
    net.op("Gemm", "x w b", "m", (3, 4))
    net.op("Add", "m d", "y")
    graph = net.output("y")
    run(graph)
    assert ops(graph) == ["Add", "Gemm"]


@pytest.mark.parametrize("bias", [(3, 4), (3, 1)])
def test_gemm_with_a_column_or_full_matrix(bias: tuple[int, ...]) -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.const("b", bias)
    net.op("Gemm", "x w b", "m", (3, 4))
    net.op("Relu", "m", "y")
    assert reasons(run(net.output("y"))) == {"M": "AXIS(-2, -1)"}


def test_gemm_alone_is_no_fusion() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.const("b", (4,))
    net.op("Gemm", "x w b", "y", (3, 4))
    graph = net.output("y")
    result = run(graph)
    assert ops(graph) == ["Gemm"]
    assert reasons(result) == {"Y": "GRAPH_OUTPUT(y)"}


def test_a_product_read_twice_stays() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.const("b", (4,))
    net.op("MatMul", "x w", "m", (3, 4))
    net.op("Add", "m b", "y")
    net.op("Exp", "m", "z")
    assert reasons(run(net.output("y", "z"))) == {"M": "MULTI_READER(m, Z)"}


def normalized(
    op: str = "MatMul",
    *,
    shape: tuple[int, ...] = (3, 5),
    channels: int = 4,
    training: int = 0,
    transposed: bool = False,
) -> Graph:
    net = Net()
    net.input("x", shape)
    net.const("w", (4, 5) if transposed else (5, 4))
    attributes: dict[str, Attribute] = {"transB": 1, "alpha": 0.5} if transposed else {}
    net.op(op, "x w", "m", (*shape[:-1], 4), attributes)
    net.norm("m", "n", channels=channels, training=training)
    net.op("Relu", "n", "y")
    return net.output("y")


@pytest.mark.parametrize("graph", [normalized(), normalized("Gemm"), normalized("Gemm", transposed=True)])
def test_normalization_of_columns(graph: Graph) -> None:
    assert displays(run(graph)) == ["MatMul+BN+Relu"]
    assert ops(graph) == ["MatMulBNReluFusionOp"]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        # Channels are axis 1, which is no longer the column.
        (normalized(shape=(2, 4, 5)), "KERNEL_LIMIT(mm.rank, 3, 2)"),
        (normalized(channels=5), "BROADCAST(0, [5], [4])"),
        (normalized(training=1), "TRAINING_MODE"),
    ],
)
def test_normalization_that_stays(graph: Graph, reason: str) -> None:
    assert reasons(run(graph)) == {"M": reason}
    assert "MatMul" in ops(graph)


def test_a_fold_out_of_range() -> None:
    graph = normalized("Gemm", transposed=True)
    graph.constants["n_scale"] = np.array([1, 1, 1, 1e38], np.float32)
    graph.constants["n_var"] = np.full(4, 1e-30, np.float32)
    assert reasons(run(graph)) == {"M": "CONSTANT_VALUE(channel 3, finite)"}


def test_gemm_with_bias_and_normalization() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.const("b", (4,))
    net.op("Gemm", "x w b", "m", (3, 4))
    net.norm("m", "y")
    assert displays(run(net.output("y"))) == ["MatMul+BiasAdd+BN"]


@pytest.mark.parametrize(("slope", "reason"), [((4,), None), ((1,), None), ((4, 1), "AXIS(-2, -1)")])
def test_slopes(slope: tuple[int, ...], reason: str | None) -> None:
    net = Net()
    net.input("x", (4, 5))
    net.const("w", (5, 4))
    net.const("s", slope)
    net.op("MatMul", "x w", "m", (4, 4))
    net.op("PRelu", "m s", "y")
    result = run(net.output("y"))
    assert displays(result) == ([] if reason else ["MatMul+PRelu"])
    assert reasons(result) == ({"M": reason} if reason else {})


def scaled(factor: tuple[int, ...], op: str = "Mul", place: str = "p_b k") -> Graph:
    net = Net()
    net.input("x", (2, 4, 4))
    net.const("w", (4, 4))
    net.const("b", (4,))
    net.const("k", factor)
    net.op("MatMul", "x w", "p")
    net.op("Add", "p b", "p_b")
    net.op(op, place, "q")
    return net.output(net.op("Relu", "q", "y"))


def test_a_scale_along_the_columns() -> None:
    for graph in (scaled((4,)), scaled((1, 4)), scaled(()), scaled((4,), "Div"), scaled((4,), "Mul", "k p_b")):
        result = run(graph)
        assert displays(result)[0].startswith("MatMul+BiasAdd+")
        assert len(graph) == 1


@pytest.mark.parametrize(
    ("factor", "reason"),
    [((4, 1), "AXIS(-2, -1)"), ((2, 1, 1), "AXIS(-3, -1)"), ((1, 1, 1, 4), "BROADCAST(rank, [1, 1, 1, 4], [2, 4, 4])")],
)
def test_a_scale_along_other_axes_stays(factor: tuple[int, ...], reason: str) -> None:
    graph = scaled(factor)
    result = run(graph, [pattern for pattern in builtin() if pattern.name == "matmul_bias_act"])
    assert reasons(result) == {"P": reason}
    assert ops(graph) == ["MatMulBiasFusionOp", "Mul", "Relu"]


def test_the_inverse_of_a_product_is_no_scale() -> None:
    graph = scaled((4,), "Div", "k p_b")
    run(graph)
    assert ops(graph) == ["Div", "MatMulBiasFusionOp", "Relu"]
