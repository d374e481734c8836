"""Branches that are certain to be taken, in the place of their If."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from autofusion.ir.verify import verify_graph
from autofusion.passes import run_passes
from autofusion.passes.branches import inline_branches
from frontend.models import assert_same, model, node, random, read, run_graph, run_runtime, tensor
from passes.passing import apply, ops, written

FEEDS = {"x": random(1, 2, 3)}
X = tensor("x", [2, 3])


def branch(
    name: str, nodes: list[onnx.NodeProto], outputs: str, weights: dict[str, np.ndarray] | None = None
) -> onnx.GraphProto:
    initializers = [numpy_helper.from_array(array, key) for key, array in (weights or {}).items()]
    return helper.make_graph(nodes, name, [], [tensor(output, None) for output in outputs.split()], initializers)


def choice(condition: str, results: str, then: onnx.GraphProto, other: onnx.GraphProto) -> onnx.NodeProto:
    return node("If", condition, results, "choice", then_branch=then, else_branch=other)


@pytest.mark.parametrize(("condition", "left"), [(True, "Exp Add Neg"), (False, "Neg")])
def test_the_branch_that_is_taken_stands_where_the_if_was(tmp_path: Path, condition: bool, left: str) -> None:
    then = branch("t", [node("Exp", "x", "e"), node("Add", "e k", "s")], "s", {"k": random(2, 3)})
    other = branch("e", [node("Identity", "x", "i")], "i")
    nodes = [choice("c", "v", then, other), node("Neg", "v", "y")]
    graph = apply(inline_branches, model(nodes, [X], [tensor("y", None)], {"c": np.array(condition)}), tmp_path, FEEDS)
    assert ops(graph) == left
    assert graph.value("y").shape == (2, 3)


@pytest.mark.parametrize("condition", [np.array([True]), np.array([[False]])])
def test_a_condition_of_one_element_will_do(tmp_path: Path, condition: np.ndarray) -> None:
    then, other = branch("t", [node("Exp", "x", "e")], "e"), branch("e", [node("Neg", "x", "i")], "i")
    proto = model([choice("c", "y", then, other)], [X], [tensor("y", None)], {"c": condition})
    graph = read(proto, tmp_path).graph
    assert inline_branches(graph) == 1
    assert ops(graph) == ("Exp" if condition.all() else "Neg")


def test_a_condition_that_is_not_constant_stays(tmp_path: Path) -> None:
    then, other = branch("t", [node("Exp", "x", "e")], "e"), branch("e", [node("Neg", "x", "i")], "i")
    proto = model([choice("c", "y", then, other)], [X, tensor("c", [], 9)], [tensor("y", None)])
    for condition in (True, False):
        assert ops(apply(inline_branches, proto, tmp_path, {**FEEDS, "c": np.array(condition)})) == "If"
    overridable = model(
        [choice("c", "y", then, other)], [X, tensor("c", [], 9)], [tensor("y", None)], {"c": np.array(True)}
    )
    assert ops(apply(inline_branches, overridable, tmp_path, FEEDS)) == "If"


def test_results_that_are_constants_captured_or_listed_twice(tmp_path: Path) -> None:
    """The results keep their names whatever they are: a constant of the branch, an outer value, one value twice."""
    then = branch("t", [node("Exp", "x", "e")], "e k e r", {"k": random(2, 3)})
    other = branch("e", [node("Neg", "x", "n")], "n n n n")
    nodes = [node("Relu", "x", "r"), choice("c", "a b d z", then, other)]
    proto = model(nodes, [X], [tensor(name, None) for name in "abdz"], {"c": np.array(True)})
    # The runtime refuses such branches.
    graph = read(proto, tmp_path).graph
    before = run_graph(graph, FEEDS)
    assert inline_branches(graph) == 1
    verify_graph(graph, "inlining")
    assert sorted(ops(graph).split()) == ["Exp", "Identity", "Identity", "Identity", "Relu"]
    assert_same(before, run_graph(graph, FEEDS))


def test_branches_with_the_same_names_do_not_meet(tmp_path: Path) -> None:
    def double(name: str, op: str) -> onnx.GraphProto:
        return branch(name, [node(op, "x", "t", "same"), node("Add", "t k", "u", "other")], "u", {"k": random(2, 3)})

    inner = node("If", "d", "v", "inner", then_branch=double("i", "Exp"), else_branch=double("j", "Sqrt"))
    outer = branch("o", [inner, node("Neg", "v", "w")], "w")
    nodes = [
        node("If", "c", "a", "first", then_branch=double("t", "Neg"), else_branch=double("e", "Abs")),
        node("If", "c", "b", "second", then_branch=outer, else_branch=double("f", "Abs")),
        node("Add", "a b", "y"),
    ]
    proto = model(nodes, [X, tensor("d", [], 9)], [tensor("y", None)], {"c": np.array(True)})
    for condition in (True, False):
        feeds = {"x": np.abs(FEEDS["x"]), "d": np.array(condition)}
        graph = apply(inline_branches, proto, tmp_path, feeds)
        assert sorted(ops(graph).split()) == ["Add", "Add", "If", "Neg", "Neg"]


def test_what_nested_graphs_of_the_branch_capture_follows(tmp_path: Path) -> None:
    deep = choice("d", "v", branch("t", [node("Add", "h k", "u")], "u"), branch("e", [node("Sub", "h k", "u2")], "u2"))
    then = branch("o", [node("Exp", "x", "h"), deep], "v", {"k": random(2, 3)})
    other = branch("p", [node("Neg", "x", "n")], "n")
    nodes = [node("If", "c", "y", "outer", then_branch=then, else_branch=other)]
    proto = model(nodes, [X, tensor("d", [], 9)], [tensor("y", None)], {"c": np.array(True)})
    for condition in (True, False):
        assert ops(apply(inline_branches, proto, tmp_path, {**FEEDS, "d": np.array(condition)})) == "Exp If"


def test_the_idiom_of_squeeze_is_resolved_by_all_passes(tmp_path: Path) -> None:
    then = branch("t", [node("Squeeze", "x ax", "s")], "s", {"ax": np.array([1])})
    other = branch("e", [node("Identity", "x", "i")], "i")
    nodes = [
        node("Shape", "x", "sh"),
        node("Gather", "sh one", "d"),
        node("Equal", "d one", "c"),
        choice("c", "v", then, other),
        node("Relu", "v", "y"),
    ]
    proto = model(nodes, [tensor("x", [2, 1, 3])], [tensor("y", None)], {"one": np.array(1)})
    graph = read(proto, tmp_path).graph
    run_passes(graph)
    verify_graph(graph, "the passes")
    assert written(graph)[-1] == "y = Relu(v)"
    assert ops(graph) == "Squeeze Relu"
    feeds = {"x": random(3, 2, 1, 3)}
    assert_same(run_runtime(proto, feeds), run_graph(graph, feeds))


def test_in_the_body_of_a_loop(tmp_path: Path) -> None:
    inner = choice("yes", "t", branch("t", [node("Add", "s x", "u")], "u"), branch("e", [node("Neg", "s", "m")], "m"))
    body = helper.make_graph(
        [node("Identity", "c", "c_out"), inner],
        "body",
        [tensor("i", [], 7), tensor("c", [], 9), tensor("s", [2, 3])],
        [tensor("c_out", [], 9), tensor("t", [2, 3])],
    )
    weights = {"trip": np.array(3), "cond": np.array(True), "yes": np.array(True), "z": np.zeros((2, 3), np.float32)}
    proto = model([node("Loop", "trip cond z", "y", "loop", body=body)], [X], [tensor("y", None)], weights)
    graph = apply(inline_branches, proto, tmp_path, FEEDS)
    (nested,) = (nested for _, nested in graph.node("loop").subgraphs())
    assert sorted(ops(nested).split()) == ["Add", "Identity"]
