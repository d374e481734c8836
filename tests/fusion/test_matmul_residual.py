"""Residuals of matrix products: of exactly the result's shape, before the activation."""

from __future__ import annotations

import pytest

from autofusion.ir import Graph
from fusion.support import Extents, Net, displays, ops, reasons, run


def residual_net(order: str = "m r", shape: Extents = ("batch", 3, 4), x: Extents = ("batch", 3, 5)) -> Net:
    net = Net()
    net.input("x", x)
    net.input("r", shape)
    net.const("w", (5, 4))
    net.op("MatMul", "x w", "m", (*x[:-1], 4))
    net.op("Add", order, "s", (*x[:-1], 4))
    return net


@pytest.mark.parametrize("order", ["m r", "r m"])
def test_residual_on_either_side_under_a_symbolic_batch(order: str) -> None:
    graph = residual_net(order).output("s")
    assert displays(run(graph)) == ["MatMul+Add"]
    assert ops(graph) == ["MatMulAddFusionOp"]


def block(act_before: str = "", act_after: str = "") -> Graph:
    """Bias, an activation, the residual, an activation."""
    net = Net()
    net.input("x", (3, 5))
    net.input("r", (3, 4))
    net.const("w", (5, 4))
    net.const("b", (4,))
    net.op("MatMul", "x w", "m", (3, 4))
    last = net.op("Add", "m b", "biased")
    if act_before:
        last = net.op(act_before, last, "early")
    last = net.op("Add", f"{last} r", "s")
    if act_after:
        last = net.op(act_after, last, "y")
    return net.output(last)


def test_names_of_residuals() -> None:
    graph = block(act_after="Relu")
    assert displays(run(graph)) == ["MatMul+BiasAdd+Add+Relu"]
    assert ops(graph) == ["MatMulBiasAddReluFusionOp"]
    assert displays(run(block())) == ["MatMul+BiasAdd+Add"]


def test_a_residual_behind_an_activation_stays_outside() -> None:
    graph = block("Relu", "Tanh")
    assert "MatMul+BiasAdd+Relu" in displays(run(graph))
    assert "MatMulBiasReluFusionOp" in ops(graph)


def test_a_whole_constant_is_a_residual() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.const("c", (3, 4))
    net.op("MatMul", "x w", "m", (3, 4))
    net.op("Add", "m c", "y")
    assert displays(run(net.output("y"))) == ["MatMul+Add"]


@pytest.mark.parametrize("shape", [(1, 3, 4), (3, 4), ("batch", 1, 4), ("batch", 3, 1), ("rows", 3, 4)])
def test_no_residual_of_another_shape(shape: Extents) -> None:
    graph = residual_net(shape=shape).output("s")
    assert reasons(run(graph)) == {"M": "NOT_CONSTANT(bias)"}
    assert ops(graph) == ["Add", "MatMul"]


def test_a_residual_that_widens_the_result() -> None:
    net = Net()
    net.input("x", (1, 3, 5))
    net.input("r", (2, 3, 4))
    net.const("w", (5, 4))
    net.op("MatMul", "x w", "m", (1, 3, 4))
    net.op("Add", "m r", "s", (2, 3, 4))
    graph = net.output("s")
    run(graph)
    assert ops(graph) == ["Add", "MatMul"]


def test_the_product_that_is_read_elsewhere_keeps_its_own_kernel() -> None:
    net = residual_net()
    net.op("Tanh", "m", "other")
    graph = net.output("s", "other")
    assert reasons(run(graph)) == {"M": "MULTI_READER(m, OTHER)"}


def test_a_product_added_to_itself() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.op("MatMul", "x w", "m", (3, 4))
    net.op("Add", "m m", "y")
    graph = net.output("y")
    run(graph)
    assert ops(graph) == ["Add", "MatMul"]


def test_of_two_products_that_are_added_one_takes_the_other_in() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 4))
    net.const("v", (5, 4))
    net.op("MatMul", "x w", "m", (3, 4))
    net.op("MatMul", "x v", "n", (3, 4))
    net.op("Add", "m n", "y")
    graph = net.output("y")
    assert displays(run(graph)) == ["MatMul+Add"]
    assert ops(graph) == ["MatMul", "MatMulAddFusionOp"]
