from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import helper, numpy_helper

from autofusion.ir.verify import verify_graph
from autofusion.passes import remove_dead
from frontend.models import BOOL, assert_same, model, node, random, read, run_graph, run_runtime, tensor

X = tensor("x", [2, 3])
FEEDS = {"x": random(1, 2, 3)}


def test_unread_nodes_and_constants_go_and_inputs_stay(tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "y"), node("Add", "x k", "a"), node("Neg", "a", "b"), node("TopK", "x n", "v i")]
    weights = {"k": random(2, 3), "n": np.array([1]), "unread": random(3, 4)}
    graph = read(
        model(nodes, [X, tensor("other", [1])], [tensor("y", [2, 3]), tensor("v", None)], weights), tmp_path
    ).graph
    assert remove_dead(graph) == 4
    verify_graph(graph, "cleaning")
    assert (sorted(item.op for item in graph), list(graph.constants)) == (["Relu", "TopK"], ["n"])
    assert graph.inputs == ("x", "other")
    assert remove_dead(graph) == 0


def test_constants_that_are_outputs_stay(tmp_path: Path) -> None:
    graph = read(model([], [X], [X, tensor("k", [3])], {"k": random(2, 3)}), tmp_path).graph
    assert (remove_dead(graph), list(graph.constants)) == (0, ["k"])


def test_nested_graphs_are_cleaned_and_their_readings_count(tmp_path: Path) -> None:
    then = helper.make_graph(
        [node("Add", "hidden k", "t"), node("Mul", "spare k", "unread")],
        "then",
        [],
        [tensor("t", None)],
        [numpy_helper.from_array(random(3, 2), "own")],
    )
    other = helper.make_graph([node("Neg", "hidden", "e")], "else", [], [tensor("e", None)])
    nodes = [
        node("Relu", "x", "hidden"),
        node("Exp", "x", "spare"),
        node("Log", "x", "gone"),
        node("If", "c", "y", "choice", then_branch=then, else_branch=other),
    ]
    proto = model(nodes, [X, tensor("c", [], BOOL)], [tensor("y", None)], {"k": random(2, 3)})
    graph = read(proto, tmp_path).graph
    # Nothing but the dead Mul reads `spare`, so the Exp goes after it.
    assert remove_dead(graph) == 4
    verify_graph(graph, "cleaning")
    nested = dict(graph.node("choice").subgraphs())["then_branch"]
    assert ([item.op for item in nested], nested.constants) == (["Add"], {})
    assert sorted(item.op for item in graph) == ["If", "Relu"]
    assert list(graph.constants) == ["k"]
    feeds = {**FEEDS, "c": np.array(True)}
    assert_same(run_runtime(proto, feeds), run_graph(graph, feeds))
