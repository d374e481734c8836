"""Declared operators as they are read: one node each, with its meaning as its body."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from autofusion.errors import ModelError, PatternError
from autofusion.frontend import Model, change_model, read_model, write_graph
from autofusion.frontend.scan import scan_operators
from autofusion.ir import DType
from autofusion.ir.parse import parse_graph
from autofusion.ir.text import dump_graph
from autofusion.ir.verify import verify_graph
from autofusion.patternlang import load_operators
from frontend.declared import declare, row_scale, small_model, whirl
from frontend.models import INT64, assert_same, model, node, parse, random, run_runtime, save, tensor

X, Y = tensor("x", [2, 3]), tensor("y", None)
HALF, DOUBLE = onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE


def read(proto: onnx.ModelProto, folder: Path) -> Model:
    return read_model(save(proto, folder), operators=load_operators([declare(folder)]))


def read_node(folder: Path, *nodes: onnx.NodeProto, dtype: int = onnx.TensorProto.FLOAT) -> Model:
    inputs = [tensor("x", [2, 3], dtype), tensor("s", [3], dtype)]
    return read(model(nodes, inputs, [tensor("y", None, dtype)], domains={"com.acme": 4}), folder)


def test_a_call_is_one_node_with_its_meaning_inside(tmp_path: Path) -> None:
    found = read(small_model(), tmp_path)
    verify_graph(found.graph, "the frontend")
    assert [node.op for node in found.graph] == ["Conv", "Whirl", "RowScale", "Identity"]
    assert found.operator_count == 4
    node = found.graph.node("whirl")
    assert (node.domain, node.opset, node.opaque, node.pattern, node.origin) == ("com.acme", 1, False, "", ("whirl",))
    assert dict(node.attributes) == {"slope": 0.5, "count": 2}
    assert node.body is not None
    assert {inner.origin for inner in node.body} == {("whirl",)}
    assert found.graph.opsets["com.acme"] == 1


def test_types_and_shapes_follow_from_the_body(tmp_path: Path) -> None:
    graph = read(small_model(HALF), tmp_path).graph
    assert [str(extent) for extent in graph.value("root").shape or ()] == ["n", "4", "5", "1"]
    assert [str(extent) for extent in graph.value("y").shape or ()] == ["n", "4", "5", "7"]
    assert graph.value("y").dtype is DType.FLOAT16


def test_results_that_a_call_leaves_out_have_names(tmp_path: Path) -> None:
    graph = read_node(tmp_path, node("RowScale", "x", "y", "scale", "com.acme")).graph
    assert graph.node("scale").outputs == ("y", "scale_root")
    verify_graph(graph, "the frontend")


def test_the_text_form_holds_the_body(tmp_path: Path) -> None:
    text = dump_graph(read_node(tmp_path, node("Whirl", "x s", "y", "whirl", "com.acme")).graph)
    assert dump_graph(parse_graph(text)) == text
    assert "com.acme::Whirl<count = 2, slope = 0.25>(x, s) @ whirl v4" in text


@pytest.mark.parametrize("weights", [True, False])
def test_the_written_file_defines_them(tmp_path: Path, weights: bool) -> None:
    graph = read(small_model(), tmp_path).graph
    proto = onnx.load_from_string(write_graph(graph, weights=weights, producer_version="0"))
    onnx.checker.check_model(proto)
    names = [(function.domain, function.name) for function in proto.functions]
    assert names == [("com.acme", "Whirl"), ("com.acme", "RowScale")]
    (call,) = [node for node in proto.graph.node if node.op_type == "Whirl"]
    assert {attribute.name for attribute in call.attribute} == {"slope", "count"}
    if weights:
        feeds = {"x": random(0, 2, 3, 5, 7)}
        given = change_model(tmp_path / "model.onnx", (), load_operators([tmp_path / "mine"]))
        assert_same(run_runtime(given, feeds), run_runtime(proto, feeds))


@pytest.mark.parametrize("inner", ["then", "loop", "function"])
def test_calls_in_nested_graphs_and_functions(tmp_path: Path, inner: str) -> None:
    texts = {
        "then": "m (float[2, 3] x, float[3] s, bool c) => (float[2, 3] y) { y = If (c) <then_branch = t () =>"
        " (float[2, 3] a) { a = com.acme.Whirl(x, s) }, else_branch = e () => (float[2, 3] b) { b = Identity(x) }> }",
        "loop": "m (float[2, 3] x, float[3] s, int64 n) => (float[2, 3] y) { y = Loop (n, , x) <body = g (int64 i,"
        " bool k, float[2, 3] p) => (bool k2, float[2, 3] q) { k2 = Identity(k) q = com.acme.Whirl(p, s) }> }",
        "function": "m (float[2, 3] x, float[3] s) => (float[2, 3] y) { y = local.f(x, s) }"
        ' <domain: "local", opset_import: ["" : 17, "com.acme" : 1]> f (a, b) => (c) { c = com.acme.Whirl(a, b) }',
    }
    head = '<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1, "local" : 1]> '
    graph = read(onnx.parser.parse_model(head + texts[inner]), tmp_path).graph
    verify_graph(graph, "the frontend")
    assert "com.acme::Whirl<" in dump_graph(graph)


REFUSALS = [
    (node("Whirl", "x", "y", "n", "com.acme"), "AF150", "has 1 inputs, expected 2"),
    (node("Whirl", "x s s", "y", "n", "com.acme"), "AF150", "has 3 inputs, expected 2"),
    (node("RowScale", "_ s", "y", "n", "com.acme"), "AF150", "input 'x' is empty but must be given"),
    (node("Whirl", "x s", "y z", "n", "com.acme"), "AF150", "has 2 outputs, expected 1"),
    (node("Whirl", "x s", "y", "n", "com.acme", slop=1.0), "AF152", "attribute 'slop' is unknown"),
    (node("Whirl", "x s", "y", "n", "com.acme", slope=1), "AF152", "attribute 'slope' is not of type float"),
    (node("Whirl", "x s", "y", "n", "com.acme", slope=[1.0]), "AF152", "attribute 'slope' is not of type float"),
]


@pytest.mark.parametrize(("call", "code", "problem"), REFUSALS)
def test_refuses_a_wrong_call(tmp_path: Path, call: onnx.NodeProto, code: str, problem: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_node(tmp_path, call)
    assert (code, f"{call.op_type} node 'n': {problem}") == (
        caught.value.diagnostic.code,
        caught.value.diagnostic.message,
    )


def test_an_attribute_without_default_must_be_given(tmp_path: Path) -> None:
    declare(tmp_path)
    path = tmp_path / "mine" / "operators" / "whirl.toml"
    path.write_text(path.read_text("utf-8").replace(", default = 0.25", ""), encoding="utf-8")
    proto = model([node("Whirl", "x x", "y", "n", "com.acme")], [X], [Y], domains={"com.acme": 1})
    with pytest.raises(ModelError, match="required attribute 'slope' is missing"):
        read_model(save(proto, tmp_path), operators=load_operators([tmp_path / "mine"]))


def test_an_expression_takes_floats_of_one_type(tmp_path: Path) -> None:
    call = node("Whirl", "x s", "y", "n", "com.acme")
    with pytest.raises(ModelError, match=r"input 'x' int64 \[2, 3\] is of no floating type"):
        read_node(tmp_path, call, dtype=INT64)
    mixed = [tensor("x", [2, 3]), tensor("s", [3], DOUBLE)]
    with pytest.raises(ModelError, match="its inputs differ in type: 'x' float"):
        read(model([call], mixed, [Y], domains={"com.acme": 1}), tmp_path)


def test_shapes_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    inputs = [tensor("x", [2, 3]), tensor("s", [4])]
    proto = model([node("Whirl", "x s", "y", "n", "com.acme")], inputs, [Y], domains={"com.acme": 1})
    with pytest.raises(ModelError) as caught:
        read(proto, tmp_path)
    assert caught.value.diagnostic.code == "AF153"


def test_the_domain_must_be_imported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"of domain 'com\.acme', which is not imported"):
        read(model([node("Whirl", "x x", "y", "n", "com.acme")], [X], [Y]), tmp_path)


def test_the_model_may_not_define_it_too(tmp_path: Path) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]> m (float[2] x) => (float[2] y)'
        " { y = com.acme.Whirl(x, x) }"
        ' <domain: "com.acme", opset_import: ["" : 17]> Whirl (a, b) => (c) { c = Add(a, b) }'
    )
    with pytest.raises(PatternError) as caught:
        read(onnx.parser.parse_model(text), tmp_path)
    found = caught.value.diagnostic
    assert (found.code, str(found.span)) == ("AF423", "mine/operators/whirl.toml:3:1")


def test_scans_know_them(tmp_path: Path) -> None:
    path = save(small_model(), tmp_path)
    assert {use.op for use in scan_operators(path) if use.fault} == {"Whirl", "RowScale"}
    assert [use for use in scan_operators(path, load_operators([declare(tmp_path)])) if use.fault] == []


def test_models_without_them_are_read_as_before(tmp_path: Path) -> None:
    proto = parse("m (float[2] x) => (float[2] y) { y = Relu(x) }")
    assert [node.op for node in read(proto, tmp_path).graph] == ["Relu"]


def test_the_meaning_in_numpy() -> None:
    """The expected values of other tests are no accident of shapes: slopes, signs and counts all matter."""
    x = np.array([[-2.0, 1.0]])
    np.testing.assert_allclose(whirl(x, np.array(1.0), 0.5, 4), [[-0.25, np.tanh(2.0)]])
    np.testing.assert_allclose(row_scale(x, 0.0)[1], [[np.sqrt(2.5)]])


def test_other_programs_get_whole_calls(tmp_path: Path) -> None:
    proto = change_model(save(small_model(), tmp_path), ["root"], load_operators([declare(tmp_path)]))
    calls = {node.op_type: node for node in proto.graph.node}
    assert list(calls["RowScale"].input) == ["a", ""]
    assert {item.name for item in calls["Whirl"].attribute} == {"slope", "count"}
    assert ([value.name for value in proto.graph.output], len(proto.functions)) == (["root"], 2)
    assert (
        len(change_model(save(parse("m (float[2] x) => (float[2] y) { y = Relu(x) }"), tmp_path), (), {}).functions)
        == 0
    )
