"""The graph's verbs: order, readers, nested readers, replacement."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import CAPTURED, DType, Graph, Node, Value


def diamond() -> Graph:
    graph = Graph("g", ["x"], ["z"])
    graph.add(Node("add", "Add", ("a", "b"), ("z",)))
    graph.add(Node("right", "Neg", ("x",), ("b",)))
    graph.add(Node("left", "Relu", ("x",), ("a",)))
    return graph


def test_order_depends_on_structure_not_on_insertion() -> None:
    assert [node.name for node in diamond()] == ["left", "right", "add"]


def test_unneeded_nodes_come_last_by_name() -> None:
    graph = diamond()
    graph.add(Node("unused_b", "Neg", ("x",), ("d",)))
    graph.add(Node("unused_a", "Neg", ("x",), ("c",)))
    assert [node.name for node in graph][3:] == ["unused_a", "unused_b"]


def test_cycle_is_named() -> None:
    graph = Graph("g", [], ["a"])
    graph.add(Node("n", "Add", ("b", "b"), ("a",)))
    graph.add(Node("m", "Neg", ("a",), ("b",)))
    with pytest.raises(ValueError, match="depends on itself"):
        graph.topological()


def test_deep_chain_needs_no_recursion() -> None:
    graph = Graph("g", ["v0"], ["v5000"])
    for index in range(5000):
        graph.add(Node(f"n{index}", "Relu", (f"v{index}",), (f"v{index + 1}",)))
    assert graph.topological()[-1].name == "n4999"


def test_value_read_twice_counts_twice() -> None:
    graph = Graph("g", ["x"], ["y"])
    graph.add(Node("square", "Mul", ("x", "x"), ("y",)))
    assert [use.index for use in graph.consumers("x")] == [0, 1]


def test_nested_graph_reads_outer_value() -> None:
    inner = Graph("then", [], ["r"])
    inner.add(Node("neg", "Neg", ("x",), ("r",)))
    graph = Graph("g", ["x", "c"], ["y"])
    graph.add(Node("if", "If", ("c",), ("y",), {"then_branch": inner, "else_branch": Graph("else", [], ["x"])}))
    assert [use.index for use in graph.consumers("x")] == [CAPTURED]


def test_replace_moves_readers() -> None:
    graph = diamond()
    graph.replace(["left", "add"], [Node("fused", "F", ("x", "b"), ("z",))])
    assert [node.name for node in graph] == ["right", "fused"]
    assert graph.producer("a") is None
    assert [use.node.name for use in graph.consumers("b")] == ["fused"]


def test_names_are_defined_once() -> None:
    graph = diamond()
    with pytest.raises(ValueError, match="'add' exists already"):
        graph.add(Node("add", "Neg", ("x",), ("q",)))
    with pytest.raises(ValueError, match="'a' of node 'again' is defined already"):
        graph.add(Node("again", "Neg", ("x",), ("a",)))
    with pytest.raises(ValueError, match="'x' is defined already"):
        graph.add_constant("x", np.zeros(1, np.float32))


def test_fresh_names_avoid_nodes_and_values() -> None:
    graph = diamond()
    assert graph.fresh("left") == "left_1"
    assert graph.fresh("a") == "a_1"
    assert graph.fresh("new") == "new"


def test_copy_is_independent() -> None:
    graph = diamond()
    twin = graph.copy()
    twin.remove("add")
    twin.set_value(Value("a", DType.FLOAT, (1,)))
    assert len(graph) == 3
    assert graph.value("a").dtype is None


def test_unused_constants_are_discarded() -> None:
    graph = diamond()
    graph.add_constant("w", np.zeros(3, np.float32))
    graph.discard_unused()
    assert graph.constant("w") is None
