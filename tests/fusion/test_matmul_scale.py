"""Factors and transpositions round a matrix product."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from autofusion.fusion import Controls
from autofusion.ir import Graph
from fusion.support import Net, displays, ops, reasons, run

Extents = Sequence[int | str]


def product(
    *,
    scale: str = "",
    factor: tuple[int, ...] = (),
    perm: tuple[int, ...] = (),
    shape: Extents = ("batch", 3, 4),
    after: str = "",
    op: str = "MatMul",
    is_constant: bool = True,
) -> Graph:
    """Square enough that only the permutation tells what is transposed."""
    net = Net()
    net.input("a", shape)
    last = net.input("b", shape)
    if is_constant:
        net.const("k", factor)
    else:
        net.input("k", factor)
    if scale:
        last = net.op(scale, f"{last} k", "s", shape)
    if perm:
        last = net.op("Transpose", last, "t", [shape[axis] for axis in perm], {"perm": perm})
    last = net.op(op, f"a {last}", "m", (*shape[:-1], shape[-2]))
    if after:
        last = net.op(after, f"{last} k", "y")
    return net.output(last)


@pytest.mark.parametrize(
    ("graph", "display"),
    [
        (product(perm=(0, 2, 1)), "Transpose+MatMul"),
        (product(scale="Mul"), "Mul+MatMul"),
        (product(scale="Div", factor=(1,)), "Div+MatMul"),
        (product(after="Div"), "MatMul+Div"),
        (product(after="Mul", factor=(1, 1, 1)), "MatMul+Mul"),
        (product(scale="Mul", perm=(0, 2, 1), after="Mul"), "Mul+Transpose+MatMul+Mul"),
        (product(op="Gemm", shape=(4, 4), perm=(1, 0)), "Transpose+MatMul"),
    ],
)
def test_display(graph: Graph, display: str) -> None:
    assert displays(run(graph)) == [display]
    assert ops(graph) == [display.replace("+", "") + "FusionOp"]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (product(perm=(1, 2, 0), shape=(3, 3, 3)), "ATTRIBUTE(perm, [1, 2, 0], [0, 2, 1])"),
        (product(perm=(0, 1, 2)), "ATTRIBUTE(perm, [0, 1, 2], [0, 2, 1])"),
        (product(after="Mul", factor=(3, 1)), "BROADCAST(factor, [3, 1], [])"),
        (product(after="Mul", factor=(1, 1, 1, 1)), "BROADCAST(rank, 4, 0)"),
        (product(after="Mul", is_constant=False), "NOT_CONSTANT(factor)"),
        (product(scale="Mul", is_constant=False), "NOT_CONSTANT(right_factor)"),
    ],
    ids=["three axes", "identity", "per row", "rank", "variable", "variable ahead"],
)
def test_what_stays(graph: Graph, reason: str) -> None:
    before = ops(graph)
    result = run(graph)
    assert ops(graph) == before
    assert reason in reasons(result).values()


def test_a_divided_constant_stays() -> None:
    net = Net()
    net.input("a", (3, 4))
    net.input("b", (4, 3))
    net.const("k", np.array(2, np.float32))
    net.op("MatMul", "a b", "m", (3, 3))
    net.op("Div", "k m", "y", (3, 3))
    graph = net.output("y")
    assert displays(run(graph)) == []
    assert ops(graph) == ["Div", "MatMul"]


def test_level_two_is_needed() -> None:
    assert displays(run(product(after="Mul"), controls=Controls(level=1))) == []


def test_a_transposed_operand_that_is_read_twice() -> None:
    graph = product(perm=(0, 2, 1))
    graph.outputs += ("t",)
    assert reasons(run(graph)) == {"M": "GRAPH_OUTPUT(t)"}
