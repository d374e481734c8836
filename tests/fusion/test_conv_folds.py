"""What folds into a convolution beside its normalization: constants, padding, slopes; transposed convolutions."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Attribute, Graph
from fusion.support import Net, displays, ops, reasons, run

IMAGE = ("batch", 4, 6, 4)


def conv_then(op: str, operands: str, constant: tuple[int, ...], *, image: tuple[int | str, ...] = IMAGE) -> Graph:
    net = Net()
    net.conv(net.input("x", image), "c")
    net.const("k", constant)
    net.op(op, operands, "y", image)
    return net.output("y")


@pytest.mark.parametrize("constant", [(4, 1, 1), (1, 4, 1, 1), (), (1,), (1, 1, 1, 1)])
@pytest.mark.parametrize(
    ("op", "operands"), [("Mul", "c k"), ("Mul", "k c"), ("Div", "c k"), ("Add", "k c"), ("Sub", "c k")]
)
def test_constants_per_channel(op: str, operands: str, constant: tuple[int, ...]) -> None:
    graph = conv_then(op, operands, constant)
    assert displays(run(graph)) == [f"Conv+{op}"]
    assert ops(graph) == [f"Conv{op}FusionOp"]


@pytest.mark.parametrize(
    ("op", "operands", "constant", "reason"),
    [
        # The image is as wide as there are channels: the number of elements proves nothing.
        ("Mul", "c k", (4,), "AXIS(3, 1)"),
        ("Mul", "c k", (1, 1, 1, 4), "AXIS(3, 1)"),
        ("Mul", "c k", (6, 1), "AXIS(2, 1)"),
        ("Mul", "c k", (3, 4, 1, 1), "BROADCAST(0, [3, 4, 1, 1], [batch, 4, 6, 4])"),
        ("Mul", "c k", (1, 1, 4, 1, 1), "BROADCAST(rank, [1, 1, 4, 1, 1], [batch, 4, 6, 4])"),
        ("Mul", "c k", (5, 1, 1), "BROADCAST(1, [5, 1, 1], [batch, 4, 6, 4])"),
    ],
)
def test_constants_on_other_axes(op: str, operands: str, constant: tuple[int, ...], reason: str) -> None:
    graph = conv_then(op, operands, constant)
    assert reasons(run(graph)) == {"C": reason}
    assert ops(graph) == sorted(["Conv", op])


@pytest.mark.parametrize("op", ["Sub", "Div"])
def test_a_constant_ahead_of_sub_or_div(op: str) -> None:
    graph = conv_then(op, "k c", (4, 1, 1))
    result = run(graph)
    assert ops(graph) == sorted(["Conv", op])
    assert displays(result) == []


def test_a_factor_that_is_no_constant() -> None:
    net = Net()
    net.input("g", ("batch", 4, 1, 1))
    net.conv(net.input("x", IMAGE), "c")
    net.op("Mul", "c g", "y")
    graph = net.output("y")
    assert reasons(run(graph)) == {"C": "NOT_CONSTANT(factor)"}
    assert ops(graph) == ["Conv", "Mul"]


def test_a_factor_under_a_second_reader() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.const("k", (4, 1, 1))
    net.op("Mul", "c k", "y")
    net.op("Exp", "c", "z")
    assert reasons(run(net.output("y", "z"))) == {"C": "MULTI_READER(c, Z)"}


def test_all_parts_in_the_order_of_the_data() -> None:
    net = Net()
    net.input("r", IMAGE)
    net.const("p", np.array([0, 0, 1, 1, 0, 0, 1, 1]))
    net.op("Pad", f"{net.input('x', ('batch', 4, 4, 2))} p", "b", IMAGE)
    net.conv("b", "c")
    for name in ("k", "d"):
        net.const(name, (4, 1, 1))
    net.op("Div", "c k", "m")
    net.op("Sub", "m d", "a")
    net.norm("a", "n")
    net.op("Add", "r n", "s")
    net.op("Relu", "s", "y")
    graph = net.output("y")
    assert displays(run(graph)) == ["Pad+Conv+Div+Sub+BN+Add+ReLU"]
    assert ops(graph) == ["PadConvDivSubBNAddReluFusionOp"]


@pytest.mark.parametrize(("shape", "display"), [((4, 1, 1), ["Conv+PRelu"]), ((1,), ["Conv+PRelu"]), ((4,), [])])
def test_slopes(shape: tuple[int, ...], display: list[str]) -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.const("s", shape)
    net.op("PRelu", "c s", "y")
    result = run(net.output("y"))
    assert displays(result) == display
    assert reasons(result) == ({} if display else {"C": "AXIS(3, 1)"})


def padded(
    pads: list[int], *, mode: str = "constant", value: float | None = None, auto_pad: str = "NOTSET", axes: str = ""
) -> Net:
    net = Net()
    net.const("p", np.array(pads))
    if value is not None:
        net.const("v", np.array(value, np.float32))
    if axes:
        net.const("a", np.array([int(axis) for axis in axes.split()]))
    operands = f"{net.input('x', IMAGE)} p {'v' if value is not None else '_'} {'a' if axes else '_'}"
    net.op("Pad", operands.removesuffix(" _ _"), "b", IMAGE, {"mode": mode})
    net.const("w", (4, 4, 3, 3))
    net.op("Conv", "b w", "y", IMAGE, {"auto_pad": auto_pad})
    return net


RIM = [0, 0, 1, 1, 0, 0, 1, 1]


@pytest.mark.parametrize(
    "net",
    [
        padded(RIM),
        padded(RIM, value=0.0),
        padded(RIM, value=-0.0),
        padded(RIM, auto_pad="VALID"),
        padded([2, 1], axes="3"),
        padded([1, 2, 0, 1], axes="-1 -2"),
    ],
)
def test_padding(net: Net) -> None:
    graph = net.output("y")
    assert displays(run(graph)) == ["Pad+Conv"]
    assert ops(graph) == ["PadConvFusionOp"]


@pytest.mark.parametrize(
    ("net", "reason"),
    [
        (padded(RIM, mode="reflect"), "ATTRIBUTE(mode, reflect, constant)"),
        (padded(RIM, value=1.0), "CONSTANT_VALUE(1.0, 0)"),
        (padded([0, 1, 0, 0, 0, 0, 0, 0]), "AXIS(1, >= 2)"),
        (padded([1, 1], axes="-3"), "AXIS(1, >= 2)"),
        (padded([0, 0, 0, -1, 0, 0, 0, 0]), "CONSTANT_VALUE(-1, >= 0)"),
        (padded(RIM, auto_pad="SAME_UPPER"), "ATTRIBUTE(auto_pad, SAME_UPPER, NOTSET)"),
    ],
)
def test_padding_that_stays(net: Net, reason: str) -> None:
    graph = net.output("y")
    assert reasons(run(graph)) == {"Y": reason}
    assert ops(graph) == ["Conv", "Pad"]


def test_pads_that_are_given_at_run_time() -> None:
    net = padded(RIM)
    del net.graph.constants["p"]
    net.graph.inputs += ("p",)
    assert reasons(run(net.output("y"))) == {"Y": "NOT_CONSTANT(pads)"}


def test_padding_that_two_convolutions_read() -> None:
    net = padded(RIM)
    net.conv("b", "z")
    graph = net.output("y", "z")
    result = run(graph)
    assert ops(graph) == ["Conv", "Conv", "Pad"]
    assert set(reasons(result).values()) <= {"MULTI_READER(b, Z)", "MULTI_READER(b, Y)"}


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({}, None),
        ({"count_include_pad": 1, "pads": (1, 1, 1, 1)}, None),
        ({"pads": (1, 1, 1, 1)}, "ATTRIBUTE(count_include_pad, 0, 1)"),
        ({"ceil_mode": 1}, "ATTRIBUTE(ceil_mode, 1, 0)"),
    ],
)
def test_padding_of_an_average(attributes: dict[str, Attribute], reason: str | None) -> None:
    net = Net()
    net.const("p", np.array(RIM))
    net.op("Pad", f"{net.input('x', IMAGE)} p", "b", IMAGE)
    net.op("AveragePool", "b", "y", IMAGE, {"kernel_shape": (3, 3), **attributes})
    graph = net.output("y")
    result = run(graph)
    assert ops(graph) == (["AveragePool", "Pad"] if reason else ["PadPoolFusionOp"])
    assert displays(result) == ([] if reason else ["Pad+Pool"])
    assert reasons(result) == ({"B": reason} if reason else {})


def test_padding_of_a_maximum_is_no_pattern() -> None:
    net = Net()
    net.const("p", np.array(RIM))
    net.op("Pad", f"{net.input('x', IMAGE)} p", "b", IMAGE)
    net.op("MaxPool", "b", "y", IMAGE, {"kernel_shape": (3, 3)})
    graph = net.output("y")
    assert displays(run(graph)) == []
    assert ops(graph) == ["MaxPool", "Pad"]


def transposed(channels: int = 6, group: int = 2, training: int = 0, reader: str = "") -> Graph:
    net = Net()
    net.input("x", IMAGE)
    net.const("w", (4, 3, 2, 2))
    net.op("ConvTranspose", "x w", "c", ("batch", 6, 7, 5), {"group": group})
    net.norm("c", "n", channels=channels, training=training)
    net.op("Relu", "n", "y")
    return net.output("y", *reader.split())


def test_transposed_convolution() -> None:
    graph = transposed()
    assert displays(run(graph)) == ["ConvTranspose+BN+ReLU"]
    assert ops(graph) == ["ConvTransposeBNReluFusionOp"]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        # As many as the weight has inputs, or filters in a group.
        (transposed(channels=4), "BROADCAST(0, [4], [6])"),
        (transposed(channels=3), "BROADCAST(0, [3], [6])"),
        (transposed(training=1), "TRAINING_MODE"),
        (transposed(reader="c"), "GRAPH_OUTPUT(c)"),
    ],
)
def test_transposed_convolution_that_stays(graph: Graph, reason: str) -> None:
    assert reasons(run(graph)) == {"C": reason}
    assert "ConvTranspose" in ops(graph)


def test_a_transposed_fold_out_of_range() -> None:
    graph = transposed()
    graph.constants["n_var"] = np.full(6, 1e-30, np.float32)
    graph.constants["n_scale"] = np.array([1, 1, 1, 1, 1e38, 1], np.float32)
    assert reasons(run(graph)) == {"C": "CONSTANT_VALUE(channel 4, finite)"}


def test_a_normalization_alone_is_no_fusion() -> None:
    net = Net()
    net.norm(net.input("x", IMAGE), "n")
    net.op("Exp", "n", "y")
    assert displays(run(net.output("y"))) == []


@pytest.mark.parametrize(
    ("shape", "training", "reason"),
    [
        (("batch", 4), 0, "KERNEL_LIMIT(x.rank, 2, >= 3)"),
        (IMAGE, 1, "TRAINING_MODE"),
    ],
)
def test_a_normalization_and_activation_that_stay(shape: tuple[int | str, ...], training: int, reason: str) -> None:
    net = Net()
    net.norm(net.input("x", shape), "n", training=training)
    net.op("Relu", "n", "y")
    result = run(net.output("y"))
    assert displays(result) == []
    assert reason in reasons(result).values()
