from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from autofusion.ir import Graph
from autofusion.ir.verify import verify_graph
from autofusion.passes import remove_dead, remove_identities, run_passes
from frontend.models import BOOL, assert_same, model, node, random, read, run_graph, run_runtime, tensor

X = tensor("x", [2, 3])
FEEDS = {"x": random(1, 2, 3)}


def clean(proto: onnx.ModelProto, folder: Path, feeds: dict[str, np.ndarray] | None = None) -> Graph:
    """Read and clean; the values must stay those of the runtime."""
    graph = read(proto, folder).graph
    remove_identities(graph)
    verify_graph(graph, "cleaning")
    assert graph.outputs == tuple(value.name for value in proto.graph.output)
    assert_same(run_runtime(proto, feeds or FEEDS), run_graph(graph, feeds or FEEDS))
    return graph


def out(*names: str, dtype: int = 1) -> list[onnx.ValueInfoProto]:
    return [tensor(name, None, dtype) for name in names]


def written(graph: Graph) -> list[str]:
    return [f"{', '.join(item.outputs)} = {item.op}({', '.join(item.inputs)})" for item in graph]


@pytest.mark.parametrize(
    ("nodes", "outputs", "left"),
    [
        (["Identity x a", "Relu a y"], "y", ["y = Relu(x)"]),
        (["Relu x a", "Identity a b", "Identity b c", "Neg c y"], "y", ["a = Relu(x)", "y = Neg(a)"]),
        (["Relu x a", "Identity a y"], "y", ["y = Relu(x)"]),
        (["Relu x a", "Neg a b", "Identity a y"], "y b", ["y = Relu(x)", "b = Neg(y)"]),
        (["Identity x y"], "y", ["y = Identity(x)"]),
        (["Identity x a", "Identity a y"], "y", ["y = Identity(x)"]),
        (["Identity k y"], "y", ["y = Identity(k)"]),
        (["Relu x a", "Identity a y"], "y a", ["a = Relu(x)", "y = Identity(a)"]),
        (["Relu x a", "Identity a y", "Identity a z"], "y z", ["y = Relu(x)", "z = Identity(y)"]),
        (["Identity x a", "Add a a y"], "y", ["y = Add(x, x)"]),
        (["Dropout x a", "Relu a y"], "y", ["y = Relu(x)"]),
        (["Dropout x a ", "Dropout a y"], "y", ["y = Identity(x)"]),
        (["Relu x a", "Dropout a y"], "y", ["y = Relu(x)"]),
    ],
)
def test_readers_read_the_source_and_outputs_keep_their_names(
    tmp_path: Path, nodes: list[str], outputs: str, left: list[str]
) -> None:
    protos = []
    for text in nodes:
        op, *names = text.split()
        protos.append(node(op, " ".join(names[:-1]), names[-1]))
    assert written(clean(model(protos, [X], out(*outputs.split()), {"k": random(2, 3)}), tmp_path)) == left


@pytest.mark.parametrize(("shape", "count"), [([2, 3], 1), (["n", 3], 3)])
def test_the_mask_of_an_idle_dropout_is_all_true(tmp_path: Path, shape: list[int | str], count: int) -> None:
    proto = model(
        [node("Dropout", "x ratio", "d mask"), node("Relu", "d", "y")],
        [tensor("x", shape)],
        [*out("y"), *out("mask", dtype=BOOL)],
        {"ratio": np.array(0.5, np.float32)},
    )
    graph = clean(proto, tmp_path)
    assert len(graph) == count
    assert "Dropout" not in {item.op for item in graph}


def test_a_large_mask_is_no_constant(tmp_path: Path) -> None:
    proto = model([node("Dropout", "x", "d mask")], [tensor("x", [2000, 2000])], [*out("d"), *out("mask", dtype=BOOL)])
    graph = clean(proto, tmp_path, {"x": np.zeros((2000, 2000), np.float32)})
    assert [item.op for item in graph] == ["Identity", "Shape", "ConstantOfShape"]


