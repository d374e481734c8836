"""Cutting of models at chosen values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from autofusion.errors import UsageError
from autofusion.frontend import cut_outputs, read_model
from frontend.models import assert_same, node, parse, run_graph, run_runtime, save, tensor

TEXT = """g (float[2, 3] x, float[2, 3] k) => (float[2, 3] y)
{
    [first] a = Relu (x)
    [second] b, c = Split <axis = 0> (a)
    [third] y = Add (a, k)
}"""


def proto() -> onnx.ModelProto:
    return parse(TEXT)


@pytest.mark.parametrize(
    ("wanted", "outputs", "nodes"),
    [
        (["a"], ("a",), ["first"]),
        (["first:0"], ("a",), ["first"]),
        (["second:1", "a"], ("c", "a"), ["first", "second"]),
        (["y"], ("y",), ["first", "third"]),
        (["a", "first:0"], ("a",), ["first"]),
    ],
)
def test_keeps_what_the_outputs_need(
    wanted: list[str], outputs: tuple[str, ...], nodes: list[str], tmp_path: Path
) -> None:
    model = read_model(save(proto(), tmp_path), outputs=wanted)
    assert model.graph.outputs == outputs
    assert sorted(item.name for item in model.graph) == nodes
    assert model.operator_count == len(nodes)
    assert model.graph.inputs == ("x", "k")


def test_a_cut_model_computes_the_same(tmp_path: Path) -> None:
    model = read_model(save(proto(), tmp_path), outputs=["second:0", "a"])
    cut = proto()
    cut_outputs(cut.graph, ["second:0", "a"])
    feeds = {"x": np.arange(-3, 3, dtype=np.float32).reshape(2, 3), "k": np.ones((2, 3), np.float32)}
    assert_same(run_runtime(cut, feeds), run_graph(model.graph, feeds))


def test_what_nested_graphs_read_is_needed(tmp_path: Path) -> None:
    body = onnx.helper.make_graph([node("Relu", "far", "r")], "then", [], [tensor("r", [2])])
    other = onnx.helper.make_graph([node("Neg", "x", "s")], "else", [], [tensor("s", [2])])
    nodes = [
        node("Abs", "x", "far", "abs"),
        node("Exp", "x", "e", "exp"),
        node("If", "c", "z", "choice", then_branch=body, else_branch=other),
        node("Add", "z e", "y", "sum"),
    ]
    inputs = [tensor("x", [2]), tensor("c", [], onnx.TensorProto.BOOL)]
    graph = onnx.helper.make_graph(nodes, "g", inputs, [tensor("y", [2])])
    cut_outputs(graph, ["z"])
    assert [item.name for item in graph.node] == ["abs", "choice"]


def test_spells_outputs_in_every_way(tmp_path: Path) -> None:
    assert read_model(save(proto(), tmp_path)).output_names == {"y": "y", "third:0": "y"}


@pytest.mark.parametrize(
    ("wanted", "message", "remedy"),
    [
        ("thirt:0", "no node of the model computes 'thirt:0'", "did you mean 'third:0', 'first:0'?"),
        ("first:1", "node 'first' has no output 'first:1'", "it computes 'first:0'"),
        ("second", "node 'second' has no output 'second'", "it computes 'second:0', 'second:1'"),
        ("x", "no node of the model computes 'x'", "name a value of the model, or node:index"),
    ],
)
def test_says_what_is_not_there(wanted: str, message: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        cut_outputs(proto().graph, [wanted])
    found = caught.value.diagnostic
    assert (found.code, found.message, found.help) == ("AF133", message, remedy)


def test_a_name_of_several_nodes_is_none() -> None:
    graph = onnx.helper.make_graph(
        [node("Relu", "x", "a", "n"), node("Neg", "a", "y", "n")], "g", [tensor("x", [2])], [tensor("y", [2])]
    )
    with pytest.raises(UsageError) as caught:
        cut_outputs(graph, ["n:0"])
    assert caught.value.diagnostic.message == "2 nodes of the model are called 'n'"
    assert caught.value.diagnostic.help == "name one of their results: 'a', 'y'"
