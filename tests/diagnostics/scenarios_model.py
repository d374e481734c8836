"""Scenarios of the codes AF1xx: models that are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from autofusion.ir import Node
from autofusion.ir.parse import parse_graph
from autofusion.ops import evaluate
from autofusion.plan.nested import MAX_DEPTH
from diagnostics.scenarios import Outcome, Scenario, calling, compiling, write_model
from frontend.models import model, node, parse, random, tensor

X, Y = tensor("x", [2, 3]), tensor("y", [2, 3])


def relu() -> onnx.ModelProto:
    return model([node("Relu", "x", "y", "act")], [X], [Y])


def one(op: str, *, inputs: str = "x", **attributes: object) -> onnx.ModelProto:
    proto = model([node(op, inputs, "y", "it")], [X], [tensor("y", None)], {"w": random(0, 5, 4)})
    proto.graph.node[0].attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    return proto


def future() -> onnx.ModelProto:
    proto = relu()
    proto.ir_version = 9999
    return proto


def with_weight(tensor_proto: onnx.TensorProto) -> onnx.ModelProto:
    proto = model([node("Add", "x w", "y", "sum")], [X], [Y])
    proto.graph.initializer.append(tensor_proto)
    return proto


def short_weight() -> onnx.ModelProto:
    return with_weight(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], raw_data=b"12345"))


def odd_type() -> onnx.ModelProto:
    return with_weight(TensorProto(name="w", data_type=99, dims=[3], raw_data=b"123"))


def outside(location: str, offset: str = "0", length: str = "12") -> onnx.ModelProto:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        weight.external_data.add(key=key, value=value)
    return with_weight(weight)


def short_data() -> onnx.ModelProto:
    Path("w.bin").write_bytes(b"12345678")
    return outside("w.bin")


def sparse() -> onnx.ModelProto:
    proto = model([node("Add", "x w", "y", "sum")], [X], [Y])
    values = numpy_helper.from_array(np.ones(1, np.float32), "w")
    indices = numpy_helper.from_array(np.array([7], np.int64))
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3]))
    return proto


def attribute_twice() -> onnx.ModelProto:
    proto = one("Softmax", axis=0)
    proto.graph.node[0].attribute.append(helper.make_attribute("axis", 1))
    return proto


def function(*nodes: onnx.NodeProto) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_function("local", "F", ["a"], ["b"], list(nodes), imports)


def call(body: onnx.NodeProto, operands: str = "x") -> onnx.ModelProto:
    nodes = [node("F", operands, "y", "call", "local")]
    return model(nodes, [X], [Y], functions=[function(body)], domains={"local": 1})


def unnamed_weight() -> onnx.ModelProto:
    proto = relu()
    proto.graph.initializer.append(numpy_helper.from_array(random(0, 2), ""))
    return proto


def sequence() -> onnx.ModelProto:
    kind = helper.make_sequence_type_proto(X.type)
    return model([node("SequenceAt", "x i", "y", "at")], [helper.make_value_info("x", kind)], [Y])


def bomb() -> onnx.ModelProto:
    return parse("main (float[1] x) => (float[?, ?] y) <int64[2] s = {4194304, 4194304}> { y = ConstantOfShape(s) }")


def far() -> onnx.ModelProto:
    return model([node("Matmull", "x x", "y", "mm", "com.example")], [X], [Y], domains={"com.example": 1})


def open_batch() -> onnx.ModelProto:
    return model([node("Relu", "x", "y", "act")], [tensor("x", ["batch", 3])], [tensor("y", ["batch", 3])])


def text() -> onnx.ModelProto:
    kinds = [tensor(name, [2], TensorProto.STRING) for name in ("x", "y")]
    return model([node("Identity", "x", "y", "same")], kinds[:1], kinds[1:])


def integer_weight() -> onnx.ModelProto:
    weights = {"w": np.ones((3, 2, 1, 1), np.int64)}
    return model([node("Conv", "x w", "y", "conv")], [tensor("x", [1, 2, 4, 4])], [tensor("y", None)], weights)


def weight_of_rank_5() -> onnx.ModelProto:
    weights = {"w": random(0, 3, 2, 1, 1, 1)}
    return model([node("Conv", "x w", "y", "conv")], [tensor("x", [1, 2, 4, 4])], [tensor("y", None)], weights)


def nested_too_deeply() -> onnx.ModelProto:
    """Functions that call one another from a branch each: no file could hold the graphs that they make."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    other = helper.make_graph([node("Relu", "a", "r")], "other", [], [tensor("r", None)])
    functions = [helper.make_function("local", f"F{MAX_DEPTH}", ["a", "c"], ["b"], [node("Relu", "a", "b")], imports)]
    for depth in range(MAX_DEPTH):
        call = node(f"F{depth + 1}", "a c", "r", "next", "local")
        branch = helper.make_graph([call], "branch", [], [tensor("r", None)])
        choice = node("If", "c", "b", "choice", "", then_branch=branch, else_branch=other)
        functions.append(helper.make_function("local", f"F{depth}", ["a", "c"], ["b"], [choice], imports))
    inputs = [X, tensor("c", [], TensorProto.BOOL)]
    branch = helper.make_graph([node("F0", "x c", "r", "first", "local")], "branch", [], [tensor("r", None)])
    other = helper.make_graph([node("Relu", "x", "r")], "other", [], [tensor("r", None)])
    nodes = [node("If", "c", "y", "choice", "", then_branch=branch, else_branch=other)]
    return model(nodes, inputs, [tensor("y", None)], functions=functions, domains={"local": 1})


