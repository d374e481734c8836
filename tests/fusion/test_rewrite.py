"""Fused nodes as text that parses back, bodies in bodies, and order of work."""

from __future__ import annotations

import random

import pytest

from autofusion.ir import Graph
from autofusion.ir.parse import parse_graph
from autofusion.ir.text import dump_graph
from autofusion.ir.verify import verify_graph
from fusion.support import Net, run

IMAGE = ("batch", 4, 6, 6)


def network() -> Graph:
    net = Net()
    last = net.input("x", IMAGE)
    for place in range(4):
        name = f"b{place}"
        net.conv(last, f"{name}_c")
        net.norm(f"{name}_c", f"{name}_n")
        net.op("Add", f"{name}_n {last}", f"{name}_s")
        last = net.op("Relu", f"{name}_s", name)
    for name in ("p", "q"):
        net.conv(last, f"{name}_c")
        net.norm(f"{name}_c", f"{name}_n")
    net.op("Add", "q_n p_n", "sum")
    net.op("GlobalAveragePool", "sum", "pool", ("batch", 4, 1, 1))
    net.op("Flatten", "pool", "flat", ("batch", 4))
    net.const("w", (4, 3))
    net.const("b", (3,))
    net.op("Gemm", "flat w b", "y", ("batch", 3))
    return net.output("y")


def test_text_parses_back() -> None:
    graph = network()
    run(graph)
    text = dump_graph(graph)
    assert dump_graph(parse_graph(text, graph.constants)) == text
    assert "by conv_pool_fc" in text
    verify_graph(graph, "the test")


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_insertion_does_not_matter(seed: int) -> None:
    plain, shuffled = network(), network()
    expected = run(plain)
    nodes = list(network())
    random.Random(seed).shuffle(nodes)
    twin = Graph("main", shuffled.inputs, shuffled.outputs)
    twin.constants = shuffled.constants
    names = list(shuffled.values)
    random.Random(seed).shuffle(names)
    twin.values = {name: shuffled.values[name] for name in names}
    for node in nodes:
        twin.add(node)
    assert run(twin) == expected
    assert dump_graph(twin) == dump_graph(plain)


def test_fusing_twice_changes_nothing() -> None:
    graph = network()
    run(graph)
    text = dump_graph(graph)
    assert run(graph).fusions == ()
    assert dump_graph(graph) == text
