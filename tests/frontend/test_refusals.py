"""Every fault of a model file that the frontend itself finds, with the exact message."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from autofusion.errors import ModelError
from autofusion.frontend import read_model
from frontend.models import FLOAT, INT64, model, node, parse, random, save, tensor

X, Y = tensor("x", [2, 3]), tensor("y", [2, 3])


def refusal(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read_model(path)
    return str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert f"AF100: model file '{tmp_path}/no.onnx' does not exist" == refusal(tmp_path / "no.onnx")
    assert f"AF100: model file '{tmp_path}' is a folder" == refusal(tmp_path)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "AF101: model file 'model.onnx' is empty"),
        (b"text\n" * 40, "AF102: 'model.onnx' is no ONNX model: no field of a model begins at byte 1"),
        (b"\x08\x08", "AF102: 'model.onnx' is no ONNX model: it holds no graph"),
        (b"\x3a\x02\x0a\x07", "AF102: 'model.onnx' is no ONNX model: it cannot be parsed"),
        (
            b"\x08\x08\x12\x01\xff",
            "AF102: 'model.onnx' is no ONNX model: its field ModelProto.producer_name is not UTF-8",
        ),
    ],
)
def test_bytes_that_are_no_model(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    assert problem == refusal(path)


def relu(**changes: object) -> onnx.ModelProto:
    proto = model([node("Relu", "x", "y")], [X], [Y])
    for name, value in changes.items():
        setattr(proto, name, value)
    return proto


def without_imports() -> onnx.ModelProto:
    proto = relu()
    del proto.opset_import[:]
    return proto


def import_twice() -> onnx.ModelProto:
    proto = relu()
    proto.opset_import.append(helper.make_opsetid("ai.onnx", 16))
    return proto


def typed(name: str, kind: onnx.TypeProto) -> onnx.ValueInfoProto:
    return helper.make_value_info(name, kind)


def conditional(*body: onnx.NodeProto, output: str = "t") -> onnx.ModelProto:
    branch = helper.make_graph(list(body), "branch", [], [tensor(output, None)])
    choice = node("If", "c", "y", "choice", then_branch=branch, else_branch=branch)
    return model([choice], [X, tensor("c", [], TensorProto.BOOL)], [Y])


def function(*nodes: onnx.NodeProto, name: str = "F", inputs: str = "a", outputs: str = "b") -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, inputs.split(), outputs.split(), list(nodes), imports)


def call(*functions: onnx.FunctionProto, operands: str = "x", results: str = "y") -> onnx.ModelProto:
    calls = [node("F", operands, results, "call", domain="local")]
    return model(calls, [X], [Y], functions=functions, domains={"local": 1})


def doubling_functions() -> onnx.ModelProto:
    """Each of forty functions calls the next one twice."""
    levels = [
        function(
            node(f"F{level + 1}", "a", "t", domain="local"),
            node(f"F{level + 1}", "t", "b", domain="local"),
            name=f"F{level}" if level else "F",
        )
        for level in range(40)
    ]
    return call(*levels, function(node("Relu", "a", "b"), name="F40"))


def long_chain_of_functions() -> onnx.ModelProto:
    links = [
        function(node(f"F{level + 1}", "a", "b", domain="local"), name=f"F{level}" if level else "F")
        for level in range(120)
    ]
    return call(*links, function(node("Relu", "a", "b"), name="F120"))


def constant(**attributes: object) -> onnx.ModelProto:
    return model([node("Constant", "", "k", "c0", **attributes), node("Add", "x k", "y")], [X], [Y])


def unnamed_weight() -> onnx.ModelProto:
    proto = relu()
    proto.graph.initializer.append(numpy_helper.from_array(random(0, 2), ""))
    return proto


def weight_twice() -> onnx.ModelProto:
    proto = model([node("Add", "x w", "y")], [X], [Y], {"w": random(0, 3)})
    proto.graph.initializer.append(numpy_helper.from_array(random(0, 3), "w"))
    return proto


def attribute_of_no_function() -> onnx.ModelProto:
    made = model([node("Softmax", "x", "y", "s", axis=1)], [X], [Y])
    made.graph.node[0].attribute[0].ref_attr_name = "a"
    return made


def attribute_twice() -> onnx.ModelProto:
    proto = model([node("Softmax", "x", "y", "s", axis=0)], [X], [Y])
    proto.graph.node[0].attribute.append(helper.make_attribute("axis", 1))
    return proto


CASES: list[tuple[Callable[[], onnx.ModelProto], str]] = [
    (lambda: relu(ir_version=9999), "AF103: 'model.onnx' has IR version 9999; versions 3 to 14 can be read"),
    (lambda: relu(ir_version=2), "AF103: 'model.onnx' has IR version 2; versions 3 to 14 can be read"),
    (without_imports, "AF104: 'model.onnx' imports no operator set"),
    (import_twice, "AF104: the model imports domain '' in versions 17 and 16"),
    (
        lambda: model([node("Relu", "x", "y")], [X], [Y], opset=6),
        "AF104: the model is written in opset 6; opsets 7 to 28 can be read",
    ),
    (
        lambda: model([node("Relu", "x", "y")], [X], [Y], opset=99),
        "AF104: the model is written in opset 99; opsets 7 to 28 can be read",
    ),
    (
        lambda: model([node("Odd", "x", "y", "o", domain="far")], [X], [Y]),
        "AF104: node 'o' is 'Odd' of domain 'far', which is not imported",
    ),
    (lambda: model([node("Relu", "x", "y")], [X], []), "AF105: graph 'main' has no outputs"),
    (lambda: model([node("Relu", "x", "y")], [X, X], [Y]), "AF106: input 'x' of the graph is defined twice"),
    (
        lambda: model([node("Relu", "x", "a"), node("Abs", "x", "a"), node("Neg", "a", "y")], [X], [Y]),
        "AF106: value 'a' of the graph is defined twice",
    ),
    (lambda: model([node("Relu", "x", "x")], [X], [X]), "AF106: value 'x' of the graph is defined twice"),
    (
        lambda: model([node("Relu", "x", "y")], [X], [Y, Y]),
        "AF106: output 'y' of the graph is listed 2 times",
    ),
    (weight_twice, "AF106: initialiser 'w' of the graph is defined twice"),
    (
        lambda: call(function(node("Relu", "a", "b")), function(node("Relu", "a", "b"))),
        "AF106: local function 'local::F' is defined twice",
    ),
    (
        lambda: call(function(node("Relu", "a", "b"), node("Abs", "a", "b"))),
        "AF106: value 'b' of local function 'local::F' is assigned twice",
    ),
    (
        lambda: model([node("MatMul", "x w", "y", "mm")], [X], [Y]),
        "AF107: node 'mm' (MatMul) reads 'w', which is no input, no initialiser and no result",
    ),
    (
        lambda: conditional(node("Add", "x ghost", "t")),
        "AF107: node 't' (Add) reads 'ghost', which is no input, no initialiser and no result",
    ),
    (
        lambda: call(function(node("Add", "a ghost", "b"))),
        "AF107: node 'call/Add_0' (Add) reads 'ghost', which is no input, no initialiser and no result",
    ),
    (lambda: model([node("Relu", "x", "a")], [X], [Y]), "AF108: output 'y' of graph 'main' is not produced"),
    (lambda: conditional(node("Relu", "x", "t"), output="u"), "AF108: output 'u' of graph 'branch' is not produced"),
    (lambda: call(function(node("Relu", "a", "c"))), "AF108: output 'b' of local function 'local::F' is not produced"),
    (
        lambda: model([node("Add", "x b", "a", "one"), node("Neg", "a", "b", "two"), node("Relu", "b", "y")], [X], [Y]),
        "AF109: node 'two' (Neg) depends on its own result",
    ),
    (constant, "AF116: Constant node 'c0' must have one value, but its attributes are: none"),
    (
        lambda: constant(value_int=1, value_float=1.0),
        "AF116: Constant node 'c0' must have one value, but its attributes are: value_float, value_int",
    ),
    (
        attribute_of_no_function,
        "AF117: attribute 'axis' of node 's' (Softmax) refers to attribute 'a' of a function, but is in none",
    ),
    (attribute_twice, "AF117: node 's' (Softmax) has attribute 'axis' twice"),
    (
        lambda: model([node("Softmax", "x", "y", "s", axis=1.5)], [X], [Y]),
        "AF117: attribute 'axis' of node 's' (Softmax) is of kind float, not of kind int",
    ),
    (
        lambda: call(function(node("Relu", "a", "b")), operands="x x"),
        "AF118: node 'call' gives local function 'local::F' more operands than its 1 inputs and 1 outputs",
    ),
    (
        lambda: call(function(node("Relu", "a", "t"), node("F", "t", "b", domain="local"))),
        "AF119: local function 'local::F' calls itself",
    ),
    (long_chain_of_functions, "AF119: local function 'local::F100' is called through more than 100 others"),
    (doubling_functions, "AF123: local functions expand graph 'main' to more than 1000000 nodes"),
    (
        lambda: model([node("Relu", "x", "y")], [typed("x", helper.make_sequence_type_proto(X.type))], [Y]),
        "AF120: input 'x' is a sequence, but only tensors are supported",
    ),
    (
        lambda: model([node("Relu", "x", "y")], [onnx.ValueInfoProto(name="x")], [Y]),
        "AF120: input 'x' is without a type, but only tensors are supported",
    ),
    (
        lambda: model(
            [node("SequenceConstruct", "x", "s")], [X], [typed("s", helper.make_sequence_type_proto(X.type))]
        ),
        "AF120: output 's' is a sequence, but only tensors are supported",
    ),
    (lambda: model([node("Relu", "x", "y")], [tensor("x", [2, -3])], [Y]), "AF121: input 'x' has extent -3 at axis 1"),
    (
        lambda: model([node("Relu", "x", "y")], [tensor("x", [1] * 65)], [Y]),
        "AF121: input 'x' has 65 axes; at most 64 are supported",
    ),
    (
        lambda: model([node("Unsqueeze", "x a", "y", "u")], [X], [Y], {"a": np.arange(63)}),
        "AF155: Unsqueeze node 'u': result 'y' has 65 axes",
    ),
    (
        lambda: model([node("Relu", "x", "y")], [X], [tensor("y", [2, 7])]),
        "AF122: the graph computes output 'y' float [2, 3], but it is declared with shape [2, 7]",
    ),
    (
        lambda: model([node("Relu", "x", "y")], [X], [tensor("y", [2, 3, 1])]),
        "AF122: the graph computes output 'y' float [2, 3], but it is declared with shape [2, 3, 1]",
    ),
    (
        lambda: model([node("Relu", "x", "y")], [X], [tensor("y", [2, 3], INT64)]),
        "AF122: the graph computes output 'y' float [2, 3], but it is declared as int64",
    ),
    (
        lambda: parse(
            "main (int64[2] x) => (float[?, ?] y) <int64[2] s = {4194304, 4194304}> { y = ConstantOfShape(s) }"
        ),
        "AF123: ConstantOfShape node 'ConstantOfShape_0' computes 'y' float [4194304, 4194304], which takes 64 TiB",
    ),
    (
        lambda: parse("main (float[2] x) => (float[?] y) <float[1] s = {-1}> { y = Resize(x, , s) }"),
        "AF153: Resize node 'Resize_0' computes 'y' float [-2], which has a negative extent",
    ),
    (
        lambda: model([node("Add", "x w", "y")], [X, tensor("w", [4])], [Y], {"w": random(0, 3)}),
        "AF124: input 'w' float [4] has an initialiser of another kind: 'w' float [3]",
    ),
    (
        lambda: model([node("Frobnicate", "x", "y", "f")], [X], [Y]),
        "AF125: node 'f' has the operator 'Frobnicate', which ONNX does not have in opset 17",
    ),
    (unnamed_weight, "AF126: an initialiser of the graph has no name"),
]


@pytest.mark.parametrize(("build", "problem"), CASES, ids=[problem.partition(":")[0] for _, problem in CASES])
def test_broken_models_are_refused(tmp_path: Path, build: Callable[[], onnx.ModelProto], problem: str) -> None:
    assert problem == refusal(save(build(), tmp_path))


DEFINE = "replace the node, or define its operator as a local function of the model"


@pytest.mark.parametrize(
    ("op", "opset", "remedy"),
    [
        ("Gelu", 17, "it exists since opset 20"),
        ("Upsample", 17, "it was removed; export the model again"),
        ("Matmul", 17, f"{DEFINE}; the nearest name is 'MatMul'"),
        ("Qqqqqqqq", 17, DEFINE),
    ],
)
def test_unknown_operators_come_with_advice(tmp_path: Path, op: str, opset: int, remedy: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_model(save(model([node(op, "x", "y")], [X], [Y], opset=opset), tmp_path))
    assert ("AF125", remedy) == (caught.value.diagnostic.code, caught.value.diagnostic.help)


def test_strings_must_be_text(tmp_path: Path) -> None:
    proto = model([node("Identity", "k", "y")], [], [tensor("y", [1], TensorProto.STRING)])
    proto.graph.initializer.append(TensorProto(name="k", data_type=TensorProto.STRING, dims=[1], string_data=[b"\xff"]))
    message = "AF102: 'model.onnx' is no ONNX model: it has a tensor of strings that are not UTF-8"
    assert message == refusal(save(proto, tmp_path))


def test_no_damage_ends_in_a_traceback(tmp_path: Path) -> None:
    branch = helper.make_graph(
        [node("Add", "x k", "t")], "branch", [], [tensor("t", None)], [numpy_helper.from_array(random(0, 3), "k")]
    )
    base = model(
        [
            node("Conv", "i w", "r", pads=[1, 1, 1, 1]),
            node("If", "c", "y", then_branch=branch, else_branch=branch),
            node("F", "x", "f", domain="local"),
        ],
        [X, tensor("c", [], TensorProto.BOOL), tensor("i", ["n", 2, 4, 4], FLOAT)],
        [Y, tensor("r", ["n", 3, 4, 4]), tensor("f", [2, 3])],
        {"w": random(1, 3, 2, 3, 3)},
        functions=[function(node("Relu", "a", "b"))],
        domains={"local": 1},
    ).SerializeToString()
    path = tmp_path / "model.onnx"
    choose = Random(0)
    for attempt in range(300):
        data = bytearray(base)
        if attempt % 4 == 0:
            del data[choose.randrange(len(data)) :]
        else:
            for _ in range(choose.randrange(1, 4)):
                data[choose.randrange(len(data))] = choose.randrange(256)
        path.write_bytes(data)
        with contextlib.suppress(ModelError):
            read_model(path)