def foreign_node(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    evaluate(Node("odd", "Odd", ("x",), ("y",), domain="far", opset=1, opaque=True), [np.ones(2, np.float32)])
    raise AssertionError("it was evaluated")


def index_past_the_end(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    gather = Node("pick", "Gather", ("x", "i"), ("y",), {"axis": 0}, opset=13)
    evaluate(gather, [np.ones(2, np.float32), np.array([7])])
    raise AssertionError("it was evaluated")


def broken_text(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    parse_graph("graph g(x: float[2]) -> (y: float[2]) {\n  y: float[2] Relu(x) @ act\n}")
    raise AssertionError("it was read")


def unsuitable_type(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    return ["atc", f"--model={write_model(text())}", "--output=net", "--output_type=FP16"]


SCENARIOS: dict[str, Scenario] = {
    "AF100": calling("compile", "net.onnx", "-o", "net"),
    "AF101": compiling(lambda: b""),
    "AF102": compiling(lambda: b"text\n" * 40),
    "AF103": compiling(future),
    "AF104": compiling(lambda: model([node("Relu", "x", "y", "act")], [X], [Y], opset=99)),
    "AF105": compiling(lambda: model([node("Relu", "x", "y", "act")], [X], [])),
    "AF106": compiling(lambda: model([node("Relu", "x", "x", "act")], [X], [X])),
    "AF107": compiling(lambda: one("MatMul", inputs="x v")),
    "AF108": compiling(lambda: model([node("Relu", "x", "a", "act")], [X], [Y])),
    "AF109": compiling(
        lambda: model([node("Add", "x b", "y", "one"), node("Neg", "y", "b", "two")], [X], [Y]),
    ),
    "AF110": compiling(odd_type),
    "AF111": compiling(short_weight),
    "AF112": compiling(lambda: outside("../w.bin")),
    "AF113": compiling(lambda: outside("w.bin")),
    "AF114": compiling(short_data),
    "AF115": compiling(sparse),
    "AF116": compiling(lambda: model([node("Constant", "", "k", "c0"), node("Add", "x k", "y")], [X], [Y])),
    "AF117": compiling(attribute_twice),
    "AF118": compiling(lambda: call(node("Relu", "a", "b"), "x x")),
    "AF119": compiling(lambda: call(node("F", "a", "b", "", "local"))),
    "AF120": compiling(sequence),
    "AF121": compiling(lambda: model([node("Relu", "x", "y", "act")], [tensor("x", [2, -3])], [Y])),
    "AF122": compiling(lambda: model([node("Relu", "x", "y", "act")], [X], [tensor("y", [2, 7])])),
    "AF123": compiling(bomb),
    "AF124": compiling(
        lambda: model([node("Add", "x w", "y")], [X, tensor("w", [4])], [Y], {"w": random(0, 3)}),
    ),
    "AF125": compiling(far),
    "AF126": compiling(unnamed_weight),
    "AF130": compiling(open_batch, "--dim", "bach=2"),
    "AF131": compiling(open_batch, "--input-shape", "image:1,3"),
    "AF132": compiling(open_batch, "--input-shape", "x:1,4"),
    "AF133": calling("atc", "--model=net.onnx", "--output=net", "--out_nodes=acts:0", model=relu),
    "AF134": unsuitable_type,
    "AF150": compiling(lambda: one("Relu", inputs="x x")),
    "AF151": compiling(lambda: one("Cast")),
    "AF152": compiling(lambda: one("Transpose", perm=[0, 0])),
    "AF153": compiling(lambda: one("MatMul", inputs="x w")),
    "AF154": compiling(integer_weight),
    "AF155": compiling(weight_of_rank_5),
    "AF156": foreign_node,
    "AF157": index_past_the_end,
    "AF170": compiling(nested_too_deeply),
    "AF171": compiling(lambda: model([node("Relu", "x", "y", "act")], [tensor("x", None)], [tensor("y", None)])),
    "AF190": broken_text,
}