@pytest.mark.parametrize(
    ("opset", "operands", "left"),
    [
        (7, "x", "Relu"),
        (10, "x", "Relu"),
        (13, "x", "Relu"),
        (13, "x ratio", "Relu"),
        (13, "x ratio no", "Relu"),
        (13, "x _ no", "Relu"),
        (13, "x ratio yes", "Dropout Relu"),
        (13, "x none yes", "Dropout Relu"),
        (13, "x ratio t", "Dropout Relu"),
    ],
)
def test_only_training_keeps_a_dropout(tmp_path: Path, opset: int, operands: str, left: str) -> None:
    weights = {
        "ratio": np.array(0.5, np.float32),
        "none": np.array(0, np.float32),
        "no": np.array(False),
        "yes": np.array(True),
    }
    proto = model(
        [node("Dropout", operands, "d"), node("Relu", "d", "y")],
        [X, tensor("t", [], BOOL)],
        out("y"),
        weights,
        opset=opset,
    )
    graph = read(proto, tmp_path).graph
    remove_identities(graph)
    assert " ".join(item.op for item in graph) == left


@pytest.mark.parametrize("condition", [True, False])
def test_captures_follow(tmp_path: Path, condition: bool) -> None:
    then = helper.make_graph([node("Identity", "i", "j"), node("Add", "j r", "t")], "then", [], out("t"))
    other = helper.make_graph([], "else", [], out("i"))
    nodes = [
        node("Identity", "x", "i"),
        node("Relu", "x", "a"),
        node("Identity", "a", "r"),
        node("Identity", "a", "z"),
        node("If", "c", "y", "choice", then_branch=then, else_branch=other),
    ]
    proto = model(nodes, [X, tensor("c", [], BOOL)], out("y", "z"))
    feeds = {**FEEDS, "c": np.array(condition)}
    graph = read(proto, tmp_path).graph
    before = graph.copy()
    remove_identities(graph)
    verify_graph(graph, "cleaning")
    nested = dict(graph.node("choice").subgraphs())
    assert (written(nested["then_branch"]), nested["else_branch"].outputs) == (["t = Add(x, z)"], ("x",))
    assert [item.op for item in graph] == ["Relu", "If"]
    for each in (before, graph):
        verify_graph(each, "cleaning")
        assert_same(
            {"y": FEEDS["x"] + np.maximum(FEEDS["x"], 0) if condition else FEEDS["x"], "z": np.maximum(FEEDS["x"], 0)},
            run_graph(each, feeds),
        )


def test_what_a_loop_body_passes_on_stays(tmp_path: Path) -> None:
    body = helper.make_graph(
        [
            node("Identity", "c", "c_out"),
            node("Add", "s x", "t"),
            node("Identity", "t", "s_out"),
            node("Identity", "i", "i_out"),
        ],
        "body",
        [tensor("i", [], 7), tensor("c", [], BOOL), tensor("s", [2, 3])],
        [tensor("c_out", [], BOOL), tensor("s_out", [2, 3]), tensor("i_out", [], 7)],
    )
    weights = {"trip": np.array(3), "cond": np.array(True), "z": np.zeros((2, 3), np.float32)}
    proto = model(
        [node("Loop", "trip cond z", "y its", "loop", body=body)], [X], [*out("y"), *out("its", dtype=7)], weights
    )
    graph = clean(proto, tmp_path)
    nested = dict(graph.node("loop").subgraphs())["body"]
    assert written(nested) == ["c_out = Identity(c)", "s_out = Add(s, x)", "i_out = Identity(i)"]


def test_two_removals_leave_no_dangling_name(tmp_path: Path) -> None:
    nodes = [
        node("Div", "one one", "k"),
        node("Identity", "x", "a"),
        node("Mul", "a k", "ya"),
        node("Dropout", "x", "c"),
        node("Mul", "c k", "cz"),
        node("Identity", "cz", "yc"),
        node("Identity", "k", "yk"),
    ]
    proto = model(nodes, [X], out("ya", "yc", "yk"), {"one": np.array(1, np.float32)})
    graph = read(proto, tmp_path).graph
    run_passes(graph)
    assert written(graph) == ["ya = Identity(x)", "yc = Identity(x)"]
    assert_same(run_runtime(proto, FEEDS), run_graph(graph, FEEDS))
    assert remove_dead(graph) == 0
