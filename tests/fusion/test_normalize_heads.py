"""Rotary embedding and repeated heads: what attention of grouped queries is made of."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Graph
from fusion.normalizing import normalize, only, reason_of
from fusion.support import Net, run


def rotary(cut: tuple[int, int] = (4, 4), step: int = 1, axis: int = 3, order: str = "minus low") -> Graph:
    net = Net()
    shape = (2, 3, 8, 8)
    half = tuple(extent // 2 if place == axis else extent for place, extent in enumerate(shape))
    net.input("x", shape)
    net.input("cos", (8, 8))
    net.input("sin", (8, 8))
    numbers = {"zero": 0, "low_end": cut[0], "high_start": cut[1], "end": 2**63 - 1, "axis": axis, "step": step}
    for name, number in numbers.items():
        net.const(name, np.array([number]))
    net.op("Slice", "x zero low_end axis step", "low", half)
    net.op("Slice", "x high_start end axis step", "high", half)
    net.op("Neg", "high", "minus")
    net.op("Concat", order, "turned", shape, {"axis": axis})
    net.op("Mul", "x cos", "straight")
    net.op("Mul", "turned sin", "crossed", shape)
    return net.output(net.op("Add", "straight crossed", "y"))


def test_rotary() -> None:
    node = only(rotary())
    assert (node.op, node.display, node.inputs) == ("Rotary", "RotaryEmbedding", ("x", "cos", "sin"))
    assert node.attributes == {"interleaved": 0, "width": 8}
    assert node.body is not None


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (rotary(cut=(4, 3)), "AXIS((3, 8), (4, 8))"),
        (rotary(step=2), "AXIS((0, 4, 2), (0, 4, 1))"),
    ],
)
def test_other_cuts_are_no_rotary(graph: Graph, reason: str) -> None:
    result = run(graph)
    assert len(graph) == 7
    assert reason_of(result, "rotary") == reason


@pytest.mark.parametrize("graph", [rotary(axis=2), rotary(order="low minus")])
def test_other_turns_are_no_rotary(graph: Graph) -> None:
    run(graph)
    assert len(graph) == 7


def repeated(axis: int = 2, copies: int = 2, heads: int = 3, shape: tuple[int | str, ...] | None = None) -> Graph:
    net = Net()
    batch, rows, width = 2, 4, 5
    net.input("x", (batch, heads, rows, width))
    net.const("axis", np.array([axis]))
    at = (batch, heads, rows, width)
    spread = (*at[:axis], 1, *at[axis:])
    wide = (*at[:axis], copies, *at[axis:])
    net.const("extents", np.array(wide))
    target = (batch, heads * copies, rows, width) if shape is None else shape
    net.const("target", np.array(target))
    net.op("Unsqueeze", "x axis", "u", spread)
    net.op("Expand", "u extents", "w", wide)
    return net.output(net.op("Reshape", "w target", "y", target))


@pytest.mark.parametrize("shape", [None, (12, 4, 5)])
def test_repeated_heads(shape: tuple[int, ...] | None) -> None:
    node = only(repeated(shape=shape))
    assert (node.op, node.attributes, node.inputs) == ("RepeatKV", {"copies": 2}, ("x", "extents", "target"))


@pytest.mark.parametrize("heads", [2, 3])
def test_heads_repeated_in_turn_stay(heads: int) -> None:
    graph = repeated(axis=1, copies=2, heads=heads)
    assert [node.op for node in normalize(graph)] == ["Unsqueeze", "Expand", "Reshape"]
    assert reason_of(run(repeated(axis=1, heads=heads)), "repeat_kv") == "CONSTANT_VALUE(1, 2)"


def test_another_reading_of_the_copies_stays() -> None:
    graph = repeated(shape=(2, 3, 8, 5))
    reason = "KERNEL_LIMIT(heads, [2, 3, 2, 4, 5], [2, 3, 4, 5])"
    assert reason_of(run(graph), "repeat_kv") == reason
