from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from autofusion.ir import Graph
from autofusion.ir.verify import verify_graph
from autofusion.passes import Allowance, fold_constants, remove_dead, run_passes
from frontend.models import BOOL, INT64, assert_same, model, node, random, read, run_graph, run_runtime, tensor

X, Y = tensor("x", [2, 3]), tensor("y", None)
FEEDS = {"x": random(1, 2, 3)}


def fold(proto: onnx.ModelProto, folder: Path, budget: int = 4 << 20) -> Graph:
    """Read and fold; the values must stay those of the runtime."""
    graph = read(proto, folder).graph
    fold_constants(graph, Allowance.of(graph, budget))
    verify_graph(graph, "folding")
    return graph


def ops(graph: Graph) -> list[str]:
    return [item.op for item in graph]


def test_constant_expressions_are_computed(tmp_path: Path) -> None:
    nodes = [node("Sqrt", "k", "a"), node("Mul", "a two", "b"), node("Add", "x b", "y")]
    proto = model(nodes, [X], [Y], {"k": np.array(16, np.float32), "two": np.array(2, np.float32)})
    graph = fold(proto, tmp_path)
    assert (ops(graph), float(graph.constants["b"])) == (["Add"], 8)
    assert_same(run_runtime(proto, FEEDS), run_graph(graph, FEEDS))


def test_shapes_of_inputs_are_constants_as_far_as_they_are_numbers(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s one", "width"),
        node("Gather", "s zero", "batch"),
        node("Unsqueeze", "width zeros", "w1"),
        node("Unsqueeze", "batch zeros", "b1"),
        node("Concat", "minus w1", "flat", axis=0),
        node("Concat", "b1 w1", "whole", axis=0),
        node("Reshape", "x flat", "a"),
        node("Reshape", "x whole", "b"),
        node("Add", "a b", "y"),
    ]
    weights = {"one": np.array(1), "zero": np.array(0), "zeros": np.array([0]), "minus": np.array([-1])}
    proto = model(nodes, [tensor("x", ["n", 3])], [Y], weights)
    graph = fold(proto, tmp_path)
    remove_dead(graph)
    assert graph.constants["flat"].tolist() == [-1, 3]
    assert sorted(ops(graph)) == ["Add", "Concat", "Gather", "Reshape", "Reshape", "Shape", "Unsqueeze"]
    assert_same(run_runtime(proto, FEEDS), run_graph(graph, FEEDS))


def test_what_is_folded_settles_shapes_behind_it(tmp_path: Path) -> None:
    """The target of the Reshape is known only after folding, then the Shape behind it is, then the Expand."""
    nodes = [
        node("Mul", "p p", "q"),
        node("Reshape", "x q", "a"),
        node("Shape", "a", "s"),
        node("Expand", "k s", "e"),
        node("Add", "a e", "y"),
    ]
    weights = {"p": np.array([[1, 1]]), "k": np.array(2, np.float32)}
    proto = model([node("Squeeze", "p z", "p1"), *nodes], [tensor("x", [1])], [Y], {**weights, "z": np.array([0])})
    proto.graph.node[1].input[:] = ["p1", "p1"]
    graph = fold(proto, tmp_path)
    assert sorted(ops(graph)) == ["Add", "Reshape"]
    assert graph.value("a").shape == (1, 1)
    assert_same(run_runtime(proto, {"x": random(2, 1)}), run_graph(graph, {"x": random(2, 1)}))


@pytest.mark.parametrize(
    "bomb",
    [
        node("ConstantOfShape", "size", "z"),
        node("Expand", "one size", "z"),
        node("Tile", "one size", "z"),
    ],
    ids=lambda item: item.op_type,
)
def test_bombs_are_not_folded(tmp_path: Path, bomb: onnx.NodeProto) -> None:
    weights = {"size": np.array([1 << 12, 1 << 12]), "one": np.ones((1, 1), np.float32)}
    graph = fold(
        model(
            [bomb, node("Gather", "z i", "g"), node("Add", "g x", "y")],
            [tensor("x", [1])],
            [Y],
            {**weights, "i": np.array([0])},
        ),
        tmp_path,
    )
    assert len(graph) == 3
    assert sum(array.nbytes for array in graph.constants.values()) < 100


