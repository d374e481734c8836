"""Joins and cuts of images without copies: which steps stay, where the parts lie, and that values survive."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.artifact.checks import check_plan
from autofusion.ir import Graph, Node
from autofusion.lowering import Lowered, lower
from autofusion.lowering.assemble import assemble
from autofusion.lowering.decode import decode_node
from autofusion.lowering.layout import assign_layouts
from autofusion.lowering.reshaped import reshape_results
from autofusion.lowering.sharing import share_images
from autofusion.lowering.workspace import Workspace
from autofusion.plan.stripes import is_view
from autofusion.runtime.binding import bind
from lowering.graphs import build, kernels_of, node, randoms, run_graph, run_plan

W = {"w": randoms(1, 4, 4, 3, 3), "v": randoms(2, 8, 8, 1, 1), "u": randoms(3, 4, 8, 1, 1)}
IMAGE: dict[str, list[int | str]] = {"x": ["n", 4, 6, 7]}


def share(graph: Graph) -> Lowered:
    """The native plan on views before its weights are packed, which the definitions can run."""
    workspace = Workspace(graph, "native")
    for item in graph.topological():
        decode_node(item, workspace)
    draft = share_images(assign_layouts(reshape_results(workspace.finish())))
    return assemble(draft, (item.name for item in graph))


def check(graph: Graph, kernels: list[str], views: str = "", dims: dict[str, int] | None = None) -> Lowered:
    """`views` are those expected, as `name=root+offset`."""
    feeds = {
        name: randoms(9 + index, *((dims or {}).get(str(dim), dim) for dim in graph.value(name).shape or ()))  # type: ignore[misc]
        for index, name in enumerate(graph.inputs)
    }
    lowered = share(graph)
    plan = lowered.plan
    assert kernels_of(lowered) == kernels
    found = {f"{name}={b.alias}+{b.offset}" for name, b in plan.buffers.items() if is_view(b)}
    assert found == set(views.split())
    for actual, right in zip(run_plan(lowered, feeds), run_graph(graph, feeds), strict=True):
        np.testing.assert_allclose(actual, right, rtol=1e-4, atol=1e-5)
    packed = lower(graph, backend="native").plan
    check_plan(packed, sum(-(-tensor.bytes // 64) * 64 for tensor in packed.tensors))
    bind(packed, dims or {}, 1)
    return lowered


def conv(x: str, y: str, weight: str = "w") -> Node:
    pads = (1, 1, 1, 1) if weight == "w" else (0, 0, 0, 0)
    return node("Conv", f"{x} {weight}", y, pads=pads)


def test_parts_are_written_where_they_are_joined():
    nodes = [conv("x", "a"), conv("a", "b"), node("Concat", "a b", "c", axis=1), conv("c", "y", "u")]
    check(build(IMAGE, nodes, "y", W), ["relayout", "conv", "conv", "conv", "relayout"], "a=c+0 b=c+4", {"n": 2})


def test_images_of_an_empty_batch_have_parts_too():
    nodes = [conv("x", "a"), conv("a", "b"), node("Concat", "a b", "c", axis=1), conv("c", "y", "u")]
    check(build(IMAGE, nodes, "y", W), ["relayout", "conv", "conv", "conv", "relayout"], "a=c+0 b=c+4", {"n": 0})


def test_a_longer_join_holds_the_shorter_ones():
    nodes = [
        conv("x", "a"),
        conv("a", "b"),
        node("Concat", "a b", "c", axis=1),
        conv("c", "d", "u"),
        node("Concat", "a b d", "e", axis=1),
        node("GlobalAveragePool", "e", "y"),
    ]
    lowered = share(build(IMAGE, nodes, "y", W))
    assert "concat" not in kernels_of(lowered)
    check(
        build(IMAGE, nodes, "y", W),
        ["relayout", "conv", "conv", "conv", "pool", "relayout"],
        "a=e+0 b=e+4 c=e+0 d=e+8",
        {"n": 2},
    )


def test_joins_of_joins_are_one():
    names = [f"p{index}" for index in range(12)]
    nodes = [conv("x", name) for name in names]
    nodes += [node("Concat", " ".join(names), "c", axis=1), node("MaxPool", "c", "y", kernel_shape=(2, 2))]
    lowered = share(build(IMAGE, nodes, "y", W))
    assert "concat" not in kernels_of(lowered)
    assert [lowered.plan.buffers[name].offset for name in names] == [4 * index for index in range(12)]


def test_what_cannot_lie_among_others_is_copied():
    nodes = [conv("x", "a"), node("Concat", "k a", "c", axis=1), conv("c", "y", "u")]
    graph = build({"x": [2, 4, 6, 7]}, nodes, "y", {**W, "k": randoms(6, 2, 4, 6, 7)})
    check(graph, ["relayout", "conv", "strided", "conv", "relayout"], "a=c+4 k:nhwc:part=c+0")


def test_an_input_is_laid_out_where_it_is_joined():
    nodes = [conv("x", "a"), node("Concat", "x a", "c", axis=1), conv("c", "y", "u")]
    check(build(IMAGE, nodes, "y", W), ["relayout", "conv", "conv", "relayout"], "a=c+4 x:nhwc=c+0", {"n": 2})


def test_a_part_that_occurs_twice_is_joined_by_copies():
    nodes = [conv("x", "a"), node("Concat", "a a", "c", axis=1), conv("c", "y", "u")]
    check(build(IMAGE, nodes, "y", W), ["relayout", "conv", "concat", "conv", "relayout"], "", {"n": 2})


def test_of_two_joins_the_later_one_has_the_part():
    nodes = [
        conv("x", "a"),
        conv("a", "b"),
        node("Concat", "b a", "c", axis=1),
        node("Concat", "a b", "d", axis=1),
        node("Add", "c d", "e"),
        conv("e", "y", "u"),
    ]
    kernels = ["relayout", "conv", "conv", "concat", "binary", "conv", "relayout"]
    check(build(IMAGE, nodes, "y", W), kernels, "a=d+0 b=d+4", {"n": 2})


def test_a_graph_output_stays_a_buffer_of_its_own():
    nodes = [conv("x", "a"), conv("x", "b"), node("Concat", "a b", "c", axis=1), conv("c", "y", "u")]
    lowered = check(
        build(IMAGE, nodes, "y a", W),
        ["relayout", "conv", "relayout", "conv", "conv", "relayout"],
        "a:nhwc=c+0 b=c+4",
        {"n": 2},
    )
    assert lowered.plan.buffers["a"].alias is None


def test_parts_that_others_read_row_major_are_read_from_among_others():
    nodes = [conv("x", "a"), conv("x", "b"), node("Concat", "a b", "c", axis=1), conv("c", "y", "u")]
    nodes.append(node("Gemm", "f m", "z"))
    nodes.insert(1, node("Flatten", "a", "f"))
    graph = build({"x": [2, 4, 6, 7]}, nodes, "y z", {**W, "m": randoms(4, 168, 3)})
    check(graph, ["relayout", "conv", "conv", "conv", "relayout", "relayout", "matmul"], "a=c+0 b=c+4")


def test_cuts_are_read_where_they_lie():
    nodes = [
        node("Conv", "x v", "a"),
        node("Split", "a", "b c", axis=1, num_outputs=2),
        conv("b", "d"),
        node("Add", "d c", "e"),
        node("Concat", "a e", "f", axis=1),
        node("MaxPool", "f", "y", kernel_shape=(2, 2)),
    ]
    graph = build({"x": ["n", 8, 5, 3]}, nodes, "y", W)
    check(graph, ["relayout", "conv", "conv", "binary", "pool", "relayout"], "a=f+0 b=f+0 c=f+4 e=f+8", {"n": 2})


def test_pixels_of_one_image_are_joined_without_copies():
    nodes = [
        conv("x", "a"),
        node("MaxPool", "a", "b", kernel_shape=(2, 2), strides=(2, 2)),
        node("Reshape", "a s", "c"),
        node("Reshape", "b s", "d"),
        node("Concat", "c d", "e", axis=2),
        node("Sigmoid", "e", "f"),
        node("Concat", "f f", "y", axis=1),
    ]
    graph = build({"x": [1, 4, 6, 7]}, nodes, "y", {**W, "s": np.array([1, 4, -1])})
    lowered = share(graph)
    plan = lowered.plan
    assert [plan.buffers[name].offset for name in ("a", "b")] == [0, 168]
    feeds = {"x": randoms(5, 1, 4, 6, 7)}
    np.testing.assert_allclose(run_plan(lowered, feeds)[0], run_graph(graph, feeds)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 2])
def test_pixels_of_several_images_are_copied(batch: int):
    nodes = [conv("x", "a"), conv("x", "b"), node("Concat", "a b", "c", axis=2), node("Relu", "c", "y")]
    lowered = share(build({"x": [batch, 4, 6, 7]}, nodes, "y", W))
    assert ("concat" in kernels_of(lowered)) == (batch == 2)


@pytest.mark.parametrize("batch", [1, 2])
def test_joined_pixels_that_are_a_part_of_joined_channels(batch: int):
    nodes = [
        conv("x", "a"),
        node("MaxPool", "a", "b", kernel_shape=(3, 1), strides=(3, 1)),
        node("Concat", "a b", "c", axis=2),
        node("Concat", "b a", "d", axis=2),
        node("Concat", "c d", "e", axis=1),
        node("Conv", "e u", "y"),
    ]
    graph = build({"x": [batch, 4, 6, 7]}, nodes, "y", W)
    feeds = {"x": randoms(5, batch, 4, 6, 7)}
    np.testing.assert_allclose(run_plan(share(graph), feeds)[0], run_graph(graph, feeds)[0], rtol=1e-4, atol=1e-5)
    assert ("concat" in kernels_of(share(graph))) == (batch == 2)
