"""Transposed convolutions as convolutions of phases, of any kernel, stride, dilation, padding and group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autofusion.lowering import lower
from lowering.graphs import build, check_plan, kernels_of, node, randoms, run_graph, run_plan

GEOMETRIES: dict[str, tuple[tuple[int, ...], dict[str, Any], int]] = {
    "doubled": ((2, 2), {"strides": (2, 2)}, 2),
    "overlapping": ((4, 4), {"strides": (2, 2), "pads": (1, 1, 1, 1)}, 2),
    "with an edge": ((3, 3), {"strides": (2, 2), "pads": (1, 1, 1, 1), "output_padding": (1, 1)}, 2),
    "cropped": ((3, 5), {"strides": (2, 3), "pads": (1, 0, 0, 2)}, 3),
    "gaps between": ((1, 2), {"strides": (3, 4)}, 3),
    "dilated": ((3, 2), {"strides": (2, 1), "dilations": (2, 3), "pads": (1, 1, 0, 0)}, 3),
    "one stride": ((3, 3), {"strides": (1, 1), "pads": (1, 1, 1, 1)}, 1),
    "a row": ((5,), {"strides": (3,), "pads": (2, 1), "output_padding": (2,)}, 3),
    "a volume": ((2, 3, 2), {"strides": (2, 1, 3), "pads": (0, 1, 1, 0, 1, 0)}, 3),
    "edges of zeros": ((2, 2), {"strides": (3, 3), "output_padding": (2, 1)}, 3),
}


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_geometry(name: str, group: int) -> None:
    kernel, attributes, most = GEOMETRIES[name]
    constants = {"w": randoms(1, 4, 3, *kernel), "b": randoms(2, 3 * group)}
    nodes = [node("ConvTranspose", "x w b", "y", group=group, **attributes)]
    graph = build({"x": [2, 4, *(5, 4, 3)[: len(kernel)]]}, nodes, "y", constants)
    kernels = kernels_of(lower(graph, backend="reference"))
    assert kernels == ["conv", "strided", "strided"][: len(kernels)]
    assert len(kernels) <= most
    check_plan(graph, "", kernels, 1e-5)


def test_extents_may_be_symbols() -> None:
    nodes = [node("ConvTranspose", "x w", "c", strides=(2, 2)), node("Conv", "c v", "y")]
    constants = {"w": randoms(1, 4, 3, 2, 2), "v": randoms(2, 5, 3, 1, 1)}
    graph = build({"x": ["n", 4, "h", 5]}, nodes, "y", constants)
    native = lower(graph, backend="native")
    assert kernels_of(native) == ["relayout", "conv", "strided", "conv", "relayout"]
    for extents in ((1, 4, 1, 5), (2, 4, 7, 5)):
        feeds = {"x": randoms(3, *extents)}
        (actual,), (right,) = run_plan(lower(graph, backend="reference"), feeds), run_graph(graph, feeds)
        np.testing.assert_allclose(actual, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"auto_pad": "SAME_UPPER"}, "padding is not known before the model runs, or crops"),
        ({"pads": (3, 3, 3, 3)}, "padding is not known before the model runs, or crops"),
    ],
)
def test_what_stays_on_the_host(attributes: dict[str, Any], reason: str) -> None:
    nodes = [node("ConvTranspose", "x w", "y", **{"strides": (1, 1), **attributes})]
    lowered = lower(build({"x": ["n", 4, 9, "s"]}, nodes, "y", {"w": randoms(1, 4, 3, 2, 2)}), backend="native")
    assert [step.reason for step in lowered.host_steps] == [reason]


def test_a_weight_that_is_computed_stays_on_the_host() -> None:
    graph = build({"x": [1, 2, 3, 3], "w": [2, 2, 2, 2]}, [node("ConvTranspose", "x w", "y")], "y", {})
    (step,) = lower(graph, backend="native").host_steps
    assert step.reason == "the weight or the bias is no constant"
