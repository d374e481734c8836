from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, helper

from autofusion.frontend import Model
from autofusion.ir.verify import verify_graph
from frontend.models import BOOL, assert_same, model, node, random, read, run_graph, run_runtime, tensor

X, Y = tensor("x", [2, 3]), tensor("y", None)
FEEDS = {"x": random(3, 2, 3)}


def function(
    name: str,
    inputs: str,
    outputs: str,
    *nodes: onnx.NodeProto,
    opset: int = 17,
    attributes: tuple[str, ...] = (),
    defaults: tuple[onnx.AttributeProto, ...] = (),
) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_function(
        "local", name, inputs.split(), outputs.split(), list(nodes), imports, list(attributes), list(defaults)
    )


def refer(item: onnx.NodeProto, attribute: str, source: str, kind: int) -> onnx.NodeProto:
    """Let an attribute of the node take the value of the function's attribute `source`."""
    item.attribute.append(AttributeProto(name=attribute, ref_attr_name=source, type=kind))
    return item


def calls(
    *nodes: onnx.NodeProto, functions: list[onnx.FunctionProto], inputs: list[onnx.ValueInfoProto] | None = None
) -> onnx.ModelProto:
    return model(nodes, inputs or [X], [Y], functions=functions, domains={"local": 1})


def call(name: str, inputs: str, outputs: str, label: str = "", **attributes: object) -> onnx.NodeProto:
    return node(name, inputs, outputs, label, "local", **attributes)


def check(proto: onnx.ModelProto, folder: Path, feeds: dict[str, np.ndarray] | None = None) -> Model:
    found = read(proto, folder)
    verify_graph(found.graph, "reading")
    assert_same(run_runtime(proto, feeds or FEEDS), run_graph(found.graph, feeds or FEEDS))
    return found


def leaky() -> onnx.FunctionProto:
    """2 * LeakyRelu(a), whose values are named like those of the graphs that call it."""
    inner = refer(node("LeakyRelu", "a", "t", "leak"), "alpha", "slope", AttributeProto.FLOAT)
    return function("Act", "a", "y", inner, node("Add", "t t", "y"), attributes=("slope",))


def test_calls_nest_and_pass_attributes_on(tmp_path: Path) -> None:
    passing = refer(call("Act", "t", "y"), "slope", "factor", AttributeProto.FLOAT)
    outer = function(
        "Block", "a", "y", node("Neg", "a", "t"), passing, defaults=(helper.make_attribute("factor", 0.25),)
    )
    proto = calls(
        call("Block", "x", "t", "first"), call("Block", "t", "y", "second", factor=0.5), functions=[leaky(), outer]
    )
    found = read(proto, tmp_path)
    slopes = [item.attributes["alpha"] for item in found.graph if item.op == "LeakyRelu"]
    assert slopes == [0.25, 0.5]
    assert [item.name for item in found.graph] == [
        "first/Neg_0",
        "first/Act_1/leak",
        "first/Act_1/Add_1",
        "second/Neg_0",
        "second/Act_1/leak",
        "second/Act_1/Add_1",
    ]
    assert [item.results for item in found.graph][:3] == [("t/t",), ("t/t_1",), ("t",)]
    assert found.operator_count == 6

    def act(a: np.ndarray, slope: float) -> np.ndarray:
        return 2 * np.where(a < 0, a * np.float32(slope), a)

    assert_same({"y": act(-act(-FEEDS["x"], 0.25), 0.5)}, run_graph(found.graph, FEEDS))


def test_an_attribute_that_nobody_gives_is_absent(tmp_path: Path) -> None:
    found = check(calls(call("Act", "x", "y"), functions=[leaky()]), tmp_path)
    (item,) = [item for item in found.graph if item.op == "LeakyRelu"]
    assert item.attributes["alpha"] == np.float32(0.01)


def test_a_function_is_read_in_its_own_opset(tmp_path: Path) -> None:
    body = function(
        "Old", "a", "b", node("ReduceSum", "a", "t", axes=[1]), node("Squeeze", "t", "b", axes=[1]), opset=11
    )
    found = read(calls(call("Old", "x", "y"), functions=[body]), tmp_path)
    assert_same({"y": FEEDS["x"].sum(1)}, run_graph(found.graph, FEEDS))


