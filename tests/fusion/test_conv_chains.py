"""Squeeze and excitation, channel shuffles, and the normal forms HardSwish and Clip."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.fusion import Controls
from autofusion.ir import Graph
from fusion.support import Net, displays, ops, reasons, run

IMAGE = ("batch", 4, 6, 4)
MEANS = ("batch", 4, 1, 1)


def gated(*, act: str = "Sigmoid", axes: tuple[int, ...] = (2, 3), other: bool = False, reader: str = "") -> Graph:
    net = Net()
    net.input("x", IMAGE)
    net.input("u", IMAGE)
    if axes:
        net.const("a", np.array(axes))
        net.op("ReduceMean", "x a", "s", MEANS, {"keepdims": 1})
    else:
        net.op("GlobalAveragePool", "x", "s", MEANS)
    net.conv("s", "c", channels=2)
    net.op("Relu", "c", "r")
    net.conv("r", "d", inputs=2)
    net.op(act, "d", "g")
    net.op("Mul", f"{'u' if other else 'x'} g", "y", IMAGE)
    return net.output("y", *reader.split())


@pytest.mark.parametrize("graph", [gated(), gated(axes=()), gated(act="HardSigmoid"), gated(axes=(-1, -2))])
def test_squeeze_and_excite(graph: Graph) -> None:
    result = run(graph)
    assert displays(result) == ["SqueezeExcite"]
    assert ops(graph) == ["SqueezeExciteFusionOp"]
    assert [step.inside for step in result.fusions] == ["Y", "Y", None]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (gated(act="Tanh"), "OPERATOR(Tanh, Sigmoid | HardSigmoid)"),
        (gated(axes=(1, 2)), "AXIS([1, 2], [2, 3])"),
        (gated(other=True), "OPERAND(x, x, u)"),
        (gated(reader="s"), "GRAPH_OUTPUT(s)"),
        (gated(reader="g"), "GRAPH_OUTPUT(g)"),
    ],
)
def test_no_squeeze_and_excite(graph: Graph, reason: str) -> None:
    result = run(graph)
    assert "SqueezeExcite" not in displays(result)
    assert reason in reasons(result).values()


def test_squeeze_and_excite_needs_level_two() -> None:
    assert displays(run(gated(), controls=Controls(level=1))) == ["Conv+ReLU", "Conv+Sigmoid"]


def shuffled(perm: tuple[int, ...], split: tuple[int | str, ...], whole: tuple[int | str, ...] = IMAGE) -> Graph:
    net = Net()
    net.input("x", IMAGE)
    net.const("s", np.array([0]))
    net.op("Reshape", "x s", "a", split)
    net.op("Transpose", "a", "t", tuple(split[axis] for axis in perm), {"perm": perm})
    net.op("Reshape", "t s", "y", whole)
    return net.output("y")


def test_channel_shuffle() -> None:
    graph = shuffled((0, 2, 1, 3, 4), ("batch", 2, 2, 6, 4))
    assert displays(run(graph)) == ["ChannelShuffle"]
    assert ops(graph) == ["ChannelShuffleFusionOp"]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (shuffled((0, 2, 1, 4, 3), ("batch", 2, 2, 6, 4)), None),
        (shuffled((0, 2, 1, 3), ("batch", 2, 2, 24)), None),
        (shuffled((0, 2, 1, 3, 4), ("batch", 4, 2, 3, 4)), "AXIS([batch, 4, 2, 3, 4], [batch, 4, 6, 4])"),
        (
            shuffled((0, 2, 1, 3, 4), ("batch", 2, 2, 6, 4), whole=("batch", 4, 24)),
            "AXIS([batch, 4, 24], [batch, 4, 6, 4])",
        ),
    ],
    ids=["other axes", "rows joined", "rows split", "another end"],
)
def test_no_channel_shuffle(graph: Graph, reason: str | None) -> None:
    result = run(graph)
    assert displays(result) == []
    assert reasons(result) == ({"A": reason} if reason else {})


def hard_swish(form: str, three: float = 3.0, low: float = 0.0, sixth: float = 6.0, of: str = "x") -> Graph:
    net = Net()
    net.input("x", IMAGE)
    net.input("u", IMAGE)
    for name, number in (("three", three), ("lo", low), ("six", 6.0), ("k", sixth)):
        net.const(name, np.array(number, np.float32))
    net.op("Add", "three x", "a")
    net.op("Clip", "a lo six", "c")
    scaling = "Mul" if sixth < 1 else "Div"
    if form == "before":
        net.op(scaling, "c k", "d")
        net.op("Mul", f"d {of}", "y")
    else:
        net.op("Mul", f"{of} c", "d")
        net.op(scaling, "d k", "y")
    return net.output("y")


@pytest.mark.parametrize("form", ["before", "after"])
@pytest.mark.parametrize("sixth", [6.0, 0.16666667])
def test_hard_swish(form: str, sixth: float) -> None:
    graph = hard_swish(form, sixth=sixth)
    run(graph)
    (node,) = graph
    assert (node.op, node.inputs, node.display) == ("HardSwish", ("x",), "HardSwish")


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (hard_swish("before", three=2.9), "CONSTANT_VALUE(2.9, 3)"),
        (hard_swish("after", low=-1.0), "CONSTANT_VALUE(-1, 0)"),
        (hard_swish("before", sixth=0.1667), "CONSTANT_VALUE(0.1667, 0.166667)"),
        (hard_swish("after", of="u"), "OPERAND(x, x, u)"),
    ],
)
def test_no_hard_swish(graph: Graph, reason: str) -> None:
    result = run(graph)
    assert reason in reasons(result).values()
    assert "HardSwish" not in ops(graph)


@pytest.mark.parametrize(("alpha", "op"), [(0.16666667163372040, ["HardSwish"]), (0.2, ["HardSigmoid", "Mul"])])
def test_hard_swish_by_its_gate(alpha: float, op: list[str]) -> None:
    net = Net()
    net.op("HardSigmoid", net.input("x", IMAGE), "g", attributes={"alpha": alpha, "beta": 0.5})
    net.op("Mul", "x g", "y")
    graph = net.output("y")
    result = run(graph)
    assert ops(graph) == op
    assert reasons(result) == ({} if len(op) == 1 else {"G": "ATTRIBUTE(alpha, 0.2, 0.16666667)"})


def limited(order: str, low: float = -0.5, high: float = 0.5, shape: tuple[int, ...] = ()) -> Graph:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.const("lo", np.full(shape, low, np.float32))
    net.const("hi", np.full(shape, high, np.float32))
    first, second = ("Max c lo", "Min hi") if order == "max first" else ("Min c hi", "Max lo")
    net.op(first.split()[0], first.partition(" ")[2], "m")
    net.op(second.split()[0], f"m {second.split()[1]}", "y")
    return net.output("y")


@pytest.mark.parametrize("order", ["max first", "min first"])
def test_minimum_and_maximum_are_clip(order: str) -> None:
    graph = limited(order)
    assert displays(run(graph)) == ["Conv+Clip"]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (limited("min first", 0.5, -0.5), "CONSTANT_VALUE(0.5, <= -0.5)"),
        (limited("max first", shape=(1,)), "KERNEL_LIMIT(lo.rank, 1, 0)"),
    ],
)
def test_minimum_and_maximum_that_are_no_clip(graph: Graph, reason: str) -> None:
    result = run(graph)
    assert ops(graph) == ["Conv", "Max", "Min"]
    assert reason in reasons(result).values()
