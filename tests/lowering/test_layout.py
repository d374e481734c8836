"""Layouts of the native plan: what they cost, and that values survive them."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Graph, Node
from autofusion.lowering import Lowered, lower
from autofusion.lowering.assemble import assemble
from autofusion.lowering.decode import decode_node
from autofusion.lowering.layout import assign_layouts
from autofusion.lowering.workspace import Workspace
from lowering.graphs import build, kernels_of, node, randoms, run_graph, run_plan


def lay_out(graph: Graph) -> Lowered:
    """The native plan before its weights are packed, which the definitions can run."""
    workspace = Workspace(graph, "native")
    for item in graph.topological():
        decode_node(item, workspace)
    return assemble(assign_layouts(workspace.finish()), (item.name for item in graph))


def check(graph: Graph, kernels: list[str], dims: dict[str, int] | None = None) -> Lowered:
    feeds = {
        name: randoms(9 + index, *((dims or {}).get(str(dim), dim) for dim in graph.value(name).shape or ()))  # type: ignore[misc]
        for index, name in enumerate(graph.inputs)
    }
    lowered = lay_out(graph)
    assert kernels_of(lowered) == kernels
    for actual, right in zip(run_plan(lowered, feeds), run_graph(graph, feeds), strict=True):
        np.testing.assert_allclose(actual, right, rtol=1e-4, atol=1e-5)
    for name in (*lowered.plan.inputs, *lowered.plan.outputs):
        assert lowered.plan.buffers[name].layout == "plain"
    return lowered


W = {"w": randoms(1, 4, 4, 3, 3), "v": randoms(2, 4, 4, 1, 1), "m": randoms(3, 4, 5)}
IMAGE: dict[str, list[int | str]] = {"x": ["n", 4, 6, 7]}


def conv(x: str, y: str) -> Node:
    return node("Conv", f"{x} w", y, pads=(1, 1, 1, 1))


def test_no_relayout_between_convolutions():
    nodes = [
        conv("x", "a"),
        node("Relu", "a", "b"),
        conv("b", "c"),
        node("Add", "c b", "d"),
        node("MaxPool", "d", "e", kernel_shape=(2, 2), strides=(2, 2)),
        node("BatchNormalization", "e g g g g", "f"),
        conv("f", "h"),
        node("GlobalAveragePool", "h", "p"),
        node("Flatten", "p", "q"),
        node("Gemm", "q m", "y"),
    ]
    graph = build(IMAGE, nodes, "y", {**W, "g": np.ones(4, np.float32)})
    kernels = ["relayout", "conv", "unary", "conv", "binary", "pool", "affine", "conv", "pool", "matmul"]
    lowered = check(graph, kernels, {"n": 2})
    assert lowered.plan.buffers["q"].alias == "p"


def test_the_image_of_one_pixel_is_relaid_by_an_alias():
    nodes = [
        conv("x", "a"),
        node("GlobalAveragePool", "a", "p"),
        node("Sigmoid", "p", "s"),
        node("Celu", "p", "t"),
        node("Mul", "a s", "y"),
    ]
    lowered = check(
        build(IMAGE, nodes, "y t", W), ["relayout", "conv", "pool", "unary", "binary", "relayout", "host"], {"n": 2}
    )
    assert lowered.plan.buffers["p:plain"].alias == "p"
    assert lowered.plan.buffers["p:plain"].layout == "plain"


def test_one_channel_needs_no_relayout():
    graph = build({"x": [2, 1, 6, 7]}, [node("Conv", "x w", "a"), conv("a", "y")], "y", {"w": randoms(1, 1, 1, 3, 3)})
    lowered = check(graph, ["conv", "conv", "relayout"])
    assert lowered.plan.buffers["x:nhwc"].alias == "x"


def test_a_value_is_relaid_once_for_all_its_readers():
    nodes = [
        node("Celu", "x", "a"),
        conv("a", "b"),
        conv("a", "c"),
        node("Add", "b c", "d"),
        node("Celu", "d", "y"),
    ]
    check(build(IMAGE, nodes, "y", W), ["host", "relayout", "conv", "conv", "binary", "relayout", "host"], {"n": 1})


def test_an_inner_value_that_is_an_output_too_stays_in_both_layouts():
    nodes = [conv("x", "a"), conv("a", "b")]
    lowered = check(build(IMAGE, nodes, "a b", W), ["relayout", "conv", "relayout", "conv", "relayout"], {"n": 3})
    assert lowered.steps_of == {"a": (0, 1, 2), "b": (3, 4)}


def test_pixels_that_are_counted_by_other_axes_stay_where_they_are():
    nodes = [
        conv("x", "a"),
        node("Reshape", "a s", "r"),
        node("Relu", "r", "t"),
        node("Reshape", "t u", "b"),
        conv("b", "y"),
    ]
    shapes = {"s": np.array([0, 4, 42]), "u": np.array([0, 4, 7, 6])}
    lowered = check(
        build(IMAGE, nodes, "y", {**W, **shapes}), ["relayout", "conv", "unary", "conv", "relayout"], {"n": 2}
    )
    assert [(name, buffer.alias) for name, buffer in lowered.plan.buffers.items() if buffer.alias] == [
        ("r:nhwc", "a"),
        ("b:nhwc", "t"),
    ]


def test_rows_of_pixels_become_an_image_without_a_step():
    nodes = [
        conv("x", "a"),
        node("Transpose", "a", "b", perm=(0, 2, 3, 1)),
        node("LayerNormalization", "b g", "c", axis=-1),
        node("Transpose", "c", "d", perm=(0, 3, 1, 2)),
        conv("d", "e"),
        node("Transpose", "e", "y", perm=(0, 2, 3, 1)),
    ]
    graph = build(IMAGE, nodes, "y", {**W, "g": randoms(4, 4)})
    check(graph, ["relayout", "conv", "norm", "conv", "strided"], {"n": 2})


def test_tokens_become_an_image_without_a_step_and_are_relaid_for_who_reads_rows_of_it():
    nodes = [
        node("LayerNormalization", "x g", "a", axis=-1),
        node("Transpose", "a", "b", perm=(0, 2, 1)),
        node("Reshape", "b shape", "c"),
        conv("c", "d"),
        node("Softmax", "c", "s", axis=3),
        node("Add", "d s", "y"),
    ]
    given = {**W, "g": randoms(4, 4), "shape": np.array([-1, 4, 6, 7])}
    graph = build({"x": ["n", 42, 4]}, nodes, "y", given)
    check(graph, ["norm", "conv", "relayout", "softmax", "relayout", "binary", "relayout"], {"n": 2})


def test_a_turned_image_of_mirrored_axes_is_copied():
    nodes = [
        node("LayerNormalization", "x g", "a", axis=-1),
        node("Transpose", "a", "b", perm=(0, 3, 2, 1)),
        conv("b", "y"),
    ]
    graph = build({"x": ["n", 6, 7, 4]}, nodes, "y", {**W, "g": randoms(4, 4)})
    check(graph, ["norm", "strided", "relayout", "conv", "relayout"], {"n": 2})


def test_a_reshape_of_channels_needs_the_plain_form():
    nodes = [
        conv("x", "a"),
        node("Reshape", "a s", "r"),
        node("Relu", "r", "t"),
        node("Reshape", "t u", "b"),
        conv("b", "y"),
    ]
    shapes = {"s": np.array([0, 2, 84]), "u": np.array([0, 4, 7, 6])}
    kernels = ["relayout", "conv", "relayout", "unary", "relayout", "conv", "relayout"]
    lowered = check(build(IMAGE, nodes, "y", {**W, **shapes}), kernels, {"n": 2})
    assert lowered.plan.buffers["r"].alias == "a:plain"
    assert lowered.plan.buffers["b"].alias == "t"


def test_a_flattened_vector_goes_back_without_a_step():
    nodes = [
        conv("x", "a"),
        node("GlobalAveragePool", "a", "p"),
        node("Flatten", "p", "f"),
        node("MatMul", "f k", "g"),
        node("Reshape", "g s", "r"),
        node("Conv", "r v", "c"),
        node("Mul", "c a", "y"),
    ]
    graph = build(IMAGE, nodes, "y", {**W, "k": randoms(4, 4, 4), "s": np.array([0, 4, 1, 1])})
    lowered = check(graph, ["relayout", "conv", "pool", "matmul", "conv", "binary", "relayout"], {"n": 2})
    assert lowered.plan.buffers["r:nhwc"].alias == "g"


@pytest.mark.parametrize("shape", [(4, 1, 1), (1, 4, 6, 7), (6, 7), (7,), (), (4, 6, 1)])
def test_broadcast_operands_stay_plain(shape: tuple[int, ...]):
    nodes = [conv("x", "a"), node("Sub", "k a", "b"), conv("b", "y")]
    check(
        build(IMAGE, nodes, "y", {**W, "k": randoms(5, *shape)}),
        ["relayout", "conv", "binary", "conv", "relayout"],
        {"n": 2},
    )


def test_a_constant_residual_is_relaid_when_compiling():
    nodes = [conv("x", "a"), node("Add", "a k", "b"), conv("b", "y")]
    graph = build({"x": [2, 4, 6, 7]}, nodes, "y", {**W, "k": randoms(5, 2, 4, 6, 7)})
    lowered = check(graph, ["relayout", "conv", "binary", "conv", "relayout"])
    assert lowered.plan.buffers["k:nhwc"].layout == "nhwc"
    assert "k" not in lowered.plan.buffers


def test_row_major_networks_have_no_relayout():
    nodes = [
        node("MatMul", "x k", "a"),
        node("Add", "a b", "c"),
        node("Relu", "c", "d"),
        node("MatMul", "d k", "e"),
        node("Add", "e x", "y"),
    ]
    graph = build({"x": ["n", "s", 4]}, nodes, "y", {"k": randoms(1, 4, 4), "b": randoms(2, 4)})
    check(graph, ["matmul", "binary", "unary", "matmul", "binary"], {"n": 2, "s": 5})


def test_a_reshaped_output_is_copied_from_the_plain_form():
    nodes = [conv("x", "a"), node("Flatten", "a", "y")]
    check(build(IMAGE, nodes, "y", W), ["relayout", "conv", "relayout", "copy"], {"n": 2})


def test_an_output_of_the_same_shape_is_relaid_straight_into_its_place():
    nodes = [conv("x", "a"), node("Identity", "a", "y"), conv("a", "z")]
    check(build(IMAGE, nodes, "y z", W), ["relayout", "conv", "relayout", "conv", "relayout"], {"n": 2})


@pytest.mark.parametrize("rank", [1, 3])
def test_other_ranks(rank: int):
    nodes = [node("Conv", "x w", "a"), node("Relu", "a", "b"), node("Conv", "b v", "y")]
    constants = {"w": randoms(1, 3, 2, *[2] * rank), "v": randoms(2, 2, 3, *[1] * rank)}
    check(build({"x": [2, 2, *[4] * rank]}, nodes, "y", constants), ["relayout", "conv", "unary", "conv", "relayout"])


def test_weights_are_packed_once_for_all_who_share_them():
    nodes = [
        conv("x", "a"),
        conv("a", "b"),
        node("Flatten", "b", "f"),
        node("MatMul", "f k", "p"),
        node("Gemm", "p q", "y", transB=1),
    ]
    graph = build({"x": [2, 4, 3, 3]}, nodes, "y", {**W, "k": randoms(4, 36, 5), "q": randoms(5, 6, 5)})
    plan = lower(graph, backend="native").plan
    weights = [step.inputs[1] for step in plan.steps if step.kernel in ("conv", "matmul")]
    assert weights == ["w:packed", "w:packed", "k:packed", "q:packed"]
    assert [plan.buffers[name].shape for name in weights[1:]] == [(4, 4, 3, 3), (36, 5), (5, 6)]
    assert [step.attributes["trans_b"] for step in plan.steps if step.kernel == "matmul"] == [False, False]
    assert not {"w", "k", "q"} & set(plan.buffers)
    assert [tensor.name for tensor in plan.tensors] == ["w:packed", "k:packed", "q:packed"]


def test_a_matrix_that_varies_or_has_batch_axes_is_not_packed():
    nodes = [node("MatMul", "x z", "a"), node("MatMul", "a k", "y")]
    graph = build({"x": [2, 3, 4], "z": [2, 4, 5]}, nodes, "y", {"k": randoms(4, 2, 5, 6)})
    assert [step.attributes["packed"] for step in lower(graph, backend="native").plan.steps] == [False, False]
