"""Passes and nodes with bodies: renamed operands and results, what becomes known, constants inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from autofusion.frontend import read_model
from autofusion.ir import Graph
from autofusion.ir.verify import verify_graph
from autofusion.passes import run_passes
from autofusion.patternlang import load_operators
from frontend.declared import declare, row_scale, small_model, whirl
from frontend.models import model, node, random, run_runtime, save, tensor


def clean(proto: onnx.ModelProto, folder: Path) -> Graph:
    graph = read_model(save(proto, folder), operators=load_operators([declare(folder)])).graph
    run_passes(graph)
    verify_graph(graph, "the passes")
    return graph


def body_of(graph: Graph, name: str) -> Graph:
    body = graph.node(name).body
    assert body is not None
    return body


def test_constants_inside_are_folded(tmp_path: Path) -> None:
    graph = clean(small_model(onnx.TensorProto.FLOAT16), tmp_path)
    body = body_of(graph, "whirl")
    assert [inner.op for inner in body] == ["Greater", "Add", "Tanh", "Mul", "Div", "Where"]
    scalars = {float(array) for array in body.constants.values() if array.dtype == np.float16}
    assert scalars == {0.0, 0.5, 2.0}


def test_a_result_takes_the_name_of_an_output(tmp_path: Path) -> None:
    graph = clean(small_model(), tmp_path)
    assert graph.node("scale").outputs == ("y", "root")
    assert body_of(graph, "scale").outputs == ("y", "root")


def test_operands_are_renamed_inside(tmp_path: Path) -> None:
    nodes = [
        node("Identity", "x", "i", "one"),
        node("Identity", "x", "j", "two"),
        node("Whirl", "i j", "a", "whirl", "com.acme"),
        node("Relu", "a", "y", "relu"),
    ]
    graph = clean(model(nodes, [tensor("x", [2, 3])], [tensor("y", None)], domains={"com.acme": 1}), tmp_path)
    assert graph.node("whirl").inputs == ("x", "x")
    assert body_of(graph, "whirl").inputs == ("x",)
    assert {name for inner in body_of(graph, "whirl") for name in inner.inputs} >= {"x"}


def test_what_becomes_known_reaches_the_results(tmp_path: Path) -> None:
    """The shape of a Reshape by constants that only folding reveals."""
    nodes = [
        node("Shape", "w", "extents", "shape"),
        node("Mul", "extents extents", "squares", "mul"),
        node("Sqrt", "f", "roots", "sqrt"),
        node("Cast", "roots", "target", "cast", to=onnx.TensorProto.INT64),
        node("Reshape", "x target", "r", "reshape"),
        node("RowScale", "r", "y root", "scale", "com.acme"),
    ]
    weights = {"w": np.zeros((2, 3), np.float32), "f": np.array([4.0, 9.0], np.float32)}
    x, outputs = tensor("x", [6]), [tensor("y", None), tensor("root", None)]
    proto = model(nodes, [x], outputs, weights, opset=18, domains={"com.acme": 1})
    before = read_model(save(proto, tmp_path), operators=load_operators([declare(tmp_path)])).graph
    assert before.value("y").shape is None
    graph = clean(proto, tmp_path)
    assert (graph.value("y").shape, graph.value("root").shape) == ((2, 3), (2, 1))


def test_branches_with_bodies_are_inlined(tmp_path: Path) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]> m (float[2, 3] x) => (float[2, 3] y)'
        " <bool c = {1}> { y = If (c) <then_branch = t () => (float[2, 3] a) { p = com.acme.Whirl(x, x) a = Neg(p) },"
        " else_branch = e () => (float[2, 3] b) { b = Identity(x) }> }"
    )
    graph = clean(onnx.parser.parse_model(text), tmp_path)
    assert [inner.op for inner in graph] == ["Whirl", "Neg"]
    (found,) = [inner for inner in graph if inner.op == "Whirl"]
    assert found.body is not None
    assert found.body.outputs == found.outputs


def test_bodies_compute_what_they_say(tmp_path: Path) -> None:
    from autofusion.services.evaluate import evaluate_graph

    graph = clean(small_model(), tmp_path)
    feeds = {"x": random(5, 2, 3, 5, 7)}
    convolution = small_model()
    del convolution.graph.node[1:], convolution.graph.output[:]
    convolution.graph.output.append(tensor("c", None))
    c = run_runtime(convolution, feeds)["c"]
    y, root = row_scale(whirl(c, graph.constants["shift"], 0.5))
    found = evaluate_graph(graph, feeds, widen=True)
    np.testing.assert_allclose(found["y"], y, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["root"], root, rtol=1e-4, atol=1e-5)
