from __future__ import annotations

import pytest

from autofusion.ir import CAPTURED, Graph, Node
from autofusion.passes import redirect, rename_result


def nested(*reads: str, outputs: tuple[str, ...] = ("t",), defines: str = "t") -> Graph:
    graph = Graph("nested", (), outputs)
    graph.add(Node("inner", "Sum", reads, (defines,)))
    return graph


def holder(name: str, *graphs: Graph) -> Node:
    return Node(name, "If", ("c",), (f"{name}_out",), {f"branch{index}": graph for index, graph in enumerate(graphs)})


def chain() -> Graph:
    graph = Graph("main", ("x", "c"), ("y", "deep_out"))
    graph.add(Node("relu", "Relu", ("x",), ("a",)))
    graph.add(Node("add", "Add", ("a", "a"), ("y",)))
    middle = Graph("middle", (), ("m_out", "a"))
    middle.add(holder("m", nested("a", "c")))
    graph.add(holder("deep", middle, nested("x")))
    return graph


def test_operands_captures_and_passed_values_are_redirected() -> None:
    graph = chain()
    before = graph.copy()
    assert redirect(graph, "a", "x") == 2
    assert graph.consumers("a") == ()
    assert graph.node("add").inputs == ("x", "x")
    assert [(use.node.name, use.index) for use in graph.consumers("x")] == [
        ("add", 0),
        ("add", 1),
        ("deep", CAPTURED),
        ("relu", 0),
    ]
    middle = dict(graph.node("deep").subgraphs())["branch0"]
    assert middle.outputs == ("m_out", "x")
    assert dict(middle.node("m").subgraphs())["branch0"].node("inner").inputs == ("x", "c")
    # The copy shares nodes with the graph, so its nested graphs must not have changed.
    old = dict(before.node("deep").subgraphs())["branch0"]
    assert (old.outputs, before.node("add").inputs) == (("m_out", "a"), ("a", "a"))
    assert dict(old.node("m").subgraphs())["branch0"].node("inner").inputs == ("a", "c")


def test_graph_outputs_keep_their_names() -> None:
    graph = chain()
    redirect(graph, "y", "a")
    assert graph.outputs == ("y", "deep_out")


def test_a_nested_graph_that_has_the_value_itself_is_left_alone() -> None:
    graph = Graph("main", ("x", "a", "c"), ("if_out",))
    graph.add(holder("if", nested("x", defines="a", outputs=("a",))))
    assert redirect(graph, "a", "x") == 0


def test_a_nested_graph_may_not_hide_the_new_name() -> None:
    graph = Graph("main", ("x", "a", "c"), ("if_out",))
    graph.add(holder("if", nested("a")))
    with pytest.raises(ValueError, match="defines 't' itself"):
        redirect(graph, "a", "t")


def test_results_are_renamed_with_their_readers() -> None:
    graph = chain()
    rename_result(graph, "a", "b")
    assert (graph.node("relu").outputs, graph.node("add").inputs) == (("b",), ("b", "b"))
    assert dict(graph.node("deep").subgraphs())["branch0"].outputs == ("m_out", "b")
    assert graph.value("b").name == "b"


@pytest.mark.parametrize("value", ["x", "y", "none"])
def test_only_inner_results_can_be_renamed(value: str) -> None:
    with pytest.raises(ValueError, match="may be renamed"):
        rename_result(chain(), value, "b")
