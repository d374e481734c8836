"""Normalizations as kernel calls: axes, scales that broadcast, statistics that are read."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Graph
from autofusion.lowering import lower
from lowering.graphs import build, check_plan, kernels_of, node, randoms, run_graph, run_plan


@pytest.mark.parametrize("axis", [-1, 1, -3])
def test_axes_of_a_layer_norm(axis: int):
    block = (2, 3, 5)[axis:]
    nodes = [node("LayerNormalization", "x g h", "y", axis=axis, epsilon=0.01)]
    graph = build({"x": [2, 3, 5]}, nodes, "y", {"g": randoms(1, *block), "h": randoms(2, *block)})
    (step,) = check_plan(graph, "", ["norm"]).plan.steps
    assert step.attributes == {"kind": "layer", "epsilon": 0.01, "axes": len(block)}
    assert step.inputs == ("x", "g", "h", "")


def test_default_of_epsilon_and_an_extent_that_is_open():
    graph = build({"x": ["rows", 5]}, [node("RMSNormalization", "x g", "y")], "y", {"g": randoms(1, 5)})
    x = randoms(2, 7, 5)
    expected = run_graph(graph, {"x": x})
    lowered = lower(graph, backend="reference")
    assert lowered.plan.steps[0].attributes == {"kind": "rms", "epsilon": 1e-5, "axes": 1}
    np.testing.assert_allclose(run_plan(lowered, {"x": x})[0], expected[0], atol=1e-6)


@pytest.mark.parametrize("shape", [(1,), (), (1, 5), (1, 1)])
def test_a_scale_that_broadcasts_is_written_out(shape: tuple[int, ...]):
    nodes = [node("LayerNormalization", "x g", "y", axis=-1)]
    graph = build({"x": [3, 5]}, nodes, "y", {"g": randoms(1, *shape)})
    lowered = check_plan(graph, "", ["norm"])
    assert lowered.plan.buffers[lowered.plan.steps[0].inputs[1]].shape == (5,)


@pytest.mark.parametrize(
    ("shape", "outputs", "reason"),
    [
        ((3, 1), "y", "scale or shift have not the extents of the normalized axes"),
        ((5,), "y mean", "the mean or the deviation is read"),
    ],
)
def test_norms_on_the_host(shape: tuple[int, ...], outputs: str, reason: str):
    nodes = [node("LayerNormalization", "x g", "y mean", axis=-1)]
    graph = build({"x": [3, 5]}, nodes, outputs, {"g": randoms(1, *shape)})
    (host,) = lower(graph, backend="reference").host_steps
    assert host.reason == reason


def test_statistics_that_nobody_reads():
    graph = build({"x": [3, 5]}, [node("LayerNormalization", "x g", "y mean std", axis=-1)], "y", {"g": randoms(1, 5)})
    check_plan(graph, "", ["norm"])


def channel_norm(op: str, **attributes: object) -> Graph:
    nodes = [node(op, "x g h", "y", **attributes)]
    return build({"x": [2, 6, 3, 4]}, nodes, "y", {"g": randoms(1, 6), "h": randoms(2, 6)})


@pytest.mark.parametrize(
    ("op", "attributes", "groups"),
    [("GroupNormalization", {"num_groups": 3}, 3), ("InstanceNormalization", {"epsilon": 0.1}, 6)],
)
def test_norms_of_channels(op: str, attributes: dict[str, object], groups: int):
    (step,) = check_plan(channel_norm(op, **attributes), "", ["group_norm"]).plan.steps
    assert step.attributes["groups"] == groups


def test_a_norm_of_channels_keeps_the_layout_of_its_operand():
    nodes = [node("Conv", "x w", "c"), node("GroupNormalization", "c g h", "n", num_groups=2), node("Conv", "n w", "y")]
    graph = build(
        {"x": [2, 6, 3, 4]}, nodes, "y", {"w": randoms(3, 6, 6, 1, 1), "g": randoms(1, 6), "h": randoms(2, 6)}
    )
    lowered = lower(graph, backend="native")
    assert kernels_of(lowered) == ["relayout", "conv", "group_norm", "conv", "relayout"]
