"""Patterns of stage 2, which wrap fused convolutions: pooling, and a classifier's head."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Attribute, Graph
from fusion.support import Net, displays, ops, reasons, run

IMAGE = ("batch", 4, 6, 6)
POOL = {"kernel_shape": (2, 2), "strides": (2, 2)}


def convolution(net: Net, act: bool = True, norm: bool = True) -> str:
    name = net.conv(net.input("x", IMAGE), "c")
    if norm:
        name = net.norm(name, "n")
    return net.op("Relu", name, "a") if act else name


@pytest.mark.parametrize(
    ("norm", "act", "pool", "display", "op"),
    [
        (True, True, "MaxPool", "Conv+BN+ReLU+Pool", "ConvBNReluPoolFusionOp"),
        (False, True, "AveragePool", "Conv+ReLU+Pool", "ConvReluPoolFusionOp"),
        (False, False, "MaxPool", "Conv+Pool", "ConvPoolFusionOp"),
        (True, False, "GlobalAveragePool", "Conv+BN+Pool", "ConvBNPoolFusionOp"),
    ],
)
def test_convolution_and_pooling(norm: bool, act: bool, pool: str, display: str, op: str) -> None:
    net = Net()
    last = convolution(net, act, norm)
    net.op(pool, last, "p", ("batch", 4, 3, 3), {} if pool.startswith("Global") else POOL)
    graph = net.output("p")
    result = run(graph)
    assert displays(result) == [display]
    (node,) = graph
    assert (node.op, node.inputs[:2]) == (op, ("x", "c_w"))
    assert node.body is not None
    inner = [part.op for part in node.body]
    assert inner == (["Conv", pool] if not norm and not act else [op.replace("Pool", ""), pool])
    assert [fusion.inside for fusion in result.fusions[:-1]] == ["P"] * (len(result.fusions) - 1)


def test_indices_in_use() -> None:
    net = Net()
    net.op("MaxPool", convolution(net), "p indices", ("batch", 4, 3, 3), POOL)
    result = run(net.output("p", "indices"))
    assert displays(result) == ["Conv+BN+ReLU"]
    assert reasons(result) == {"A": "EXTRA_OUTPUT(indices)"}


def test_unread_indices_do_not_matter() -> None:
    net = Net()
    net.op("MaxPool", convolution(net), "p indices", ("batch", 4, 3, 3), POOL)
    graph = net.output("p")
    assert displays(run(graph)) == ["Conv+BN+ReLU+Pool"]
    assert graph.node("P").outputs == ("p",)


def test_convolution_with_another_reader() -> None:
    net = Net()
    last = convolution(net)
    net.op("MaxPool", last, "p", ("batch", 4, 3, 3), POOL)
    net.op("Exp", last, "e")
    result = run(net.output("p", "e"))
    assert displays(result) == ["Conv+BN+ReLU"]
    (miss,) = result.misses
    assert (miss.anchor, str(miss.reason), miss.instead) == ("A", "MULTI_READER(a, E)", "Conv+BN+ReLU")
    assert miss.left_out == ("P",)


def head(pool: str, flat: str, product: str, keepdims: int = 1) -> Graph:
    net = Net()
    convolution(net)
    small: tuple[int | str, ...] = ("batch", 4, 1, 1)
    if pool == "ReduceMean":
        net.const("axes", np.array([3, 2]))
        shape = small if keepdims else small[:2]
        net.op(pool, "a axes", "p", shape, {"keepdims": keepdims})
    else:
        attributes: dict[str, Attribute] = {} if pool.startswith("Global") else {"kernel_shape": (6, 6)}
        net.op(pool, "a", "p", small, attributes)
    last = "p"
    if flat == "Reshape":
        net.const("shape", np.array([0, -1]))
        last = net.op(flat, "p shape", "f", small[:2])
    elif flat == "Squeeze":
        net.const("squeezed", np.array([2, 3]))
        last = net.op(flat, "p squeezed", "f", small[:2])
    elif flat:
        last = net.op(flat, "p", "f", small[:2])
    net.const("w", (4, 7))
    net.const("b", (7,))
    if product == "Gemm":
        net.op(product, f"{last} w b", "y", ("batch", 7))
    else:
        net.op("MatMul", f"{last} w", "m", ("batch", 7))
        net.op("Add", "m b", "y")
    return net.output("y")


@pytest.mark.parametrize(
    ("pool", "flat", "product"),
    [
        ("GlobalAveragePool", "Flatten", "Gemm"),
        ("GlobalAveragePool", "Reshape", "MatMul"),
        ("AveragePool", "Squeeze", "Gemm"),
        ("MaxPool", "Flatten", "MatMul"),
        ("ReduceMean", "Flatten", "Gemm"),
    ],
)
def test_heads(pool: str, flat: str, product: str) -> None:
    graph = head(pool, flat, product)
    result = run(graph)
    assert displays(result) == ["Conv+Pool+FC"]
    assert ops(graph) == ["ConvPoolFCFusionOp"]
    inside = {fusion.display: fusion.inside for fusion in result.fusions}
    wrapper = next(iter(graph)).name
    assert inside["Conv+BN+ReLU"] == wrapper
    assert product == "Gemm" or inside["MatMul+BiasAdd"] == wrapper


def test_head_whose_mean_drops_the_axes() -> None:
    assert displays(run(head("ReduceMean", "", "Gemm", keepdims=0))) == ["Conv+Pool+FC"]


def test_head_beats_pooling() -> None:
    result = run(head("GlobalAveragePool", "Flatten", "Gemm"))
    assert "Conv+BN+ReLU+Pool" not in [fusion.display for fusion in result.fusions]


def test_pooling_that_leaves_more_than_a_channel() -> None:
    net = Net()
    convolution(net)
    net.op("MaxPool", "a", "p", ("batch", 4, 3, 3), POOL)
    net.op("Flatten", "p", "f", ("batch", 36))
    net.const("w", (36, 7))
    net.op("Gemm", "f w", "y", ("batch", 7))
    result = run(net.output("y"))
    assert displays(result) == ["Conv+BN+ReLU+Pool"]
    assert "BROADCAST(2, [batch, 4, 3, 3], 1)" in map(str, (miss.reason for miss in result.misses))


def test_mean_over_other_axes() -> None:
    net = Net()
    convolution(net)
    net.const("axes", np.array([1, 2]))
    net.op("ReduceMean", "a axes", "p", ("batch", 6), {"keepdims": 0})
    net.const("w", (6, 7))
    net.op("Gemm", "p w", "y", ("batch", 7))
    assert reasons(run(net.output("y")))["A"] == "AXIS([1, 2], [2, 3])"


def test_flatten_that_mixes_samples() -> None:
    net = Net()
    convolution(net)
    net.op("GlobalAveragePool", "a", "p", ("batch", 4, 1, 1))
    net.op("Flatten", "p", "f", (1, "all"), {"axis": 0})
    net.input("w", (8, 7))
    net.graph.inputs = ("x",)
    net.const("w", (8, 7))
    net.op("Gemm", "f w", "y", (1, 7))
    result = run(net.output("y"))
    assert displays(result) == ["Conv+BN+ReLU+Pool"]
    assert "BROADCAST(1, [1, all], [batch, 4])" in map(str, (miss.reason for miss in result.misses))
