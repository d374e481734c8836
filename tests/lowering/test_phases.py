"""Transposed convolutions as kernel calls, of any kernel, stride, dilation, padding and group."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from autofusion.lowering import lower
from lowering.graphs import build, check_plan, kernels_of, make_feeds, node, randoms, run_graph, run_plan

GEOMETRIES: dict[str, tuple[tuple[int, ...], dict[str, Any], str]] = {
    "doubled": ((2, 2), {"strides": (2, 2)}, "conv_transpose"),
    "overlapping": ((4, 4), {"strides": (2, 2), "pads": (1, 1, 1, 1)}, "conv_transpose"),
    "with an edge": ((3, 3), {"strides": (2, 2), "pads": (1, 1, 1, 1), "output_padding": (1, 1)}, "conv_transpose"),
    "cropped": ((3, 5), {"strides": (2, 3), "pads": (1, 0, 0, 2)}, "conv_transpose"),
    "gaps between": ((1, 2), {"strides": (3, 4)}, "conv_transpose"),
    "dilated": ((3, 2), {"strides": (2, 1), "dilations": (2, 3), "pads": (1, 1, 0, 0)}, "conv_transpose"),
    "one stride": ((3, 3), {"strides": (1, 1), "pads": (1, 1, 1, 1)}, "conv"),
    "one stride, dilated": ((3, 2), {"strides": (1, 1), "dilations": (2, 3), "pads": (0, 2, 3, 0)}, "conv"),
    "one stride, cropped past the filter": ((2, 2), {"strides": (1, 1), "pads": (2, 2, 0, 0)}, "conv_transpose"),
    "a row": ((5,), {"strides": (3,), "pads": (2, 1), "output_padding": (2,)}, "conv_transpose"),
    "a volume": ((2, 3, 2), {"strides": (2, 1, 3), "pads": (0, 1, 1, 0, 1, 0)}, "conv_transpose"),
    "a volume with one stride": ((2, 3, 2), {"pads": (0, 1, 1, 0, 1, 0)}, "conv"),
    "edges of zeros": ((2, 2), {"strides": (3, 3), "output_padding": (2, 1)}, "conv_transpose"),
}


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_geometry(name: str, group: int) -> None:
    kernel, attributes, expected = GEOMETRIES[name]
    constants = {"w": randoms(1, 4, 3, *kernel), "b": randoms(2, 3 * group)}
    nodes = [node("ConvTranspose", "x w b", "y", group=group, **attributes)]
    graph = build({"x": [2, 4, *(5, 4, 3)[: len(kernel)]]}, nodes, "y", constants)
    check_plan(graph, "", [expected], 1e-5)


@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (2, 3)])
def test_a_single_pixel_spreads_its_filters(strides: tuple[int, int]) -> None:
    nodes = [node("ConvTranspose", "x w", "y", strides=strides, dilations=(1, 2), pads=(1, 0, 0, 1))]
    for spatial in ((1, 1), (1, 3), (3, 1)):
        graph = build({"x": [2, 4, *spatial]}, nodes, "y", {"w": randoms(1, 4, 3, 4, 3)})
        lowered = check_plan(graph, "", ["conv_transpose"], 1e-5)
        widened = [4 if spatial[0] == 1 else strides[0], 5 if spatial[1] == 1 else strides[1]]
        assert lowered.plan.steps[0].attributes["strides"] == widened


@pytest.mark.parametrize("stride", [1, 2, 3, 5])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
def test_infinities_go_where_the_unfused_model_has_them(kernel: int, stride: int) -> None:
    for rank, dilation, group in itertools.product((1, 2, 3), (1, 2), (1, 2)):
        constants = {"w": randoms(1, 4, 2, *[kernel] * rank)}
        attributes = {"strides": (stride,) * rank, "dilations": (dilation,) * rank, "group": group}
        nodes = [node("ConvTranspose", "x w", "y", output_padding=(stride - 1,) * rank, **attributes)]
        graph = build({"x": [1, 4, *(2, 3, 4)[:rank]]}, nodes, "y", constants)
        feeds = make_feeds(graph)
        feeds["x"][(0, 1, *[1] * rank)] = np.inf
        feeds["x"][(0, 2, *[0] * rank)] = -np.inf
        (actual,), (right,) = run_plan(lower(graph, backend="reference"), feeds), run_graph(graph, feeds)
        np.testing.assert_allclose(actual, right, rtol=1e-4, atol=1e-5)


def test_an_activation_is_part_of_the_step() -> None:
    nodes = [node("ConvTranspose", "x w", "c", strides=(2, 2)), node("Relu", "c", "y")]
    check_plan(build({"x": [1, 4, 3, 5]}, nodes, "y", {"w": randoms(1, 4, 3, 3, 3)}), "c y", ["conv_transpose"])


def test_extents_may_be_symbols() -> None:
    nodes = [node("ConvTranspose", "x w", "c", strides=(2, 2)), node("ConvTranspose", "c v", "y", pads=(1, 1, 0, 0))]
    constants = {"w": randoms(1, 4, 3, 2, 2), "v": randoms(2, 3, 5, 2, 2)}
    graph = build({"x": ["n", 4, "h", 5]}, nodes, "y", constants)
    native = lower(graph, backend="native")
    assert kernels_of(native) == ["relayout", "conv_transpose", "conv", "relayout"]
    for extents in ((1, 4, 1, 5), (2, 4, 7, 5)):
        feeds = {"x": randoms(3, *extents)}
        (actual,), (right,) = run_plan(lower(graph, backend="reference"), feeds), run_graph(graph, feeds)
        np.testing.assert_allclose(actual, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"auto_pad": "SAME_UPPER"}, "padding is not known before the model runs, or negative"),
        ({"pads": (-1, 0, 0, 0)}, "padding is not known before the model runs, or negative"),
        ({"strides": (300, 300)}, "strides [300, 300] are too large"),
    ],
)
def test_what_stays_on_the_host(attributes: dict[str, Any], reason: str) -> None:
    nodes = [node("ConvTranspose", "x w", "y", **attributes)]
    lowered = lower(build({"x": ["n", 4, 9, "s"]}, nodes, "y", {"w": randoms(1, 4, 3, 2, 2)}), backend="native")
    assert [step.reason for step in lowered.host_steps] == [reason]


def test_a_weight_that_is_computed_stays_on_the_host() -> None:
    graph = build({"x": [1, 2, 3, 3], "w": [2, 2, 2, 2]}, [node("ConvTranspose", "x w", "y")], "y", {})
    (step,) = lower(graph, backend="native").host_steps
    assert step.reason == "the weight is no constant"
