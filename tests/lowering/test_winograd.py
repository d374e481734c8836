"""Which convolutions take Winograd's filtering, and their transformed weights."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.decisions import Option
from autofusion.ir import Dim, Graph
from autofusion.lowering import lower
from autofusion.lowering.decode import decode_node
from autofusion.lowering.packing import PANEL, pack_conv_weight
from autofusion.lowering.records import Draft
from autofusion.lowering.selection import GROWTH, select_algorithms
from autofusion.lowering.winograd import transform_weight
from autofusion.lowering.workspace import Workspace
from autofusion.plan import Step
from lowering.graphs import build, node, randoms


def make_graph(filters: int, channels: int, size: list[Dim], kernel: int = 3, **attributes: object) -> Graph:
    weight = randoms(3, filters, channels // int(str(attributes.get("group", 1))), kernel, kernel)
    pads = (kernel // 2,) * 4
    conv = node("Conv", "x w", "y", pads=pads, kernel_shape=(kernel, kernel), **attributes)
    return build({"x": [1, channels, *size]}, [conv], "y", {"w": weight})


def find_tiles(graph: Graph, *, exact: bool = False) -> list[object]:
    steps = lower(graph, backend="native", exact=exact).plan.steps
    return [step.attributes.get("winograd") for step in steps if step.kernel == "conv"]


@pytest.mark.parametrize(
    ("filters", "size", "tile"), [(64, 56, 4), (128, 28, 4), (256, 14, 2), (512, 7, None), (8, 3, None)]
)
def test_tiles_by_extents(filters: int, size: int, tile: int | None) -> None:
    assert find_tiles(make_graph(filters, filters, [size, size])) == [tile]


@pytest.mark.parametrize(
    "graph",
    [
        make_graph(64, 64, [56, 56], strides=(2, 2)),
        make_graph(64, 64, [56, 56], dilations=(2, 2)),
        make_graph(64, 64, [56, 56], group=2),
        make_graph(64, 64, [56, 56], kernel=5),
        make_graph(64, 64, ["h", 56]),
    ],
    ids=["stride", "dilation", "groups", "5x5", "unknown extent"],
)
def test_windows_that_keep_the_plain_product(graph: Graph) -> None:
    assert find_tiles(graph) == [None]


def test_exact_forbids_it() -> None:
    graph = make_graph(64, 64, [56, 56])
    assert find_tiles(graph, exact=True) == [None]
    assert find_tiles(graph) == [4]


def test_constants_grow_within_their_limit() -> None:
    """The layers that save most for a byte come first: those with the large image."""
    weights = {f"w{index}": randoms(index, 256, 256, 3, 3) for index in range(8)}
    sizes = {"x": [1, 256, 14, 14], "large": [1, 256, 56, 56]}
    nodes = [
        node("Conv", f"{'large' if index == 7 else 'x'} {name}", f"y{index}", pads=(1,) * 4, kernel_shape=(3, 3))
        for index, name in enumerate(weights)
    ]
    graph = build(sizes, nodes, " ".join(f"y{index}" for index in range(8)), weights)
    lowered = lower(graph, backend="native")
    before = sum(array.nbytes for array in weights.values())
    growth = sum(array.nbytes for array in lowered.weights) - before
    tiles = [step.attributes.get("winograd") for step in lowered.plan.steps if step.kernel == "conv"]
    assert tiles[7] == 4
    assert 0 < growth <= GROWTH * before


def test_filters_are_made_in_every_run_where_the_image_is_large() -> None:
    """The artifact has the filters as they are, and a step before the convolution makes what that takes."""
    lowered = lower(make_graph(64, 48, [112, 112]), backend="native")
    steps = {step.kernel: step for step in lowered.plan.steps}
    assert steps["filter"].attributes == {"tile": 4}
    assert steps["conv"].inputs[1] == steps["filter"].outputs[0]
    assert lowered.plan.buffers[steps["conv"].inputs[1]].shape == (36, 4, 48, 16)
    assert sum(array.nbytes for array in lowered.weights) == 4 * 9 * 64 * 48


@pytest.mark.parametrize("largest", [3e38, np.inf, np.nan])
def test_weights_whose_transform_may_overflow_keep_the_plain_product(largest: float) -> None:
    weight = np.full((64, 64, 3, 3), largest, np.float32)
    conv = node("Conv", "x w", "y", pads=(1,) * 4, kernel_shape=(3, 3))
    assert find_tiles(build({"x": [1, 64, 56, 56]}, [conv], "y", {"w": weight})) == [None]


def test_room_goes_to_whom_it_saves_most() -> None:
    """Of three equal layers that each may grow by half of the room, those that gain more by it."""
    weights = {f"w{index}": randoms(index, 64, 64, 3, 3) for index in range(3)}
    nodes = [node("Conv", f"x {name}", f"y{name}", pads=(1,) * 4, kernel_shape=(3, 3)) for name in weights]
    draft = draft_of(build({"x": [1, 64, 28, 28]}, nodes, " ".join(f"y{name}" for name in weights), weights))
    room = int(GROWTH * sum(array.nbytes for array in weights.values()))
    costs = {"w0": 50.0, "w1": 20.0, "w2": 30.0}

    def find_options(_: Draft, step: Step) -> list[Option]:
        stored = Option("winograd", costs[step.inputs[1]], 4, stored=True, growth=room // 2)
        return [Option("direct", 100.0), Option("winograd", 80.0, 4), stored]

    chosen = [selection.chosen for selection in select_algorithms(draft, find_options).values()]
    assert [option.stored for option in chosen] == [False, True, True]
    exact = select_algorithms(draft, find_options, exact=True).values()
    assert [selection.chosen.algorithm for selection in exact] == ["direct"] * 3


def draft_of(graph: Graph) -> Draft:
    workspace = Workspace(graph, "native")
    for item in graph.topological():
        decode_node(item, workspace)
    return workspace.finish()


@pytest.mark.parametrize(("tile", "positions"), [(2, 16), (4, 36)])
def test_the_transform_of_a_constant_filter(tile: int, positions: int) -> None:
    """At the point 0 a filter's polynomial is its first coefficient, at infinity its last, each over a constant."""
    weight = np.arange(2 * 3 * 9, dtype=np.float32).reshape(2, 3, 3, 3)
    transformed = transform_weight(weight, tile)
    assert transformed.shape == (positions, 2, 3)
    assert transformed.dtype == np.float32
    np.testing.assert_array_equal(transformed[-1], weight[:, :, 2, 2])
    origin = {2: -1.0, 4: 0.75**2 * 1.5**2}[tile]
    np.testing.assert_allclose(transformed[0], weight[:, :, 0, 0] / origin**2, rtol=1e-6)


def test_panels() -> None:
    weight = randoms(1, 21, 5, 3, 3)
    transformed = transform_weight(weight, 2)
    panels = pack_conv_weight(weight, 1, 2).reshape(16, 2, 5, PANEL)
    for filter_ in range(21):
        np.testing.assert_array_equal(panels[:, filter_ // PANEL, :, filter_ % PANEL], transformed[:, filter_])
    assert np.count_nonzero(panels[:, 1, :, 5:]) == 0
