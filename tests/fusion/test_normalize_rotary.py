"""Rotary position embedding in its spellings: halves by Split, neighbours, the first part of a head."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import DType, Graph, Value
from fusion.normalizing import normalize, only, reason_of
from fusion.support import Net, run

SHAPE = (2, 3, 4, 8)


def cut(net: Net, source: str, name: str, bounds: tuple[int, int, int], width: int) -> None:
    start, end, step = bounds
    for part, number in (("start", start), ("end", end), ("axis", -1), ("step", step)):
        net.const(f"{name}_{part}", np.array([number]))
    net.op("Slice", f"{source} {name}_start {name}_end {name}_axis {name}_step", name, (*SHAPE[:3], width))


def by_split(sizes: tuple[int, int] = (4, 4), angles: int = 8) -> Graph:
    net = Net()
    net.input("x", SHAPE)
    net.input("cos", (4, angles))
    net.input("sin", (4, angles))
    net.const("sizes", np.array(sizes))
    shapes = [(*SHAPE[:3], size) for size in sizes]
    net.op("Split", "x sizes", "low high", shapes[0], {"axis": 3})
    net.graph.set_value(Value("high", DType.FLOAT, shapes[1]))
    net.op("Neg", "high", "minus", shapes[1])
    net.op("Concat", "minus low", "turned", SHAPE, {"axis": 3})
    net.op("Mul", "x cos", "straight", SHAPE)
    net.op("Mul", "turned sin", "crossed", SHAPE)
    return net.output(net.op("Add", "straight crossed", "y", SHAPE))


def by_neighbours(even: tuple[int, int, int] = (0, 8, 2), place: int = -1, order: str = "odd_up even_up") -> Graph:
    net = Net()
    net.input("x", SHAPE)
    net.input("cos", (4, 8))
    net.input("sin", (4, 8))
    half = (*SHAPE[:3], 4)
    cut(net, "x", "even", even, 4)
    cut(net, "x", "odd", (1, 2**63 - 1, 2), 4)
    net.const("place", np.array([place]))
    net.const("shape", np.array(SHAPE))
    up = (*half, 1) if place == -1 else (*half[:3], 1, 4)
    both = (*half, 2) if place == -1 else (*half[:3], 1, 8)
    net.op("Neg", "odd", "minus", half)
    net.op("Unsqueeze", "minus place", "odd_up", up)
    net.op("Unsqueeze", "even place", "even_up", up)
    net.op("Concat", order, "both", both, {"axis": 4})
    net.op("Reshape", "both shape", "turned", SHAPE)
    net.op("Mul", "x cos", "straight", SHAPE)
    net.op("Mul", "turned sin", "crossed", SHAPE)
    return net.output(net.op("Add", "straight crossed", "y", SHAPE))


def of_part(ends: tuple[int, int] = (4, 4)) -> Graph:
    net = Net()
    net.input("x", SHAPE)
    net.input("cos", (4, 4))
    net.input("sin", (4, 4))
    part, rest = (*SHAPE[:3], 4), (*SHAPE[:3], 8 - ends[1])
    cut(net, "x", "part", (0, ends[0], 1), 4)
    cut(net, "x", "rest", (ends[1], 8, 1), 8 - ends[1])
    cut(net, "part", "low", (0, 2, 1), 2)
    cut(net, "part", "high", (-2, 8, 1), 2)
    net.op("Neg", "high", "minus", (*SHAPE[:3], 2))
    net.op("Concat", "minus low", "turned", part, {"axis": 3})
    net.op("Mul", "part cos", "straight", part)
    net.op("Mul", "turned sin", "crossed", part)
    net.op("Add", "straight crossed", "rotated", part)
    return net.output(net.op("Concat", "rotated rest", "y", (*SHAPE[:3], 4 + rest[3]), {"axis": 3}))


@pytest.mark.parametrize(
    ("graph", "interleaved", "width"),
    [(by_split(), 0, 8), (by_neighbours(), 1, 8), (of_part(), 0, 4)],
    ids=["split", "neighbours", "part"],
)
def test_spellings(graph: Graph, interleaved: int, width: int) -> None:
    node = only(graph)
    assert (node.op, node.display, node.inputs) == ("Rotary", "RotaryEmbedding", ("x", "cos", "sin"))
    assert node.attributes == {"interleaved": interleaved, "width": width}


@pytest.mark.parametrize(
    ("graph", "pattern", "reason"),
    [
        (by_split(sizes=(3, 5)), "rotary", "AXIS([3, 5], halves)"),
        (by_neighbours(even=(0, 4, 1)), "rotary_pairs", "AXIS((0, 4, 1), (0, 8, 2))"),
        (by_neighbours(place=3), "rotary_pairs", "AXIS([2, 3, 4, 1, 4], [2, 3, 4, 4, 1])"),
    ],
)
def test_near_misses(graph: Graph, pattern: str, reason: str) -> None:
    assert reason_of(run(graph), pattern) == reason


def test_pairs_in_the_other_order_are_another_turn() -> None:
    nodes = normalize(by_neighbours(order="even_up odd_up"))
    assert [node.op for node in nodes if node.op == "Rotary"] == []


def test_a_rest_that_is_not_all_of_it_stays() -> None:
    graph = of_part(ends=(4, 5))
    run(graph)
    assert sorted(node.op for node in graph) == ["Concat", "Rotary", "Slice", "Slice"]


def test_a_part_that_is_read_elsewhere_stays() -> None:
    graph = of_part()
    graph.outputs = ("y", "part")
    run(graph)
    assert "Concat" in [node.op for node in graph]
