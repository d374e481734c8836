"""Copied views in the shape in which they are read, and the layouts of the steps for elements of any type."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Node
from autofusion.lowering import lower
from lowering.graphs import build, kernels_of, node, randoms, run_graph, run_plan

W = {"w": randoms(1, 6, 6, 1, 1)}
CONV = node("Conv", "x w", "a", kernel_shape=(1, 1))
LAST = node("Conv", "b w", "y", kernel_shape=(1, 1))
IMAGE = {"x": ["n", 6, "h", 5]}


def check(nodes: list[Node], outputs: str, kernels: list[str], **constants: object) -> None:
    """The native plan of `nodes` has these kernels and computes what the graph says, at two sizes."""
    arrays = {name: np.asarray(value) for name, value in constants.items()}
    graph = build(IMAGE, nodes, outputs, {**W, **arrays})
    lowered = lower(graph, backend="reference")
    native = lower(graph, backend="native")
    assert kernels_of(native) == kernels
    for extents in ((2, 6, 3, 5), (1, 6, 1, 5)):
        feeds = {"x": randoms(4, *extents)}
        for actual, right in zip(run_plan(lowered, feeds), run_graph(graph, feeds), strict=True):
            np.testing.assert_allclose(actual, right, rtol=1e-4, atol=1e-5)


def test_shuffled_channels_are_one_step_on_images() -> None:
    nodes = [
        CONV,
        node("Reshape", "a s", "r"),
        node("Transpose", "r", "t", perm=(0, 2, 1, 3, 4)),
        node("Reshape", "t u", "c"),
        node("Neg", "c", "b"),
        LAST,
    ]
    kernels = ["relayout", "conv", "strided", "unary", "conv", "relayout"]
    check(nodes, "y", kernels, s=[0, 2, 3, -1, 5], u=[0, 6, -1, 5])


@pytest.mark.parametrize("outputs", ["y t", "y v"])
def test_a_view_that_is_read_in_two_shapes_keeps_its_own(outputs: str) -> None:
    nodes = [
        CONV,
        node("Reshape", "a s", "r"),
        node("Transpose", "r", "t", perm=(0, 2, 1, 3, 4)),
        node("Reshape", "t u", "b"),
        LAST,
        node("Neg", "t", "v"),
    ]
    graph = build(IMAGE, nodes, outputs, {**W, "s": np.array([0, 2, 3, -1, 5]), "u": np.array([0, 6, -1, 5])})
    (step,) = (step for step in lower(graph, backend="reference").plan.steps if step.kernel == "strided")
    assert step.outputs == ("t",)


def test_channels_are_split_and_joined_as_they_lie() -> None:
    nodes = [CONV, node("Split", "a sizes", "l r", axis=1), node("Concat", "r l", "b", axis=1), LAST]
    check(nodes, "y", ["relayout", "conv", "strided", "strided", "conv", "relayout"], sizes=[2, 4])


def test_channels_that_become_the_last_axis_are_no_copy() -> None:
    nodes = [CONV, node("Transpose", "a", "t", perm=(0, 2, 3, 1)), node("Neg", "t", "y")]
    check(nodes, "y", ["relayout", "conv", "unary"])


def test_rows_of_pixels_are_no_copy() -> None:
    nodes = [
        CONV,
        node("Reshape", "a s", "r"),
        node("Transpose", "r", "t", perm=(0, 2, 1)),
        node("Neg", "t", "y"),
    ]
    check(nodes, "y", ["relayout", "conv", "unary"], s=[0, 6, -1])


def test_chains_of_views_are_one_step() -> None:
    nodes = [
        node("Transpose", "x", "t", perm=(0, 2, 3, 1)),
        node("Slice", "t one four last one", "s"),
        node("Transpose", "s", "y", perm=(0, 3, 1, 2)),
    ]
    (step,) = lower(
        build({"x": [2, 6, 3, 5]}, nodes, "y", {"one": np.array([1]), "four": np.array([4]), "last": np.array([3])}),
        backend="native",
    ).plan.steps
    assert (step.kernel, step.inputs) == ("strided", ("x",))
    assert step.attributes == {"extents": [2, 3, 3, 5], "view": [15, 90, 15, 5, 1]}


def test_softmax_over_channels_and_over_pixels() -> None:
    for axis, kernels in ((1, ["softmax", "conv"]), (3, ["relayout", "softmax", "relayout", "conv"])):
        nodes = [CONV, node("Softmax", "a", "b", axis=axis), LAST]
        check(nodes, "y", ["relayout", "conv", *kernels, "relayout"])


def test_pads_and_choices_follow_the_image() -> None:
    nodes = [CONV, node("Relu", "a", "m"), node("Where", "truth a m", "c"), node("Pad", "c pads", "b"), LAST]
    kernels = ["relayout", "conv", "unary", "select", "pad", "conv", "relayout"]
    check(nodes, "y", kernels, truth=np.array([True]), pads=[0, 0, 2, 0, 0, 0, 1, 1])


def test_sums_over_channels_read_the_image() -> None:
    nodes = [CONV, node("ReduceSum", "a axes", "y", keepdims=0)]
    check(nodes, "y", ["relayout", "conv", "reduce"], axes=[1])