def test_operands_that_are_left_out_are_absent_inside(tmp_path: Path) -> None:
    body = function("Limit", "a lo hi", "b", node("Clip", "a lo hi", "b"))
    given = calls(call("Limit", "x _ k", "y"), functions=[body])
    given.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0.5, np.float32), "k"))
    assert_same({"y": np.minimum(FEEDS["x"], 0.5)}, run_graph(read(given, tmp_path).graph, FEEDS))
    short = calls(call("Limit", "x", "y"), functions=[body])
    assert_same({"y": FEEDS["x"]}, run_graph(read(short, tmp_path).graph, FEEDS))


def test_results_that_are_left_out_get_names(tmp_path: Path) -> None:
    body = function("Both", "a", "b c", node("Relu", "a", "b"), node("Neg", "b", "c"))
    found = check(calls(call("Both", "x", "_ y"), functions=[body]), tmp_path)
    assert [item.results for item in found.graph] == [("y/b",), ("y",)]


def test_an_input_may_be_an_output_of_the_function(tmp_path: Path) -> None:
    body = function("Same", "a", "b a", node("Relu", "a", "b"))
    found = read(calls(call("Same", "x", "r y"), functions=[body]), tmp_path)
    assert_same(FEEDS | {"y": FEEDS["x"]}, FEEDS | run_graph(found.graph, FEEDS))


def test_branches_inside_functions_read_the_functions_values(tmp_path: Path) -> None:
    then = helper.make_graph([node("Add", "a t", "o")], "then", [], [tensor("o", None)])
    scaled = refer(node("LeakyRelu", "t", "o"), "alpha", "slope", AttributeProto.FLOAT)
    other = helper.make_graph([scaled], "else", [], [tensor("o", None)])
    choice = node("If", "c", "b", then_branch=then, else_branch=other)
    body = function("Choose", "a c", "b", node("Neg", "a", "t"), choice, attributes=("slope",))
    proto = calls(
        call("Choose", "x c", "t", slope=0.5),
        call("Choose", "t c", "y", slope=0.25),
        functions=[body],
        inputs=[X, tensor("c", [], BOOL)],
    )
    for condition in (True, False):
        check(proto, tmp_path, {**FEEDS, "c": np.array(condition)})


def test_functions_are_called_from_branches(tmp_path: Path) -> None:
    then = helper.make_graph([call("Act", "x", "o", slope=0.5)], "then", [], [tensor("o", None)])
    other = helper.make_graph([node("Neg", "x", "o")], "else", [], [tensor("o", None)])
    choice = node("If", "c", "y", "choice", then_branch=then, else_branch=other)
    proto = calls(choice, functions=[leaky()], inputs=[X, tensor("c", [], BOOL)])
    found = check(proto, tmp_path, {**FEEDS, "c": np.array(True)})
    assert [item.op for item in dict(found.graph.node("choice").subgraphs())["then_branch"]] == ["LeakyRelu", "Add"]
    assert found.operator_count == 4


def test_a_constant_takes_its_value_from_the_call(tmp_path: Path) -> None:
    constant = refer(node("Constant", "", "k"), "value_float", "shift", AttributeProto.FLOAT)
    body = function("Shift", "a", "b", constant, node("Add", "a k", "b"), attributes=("shift",))
    found = check(calls(call("Shift", "x", "y", shift=1.5), functions=[body]), tmp_path)
    assert {name: float(array) for name, array in found.graph.constants.items()} == {"y/k": 1.5}


def test_overloads_are_told_apart(tmp_path: Path) -> None:
    first, second = function("F", "a", "b", node("Relu", "a", "b")), function("F", "a", "b", node("Neg", "a", "b"))
    second.overload = "2"
    negated = call("F", "t", "y")
    negated.overload = "2"
    proto = calls(call("F", "x", "t"), negated, functions=[first, second])
    proto.ir_version = 10
    assert [item.op for item in check(proto, tmp_path).graph] == ["Relu", "Neg"]
