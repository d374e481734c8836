"""What moves into the product or pool after it: padding, transposed operands, factors; and what stays."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import DType, Graph, Node
from autofusion.lowering import lower
from lowering.graphs import build, check_plan, fuse, kernels_of, node, randoms

IMAGE = {"x": [2, 3, 5, 6]}
WEIGHT = {"w": randoms(1, 4, 3, 3, 3)}


def padded(pads: list[int], reader: Node, **constants: np.ndarray) -> Graph:
    operands = "x pads" + "".join(f" {name}" if name in constants else " _" for name in ("value", "axes"))
    nodes = [node("Pad", operands.replace(" _ _", ""), "p", mode="constant"), reader]
    return build(IMAGE, nodes, "y", {**WEIGHT, "pads": np.array(pads), **constants})


@pytest.mark.parametrize("attributes", [{}, {"pads": (1, 0, 0, 2)}, {"auto_pad": "VALID"}, {"strides": (2, 1)}])
def test_padding_of_a_convolution(attributes: dict[str, object]) -> None:
    graph = padded([0, 0, 1, 2, 0, 0, 0, 1], node("Conv", "p w", "y", **attributes))
    (step,) = check_plan(graph, "p y", ["conv"]).plan.steps
    own = attributes.get("pads", (0, 0, 0, 0))
    assert step.attributes["pads"] == [one + other for one, other in zip(own, (1, 2, 0, 1), strict=True)]  # type: ignore[call-overload]


def test_padding_of_chosen_axes_with_an_explicit_zero() -> None:
    constants = {"value": np.float32(-0.0), "axes": np.array([-1, 2])}
    graph = padded([1, 2, 3, 0], node("Conv", "p w", "y"), **{k: np.asarray(v) for k, v in constants.items()})
    (step,) = check_plan(graph, "p y", ["conv"]).plan.steps
    assert step.attributes["pads"] == [2, 1, 0, 3]


@pytest.mark.parametrize(
    ("pads", "constants"),
    [
        ([0, 0, 1, 1, 0, 0, 1, 1], {"value": np.array(1, np.float32)}),
        ([0, 0, -1, 0, 0, 0, 0, 0], {}),
        ([1, 0, 0, 0, 0, 0, 0, 0], {}),
    ],
    ids=["another value", "cropping", "batch"],
)
def test_padding_that_stays(pads: list[int], constants: dict[str, np.ndarray]) -> None:
    check_plan(padded(pads, node("Conv", "p w", "y"), **constants), "p y", ["pad", "conv"])


@pytest.mark.parametrize(
    ("attributes", "kernels"),
    [
        ({}, ["pool"]),
        ({"count_include_pad": 1, "pads": (1, 1, 1, 1)}, ["pool"]),
        ({"count_include_pad": 0, "pads": (1, 1, 1, 1)}, ["pad", "pool"]),
        ({"ceil_mode": 1, "strides": (2, 2)}, ["pad", "pool"]),
    ],
)
def test_padding_of_an_average(attributes: dict[str, object], kernels: list[str]) -> None:
    reader = node("AveragePool", "p", "y", kernel_shape=(3, 3), **attributes)
    check_plan(padded([0, 0, 1, 0, 0, 0, 1, 1], reader), "p y", kernels)


def test_padding_of_a_maximum_stays() -> None:
    reader = node("MaxPool", "p", "y", kernel_shape=(3, 3))
    check_plan(padded([0, 0, 1, 0, 0, 0, 1, 1], reader), "p y", ["pad", "pool"])


def test_padding_that_is_read_twice_stays() -> None:
    nodes = [node("Pad", "x pads", "p"), node("Conv", "p w", "c"), node("Conv", "p w", "d"), node("Add", "c d", "y")]
    graph = build(IMAGE, nodes, "y", {**WEIGHT, "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])})
    check_plan(graph, "p c d y", ["pad", "conv", "conv"])


def product(*nodes: Node, a: list[int], b: list[int]) -> tuple[Graph, str]:
    """The graph, and the names of all its nodes."""
    constants = {"two": np.asarray(np.float32(2)), "half": np.full((1, 1), 0.5, np.float32)}
    return build({"a": a, "b": b}, nodes, "y", constants), " ".join(item.name for item in nodes)


TURNED = node("Transpose", "a", "t", perm=(1, 0))
OTHER_TURNED = node("Transpose", "b", "t", perm=(1, 0))
BATCH_TURNED = node("Transpose", "b", "t", perm=(0, 2, 1))


@pytest.mark.parametrize(
    "graph",
    [
        product(TURNED, node("MatMul", "t b", "y"), a=[4, 3], b=[4, 5]),
        product(BATCH_TURNED, node("MatMul", "a t", "y"), a=[2, 3, 4], b=[2, 5, 4]),
        product(node("Mul", "a two", "t"), node("MatMul", "t b", "y"), a=[3, 4], b=[4, 5]),
        product(node("Mul", "half b", "t"), node("MatMul", "a t", "y"), a=[3, 4], b=[4, 5]),
        product(node("Div", "a half", "t"), node("Gemm", "t b", "y", alpha=0.3, transB=1), a=[3, 4], b=[5, 4]),
        product(
            node("Mul", "a two", "s"),
            node("Transpose", "s", "u", perm=(1, 0)),
            OTHER_TURNED,
            node("MatMul", "u t", "m"),
            node("Div", "m half", "y"),
            a=[4, 3],
            b=[5, 4],
        ),
        product(OTHER_TURNED, node("Gemm", "a t", "y", transB=1), a=[3, 4], b=[4, 5]),
    ],
    ids=["left", "right", "factor", "factor on the right", "divisor", "all", "twice"],
)
def test_operands_of_a_product(graph: tuple[Graph, str]) -> None:
    check_plan(*graph, ["matmul"])


OTHER_AXES = node("Transpose", "a", "t", perm=(1, 0, 2))
IDENTITY = node("Transpose", "a", "t", perm=(0, 1))


@pytest.mark.parametrize(
    ("graph", "kernels"),
    [
        (product(node("Div", "two a", "t"), node("MatMul", "t b", "y"), a=[3, 4], b=[4, 5]), ["binary", "matmul"]),
        (product(OTHER_AXES, node("MatMul", "t b", "y"), a=[3, 2, 4], b=[2, 4, 5]), ["strided", "matmul"]),
        (product(IDENTITY, node("MatMul", "t b", "y"), a=[3, 4], b=[4, 5]), ["matmul"]),
    ],
    ids=["constant first", "other axes", "identity"],
)
def test_operands_that_stay(graph: tuple[Graph, str], kernels: list[str]) -> None:
    check_plan(*graph, kernels, tolerance=1e-5)


def test_what_no_kernel_computes_keeps_its_nodes() -> None:
    nodes = [node("Transpose", "a", "t", perm=(1, 0)), node("MatMul", "t b", "y")]
    graph = build({"a": [4, 3], "b": [4, 5]}, nodes, "y", {}, DType.FLOAT16)
    fuse(graph, "t y")
    assert kernels_of(lower(graph, backend="native")) == ["strided", "host"]


@pytest.mark.parametrize("slope", [randoms(3, 4, 1, 1), randoms(3, 6), randoms(3, 4, 5, 1)])
def test_slopes(slope: np.ndarray) -> None:
    graph = build({"x": [2, 4, 5, 6]}, [node("PRelu", "x s", "y")], "y", {"s": slope})
    check_plan(graph, "", ["unary", "binary", "binary", "binary"])


def test_one_slope_is_an_epilogue() -> None:
    nodes = [node("Conv", "x w", "c"), node("PRelu", "c s", "y")]
    graph = build(IMAGE, nodes, "y", {**WEIGHT, "s": np.array([0.2], np.float32)})
    check_plan(graph, "c y", ["conv"])


def test_an_infinite_slope_is_left_to_the_host() -> None:
    slope = np.array([1, np.inf, 0, 1], np.float32).reshape(4, 1, 1)
    graph = build({"x": [2, 4, 5, 6]}, [node("PRelu", "x s", "y")], "y", {"s": slope})
    assert kernels_of(lower(graph, backend="reference")) == ["host"]
