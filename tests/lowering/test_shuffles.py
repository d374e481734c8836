"""Channel shuffles between convolutions that weights take in, and those that stay."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Graph, Node
from autofusion.lowering import Lowered
from autofusion.lowering.assemble import assemble
from autofusion.lowering.decode import decode_node
from autofusion.lowering.layout import assign_layouts
from autofusion.lowering.reshaped import reshape_results
from autofusion.lowering.sharing import share_images
from autofusion.lowering.shuffles import fold_shuffles
from autofusion.lowering.workspace import Workspace
from lowering.graphs import build, kernels_of, node, randoms, run_graph, run_plan

CHANNELS = 14
HALF = CHANNELS // 2
CONSTANTS = {
    "whole": randoms(1, CHANNELS, 3, 1, 1),
    "half": randoms(2, HALF, HALF, 1, 1),
    "bias": randoms(3, HALF),
    "taps": randoms(4, HALF, 1, 3, 3),
    "many": randoms(5, CHANNELS, 1, 3, 3),
    "last": randoms(6, 4, CHANNELS, 1, 1),
    "first": randoms(7, HALF, 3, 1, 1),
    "apart": np.array([0, 2, HALF, 5, 4]),
    "zero": np.array([0]),
    "seven": np.array([7]),
    "one": np.array([1]),
    "image": np.array([0, CHANNELS, 5, 4]),
}


def shuffle(x: str, y: str) -> list[Node]:
    return [
        node("Reshape", f"{x} apart", f"{y}r"),
        node("Transpose", f"{y}r", f"{y}t", perm=(0, 2, 1, 3, 4)),
        node("Reshape", f"{y}t image", y),
    ]


def unit(x: str, y: str) -> list[Node]:
    """Half of the channels goes by, the other half through three convolutions; then both are shuffled."""
    return [
        node("Split", x, f"{y}a {y}b", axis=1, num_outputs=2),
        node("Conv", f"{y}b half bias", f"{y}c"),
        node("Conv", f"{y}c taps", f"{y}d", pads=(1, 1, 1, 1), group=HALF),
        node("Conv", f"{y}d half", f"{y}e"),
        node("Concat", f"{y}a {y}e", f"{y}h", axis=1),
        *shuffle(f"{y}h", y),
    ]


def fold(graph: Graph) -> Lowered:
    workspace = Workspace(graph, "native")
    for item in graph.topological():
        decode_node(item, workspace)
    draft = share_images(fold_shuffles(assign_layouts(reshape_results(workspace.finish()))))
    return assemble(draft, (item.name for item in graph))


def check(nodes: list[Node], outputs: str = "y", batch: int | str = "n") -> list[str]:
    """The kernels of the folded plan, which computes what the graph says."""
    graph = build({"x": [batch, 3, 5, 4]}, nodes, outputs, CONSTANTS)
    lowered = fold(graph)
    feeds = {"x": randoms(8, 2, 3, 5, 4)}
    for actual, right in zip(run_plan(lowered, feeds), run_graph(graph, feeds), strict=True):
        np.testing.assert_allclose(actual, right, rtol=1e-4, atol=1e-5)
    return kernels_of(lowered)


HEAD = [node("Conv", "x first bias", "p"), node("Conv", "x first", "q"), node("Concat", "p q", "o", axis=1)]


@pytest.mark.parametrize("batch", ["n", 2])
def test_units_of_split_convolutions_and_shuffles_move_nothing(batch: int | str) -> None:
    nodes = [*HEAD, *shuffle("o", "u"), *unit("u", "v"), *unit("v", "w"), node("Conv", "w last", "y")]
    assert set(check(nodes, batch=batch)) == {"conv", "relayout"}


def test_depthwise_convolutions_hand_the_order_on() -> None:
    nodes = [
        *HEAD,
        *shuffle("o", "u"),
        node("Conv", "u many", "d", group=CHANNELS, pads=(1, 1, 1, 1), strides=(2, 2)),
        node("Conv", "d last", "y"),
    ]
    assert check(nodes) == ["relayout", "conv", "conv", "conv", "conv", "relayout"]


def test_a_shuffle_of_one_convolution_is_its_filters_order() -> None:
    nodes = [node("Conv", "x whole", "o"), *shuffle("o", "u"), node("Conv", "u last", "y")]
    assert check(nodes) == ["relayout", "conv", "conv", "relayout"]


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        ([node("MaxPool", "u", "m", kernel_shape=(2, 2)), node("Conv", "m last", "y")], "y"),
        ([node("Conv", "u last", "y"), node("Neg", "o", "z")], "y z"),
        ([node("Conv", "u last", "y"), node("Neg", "p", "z")], "y z"),
        ([node("Conv", "u last", "y"), node("Identity", "u", "z")], "y z"),
        ([node("Conv", "u many", "d", group=CHANNELS, pads=(1, 1, 1, 1)), node("Sin", "d", "y")], "y"),
        ([node("Conv", "u many", "d", group=CHANNELS, pads=(1, 1, 1, 1)), node("Add", "d u", "y")], "y"),
    ],
)
def test_a_shuffle_that_others_see_stays(nodes: list[Node], outputs: str) -> None:
    assert "strided" in check([*HEAD, *shuffle("o", "u"), *nodes], outputs)


def test_channels_with_two_readers_stay() -> None:
    nodes = [
        *HEAD,
        *shuffle("o", "u"),
        node("Conv", "u last", "y"),
        node("Slice", "u zero seven one", "s"),
        node("Conv", "s half", "z"),
    ]
    assert "strided" in check(nodes, "y z")
