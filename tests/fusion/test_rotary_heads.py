"""Rotary position embedding as one step: the normal form, the operator, and the views that go into it."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import Graph
from autofusion.plan import Step
from fusion.attention_graphs import Spelling, check, steps
from fusion.support import run

DIMS = {"b": 2, "s": 5}


def halves(net: Spelling, x: str, cos: str, sin: str, size: int) -> str:
    """x * cos + concat(-high, low) * sin."""
    places = [net.const(value) for value in ([0], [size // 2], [size], [3], [1])]
    low = net.op("Slice", x, places[0], places[1], places[3], places[4])
    high = net.op("Slice", x, places[1], places[2], places[3], places[4])
    turned = net.op("Concat", net.op("Neg", high), low, axis=3)
    return net.op("Add", net.op("Mul", x, cos), net.op("Mul", turned, sin))


def only_step(graph: Graph) -> Step:
    (step,) = check(graph, DIMS).plan.steps
    assert step.kernel == "rotary"
    return step


def test_heads_are_read_where_the_product_left_them() -> None:
    net = Spelling()
    x = net.split_heads(net.input("x", "b", "s", 24), 3, 8)
    graph = net.graph(halves(net, x, net.input("cos", 1, 1, "s", 8), net.input("sin", 1, 1, "s", 8), 8))
    step = only_step(graph)
    assert [node.display for node in graph] == ["RotaryEmbedding"]
    assert step.inputs == ("x", "cos", "sin")
    assert step.attributes["extents"] == ["b", 3, "s", 8]
    assert step.attributes["x_view"] == [0, "24*s", 8, 24, 1]
    assert step.attributes["y_view"] == [0, "24*s", "8*s", 8, 1]


def test_part_of_packed_rows() -> None:
    net = Spelling()
    net.op("Split", net.input("x", "b", "s", 72), net.const([24, 24, 24]), result="q k v", axis=2)
    y = halves(net, net.split_heads("k", 3, 8), net.input("cos", "s", 8), net.input("sin", "s", 8), 8)
    assert only_step(net.graph(y)).attributes["x_view"] == [24, "72*s", 8, 72, 1]


def test_views_that_are_read_elsewhere_stay() -> None:
    net = Spelling()
    x = net.split_heads(net.input("x", 2, 5, 24), 3, 8)
    y = halves(net, x, net.input("cos", 5, 8), net.input("sin", 5, 8), 8)
    graph = net.graph(y, net.op("Neg", x, result="other"))
    check(graph)
    assert sorted(node.op for node in graph) == ["Neg", "Reshape", "Rotary", "Transpose"]


def test_a_view_that_is_a_table_too_stays() -> None:
    net = Spelling()
    x = net.op("Transpose", net.input("x", 1, 5, 1, 8), perm=(0, 2, 1, 3))
    check(net.graph(halves(net, x, x, net.input("sin", 5, 8), 8)))


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("width", [0, 4])
def test_operator_on_heads(interleaved: int, width: int) -> None:
    net = Spelling()
    half = (width or 8) // 2
    tables = [net.input(name, 2, 5, half) for name in ("cos", "sin")]
    x = net.input("x", 2, 3, 5, 8)
    y = net.op("RotaryEmbedding", x, *tables, interleaved=interleaved, rotary_embedding_dim=width)
    step = only_step(net.graph(y))
    assert (step.attributes["width"], step.attributes["interleaved"]) == (width or 8, bool(interleaved))


def test_operator_on_rows() -> None:
    net = Spelling()
    tables = [net.input(name, 2, 5, 4) for name in ("cos", "sin")]
    step = only_step(net.graph(net.op("RotaryEmbedding", net.input("x", 2, 5, 24), *tables, num_heads=3)))
    assert step.attributes["x_view"] == step.attributes["y_view"] == [0, 120, 8, 24, 1]


def test_positions_are_looked_up_first() -> None:
    net = Spelling()
    tables = [net.input(name, 7, 4) for name in ("cos", "sin")]
    positions = net.const(np.array([[0, 1, 2, 3, 4], [2, 3, 4, 5, 6]]))
    graph = net.graph(net.op("RotaryEmbedding", net.input("x", 2, 3, 5, 8), *tables, positions))
    assert steps(check(graph)) == ["gather", "gather", "rotary"]


def test_angles_that_no_pair_has_are_computed_as_written() -> None:
    """One angle for all pairs of a row: the kernel has one a pair."""
    net = Spelling()
    y = halves(net, net.input("x", 2, 3, 5, 8), net.input("cos", 5, 1), net.input("sin", 5, 1), 8)
    graph = net.graph(y)
    assert "rotary" not in steps(check(graph))


def test_grouped_attention_reads_what_rotation_wrote() -> None:
    """Llama: nothing is left between the products but two rotations and the attention."""
    net = Spelling()
    cos, sin = net.input("cos", 1, 1, 5, 8), net.input("sin", 1, 1, 5, 8)
    q, k, v = (
        net.split_heads(net.input(name, 2, 5, heads * 8), heads, 8) for name, heads in (("q", 4), ("k", 2), ("v", 2))
    )
    q, k = halves(net, q, cos, sin, 8), halves(net, k, cos, sin, 8)
    repeated: list[str] = []
    for value in (k, v):
        wide = net.op("Expand", net.op("Unsqueeze", value, net.const([2])), net.const([2, 2, 2, 5, 8]))
        repeated.append(net.op("Reshape", wide, net.const([2, 4, 5, 8])))
    y = net.core(q, net.op("Transpose", repeated[0], perm=(0, 1, 3, 2)), repeated[1])
    graph = net.graph(net.merge_heads(y, 32))
    assert steps(check(graph)) == ["rotary", "rotary", "attention"]
    run(graph)
    assert len(graph) == 3