def test_the_budget_is_per_value(tmp_path: Path) -> None:
    proto = model(
        [node("Expand", "one size", "z"), node("Add", "z x", "y")],
        [tensor("x", [1])],
        [Y],
        {"size": np.array([10]), "one": np.ones(1, np.float32)},
    )
    assert ops(fold(proto, tmp_path, budget=39)) == ["Expand", "Add"]
    assert ops(fold(proto, tmp_path, budget=40)) == ["Add"]


def test_many_values_share_a_total(tmp_path: Path) -> None:
    nodes = [node("Expand", "one size", f"z{index}") for index in range(30)]
    nodes.append(node("Sum", " ".join(["x", *(f"z{index}" for index in range(30))]), "y"))
    proto = model(nodes, [tensor("x", [1])], [Y], {"size": np.array([100]), "one": np.ones(1, np.float32)})
    # Each result takes 400 bytes, its operands 12.
    assert ops(fold(proto, tmp_path, budget=400)).count("Expand") == 30 - 16 * 400 // 388


def test_what_was_as_large_before_is_folded(tmp_path: Path) -> None:
    weights = {"w": random(1, 30, 40), "shape": np.array([40, 30])}
    nodes = [
        node("Transpose", "w", "t", perm=[1, 0]),
        node("Reshape", "w shape", "r"),
        node("Add", "t r", "s"),
        node("Cast", "w", "d", to=TensorProto.DOUBLE),
    ]
    proto = model(nodes, [], [tensor("s", None), tensor("d", None, TensorProto.DOUBLE)], weights)
    graph = fold(proto, tmp_path, budget=100)
    assert ops(graph) == ["Cast"]
    assert_same(run_runtime(proto, {}), run_graph(graph, {}))
    assert all(array.flags.c_contiguous and not array.flags.writeable for array in graph.constants.values())


def test_a_view_of_a_weight_holds_no_second_copy(tmp_path: Path) -> None:
    weights = {"w": random(1, 30, 40), "shape": np.array([40, 30])}
    graph = read(
        model([node("Reshape", "w shape", "r"), node("Identity", "r", "y")], [], [tensor("y", None)], weights), tmp_path
    ).graph
    before = graph.constants["w"]
    fold_constants(graph)
    assert np.shares_memory(before, graph.constants["y"])


@pytest.mark.parametrize("twin", ["", "a"])
def test_doubling_comes_to_an_end(tmp_path: Path, twin: str) -> None:
    # Each result is as large as its operands together, or they are one.
    nodes = [node("Relu", "k0", "a0")]
    for index in range(24):
        nodes.append(node("Concat", f"k{index} {twin or 'k'}{index}", f"k{index + 1}", axis=0))
        nodes.append(node("Relu", f"k{index + 1}", f"a{index + 1}"))
    nodes.append(node("Add", "k24 x", "y"))
    proto = model(nodes, [tensor("x", [1])], [Y], {"k0": random(0, 64)})
    graph = read(proto, tmp_path).graph
    run_passes(graph, fold_budget_bytes=1 << 16)
    assert 1 << 16 <= sum(array.nbytes for array in graph.constants.values()) <= 20 << 16
    assert len(graph) > 10


def test_shared_constants_are_not_edited(tmp_path: Path) -> None:
    weights = {"w": random(1, 3), "k": np.array(2, np.float32)}
    nodes = [node("Mul", "w k", "a"), node("Add", "x w", "b"), node("Add", "a b", "y")]
    proto = model(nodes, [X], [Y], weights)
    graph = fold(proto, tmp_path)
    np.testing.assert_array_equal(weights["w"], graph.constants["w"])
    assert_same(run_runtime(proto, FEEDS), run_graph(graph, FEEDS))


@pytest.mark.parametrize(
    "kept",
    [
        node("RandomNormal", "", "z", shape=[3]),
        node("RandomUniformLike", "k", "z"),
        node("Bernoulli", "k", "z"),
        node("Dropout", "k ratio yes", "z"),
        node("QuantizeLinear", "k k", "z"),
        node("Normalizer", "row", "z", domain="ai.onnx.ml"),
    ],
    ids=lambda item: item.op_type,
)
def test_what_may_not_be_folded_stays(tmp_path: Path, kept: onnx.NodeProto) -> None:
    half = np.array(0.5, np.float32)
    weights = {"k": half, "ratio": half, "yes": np.array(True), "row": np.ones((1, 2), np.float32)}
    proto = model(
        [kept],
        [],
        [tensor("z", None, TensorProto.UINT8 if kept.op_type == "QuantizeLinear" else 1)],
        weights,
        domains={"ai.onnx.ml": 3},
    )
    assert len(fold(proto, tmp_path)) == 1


def test_overridable_defaults_are_not_constant(tmp_path: Path) -> None:
    proto = model([node("Mul", "w w", "a"), node("Add", "x a", "y")], [X, tensor("w", [3])], [Y], {"w": random(1, 3)})
    assert ops(fold(proto, tmp_path)) == ["Mul", "Add"]


def test_what_fails_stays(tmp_path: Path) -> None:
    weights = {"w": random(1, 3), "far": np.array([7]), "k": random(2, 1)}
    proto = model([node("ScatterElements", "w far k", "a"), node("Add", "x a", "y")], [X], [Y], weights)
    assert ops(fold(proto, tmp_path)) == ["ScatterElements", "Add"]


def test_results_whose_size_depends_on_elements(tmp_path: Path) -> None:
    weights = {"mask": np.array([0, 1, 1, 0]), "v": random(1, 4)}
    proto = model([node("NonZero", "mask", "y")], [], [tensor("y", None, INT64)], weights)
    graph = fold(proto, tmp_path)
    assert graph.constants["y"].tolist() == [[1, 2]]


def test_integers_fold_as_onnx_computes(tmp_path: Path) -> None:
    weights = {"a": np.array([-7, 7, -7, 7]), "b": np.array([2, -2, -2, 2])}
    nodes = [node("Div", "a b", "d"), node("Mod", "a b", "m"), node("Mod", "a b", "f", fmod=1)]
    graph = fold(model(nodes, [], [tensor(name, [4], INT64) for name in "dmf"], weights), tmp_path)
    assert {name: graph.constants[name].tolist() for name in "dmf"} == {
        "d": [-3, -3, 3, 3],
        "m": [1, -1, -1, 1],
        "f": [-1, 1, -1, 1],
    }


@pytest.mark.parametrize("condition", [True, False])
def test_nested_graphs_fold_what_they_and_the_outer_graph_know(tmp_path: Path, condition: bool) -> None:
    then = helper.make_graph(
        [node("Mul", "outer own", "p"), node("Add", "x p", "t")],
        "then",
        [],
        [tensor("t", None)],
        [numpy_helper.from_array(random(2, 3), "own")],
    )
    other = helper.make_graph(
        [node("Shape", "x", "s"), node("Cast", "s", "f", to=1), node("ReduceSum", "f", "r"), node("Add", "x r", "e")],
        "else",
        [],
        [tensor("e", None)],
    )
    proto = model(
        [node("If", "c", "y", "choice", then_branch=then, else_branch=other)],
        [X, tensor("c", [], BOOL)],
        [Y],
        {"outer": random(1, 3)},
    )
    graph = read(proto, tmp_path).graph
    before = graph.copy()
    assert fold_constants(graph) == 4
    verify_graph(graph, "folding")
    nested = dict(graph.node("choice").subgraphs())
    assert [ops(nested[key]) for key in ("then_branch", "else_branch")] == [["Add"], ["Add"]]
    assert "outer" not in nested["then_branch"].captures()
    assert len(dict(before.node("choice").subgraphs())["then_branch"]) == 2
    feeds = {**FEEDS, "c": np.array(condition)}
    assert_same(run_runtime(proto, feeds), run_graph(graph, feeds))
