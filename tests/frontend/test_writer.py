from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from autofusion.errors import ModelError
from autofusion.frontend import read_model, write_graph
from autofusion.frontend.writer import SMALL_BYTES
from autofusion.ir import FUSED_DOMAIN, DType, Graph, Node, Value, symbol
from autofusion.ir.text import dump_graph
from frontend.models import BOOL, assert_same, model, node, random, read, run_graph, run_runtime, tensor

X = tensor("x", ["n", 8])


def write(graph: Graph, *, weights: bool = True) -> bytes:
    return write_graph(graph, weights=weights, producer_version="1.0")


def perceptron() -> onnx.ModelProto:
    """Two layers of MatMul, Add and Relu, the second without Relu, and an Add of both sums."""
    weights = {"w1": random(1, 8, 40), "b1": random(2, 40), "w2": random(3, 40, 40), "b2": random(4, 40)}
    nodes = [
        node("MatMul", "x w1", "m1", "mm1"),
        node("Add", "m1 b1", "a1", "add1"),
        node("Relu", "a1", "r1", "relu1"),
        node("MatMul", "r1 w2", "m2", "mm2"),
        node("Add", "m2 b2", "a2", "add2"),
        node("Relu", "a2", "r2", "relu2"),
        node("Add", "r1 r2", "y", "sum"),
    ]
    return model(nodes, [X], [tensor("y", ["n", 40])], weights)


def fuse(graph: Graph, names: Iterable[str], op: str, outer: Graph | None = None) -> Node:
    """Replace nodes by a fused one with them as its body."""
    parts = [graph.node(name) for name in names]
    made = {value for part in parts for value in part.results}
    inputs = tuple(dict.fromkeys(value for part in parts for value in part.operands if value not in made))
    outputs = parts[-1].results
    body = Graph(op, inputs, outputs)
    for part in parts:
        body.add(part, [graph.value(value) for value in part.results])
    for value in inputs:
        known = graph.value(value)
        body.set_value(outer.value(value) if outer and known.dtype is None else known)
    fused = Node(
        "+".join(part.name for part in parts),
        op,
        inputs,
        outputs,
        {},
        FUSED_DOMAIN,
        origin=tuple(name for part in parts for name in part.origin),
        body=body,
        pattern="by_hand",
        display="By+Hand",
    )
    graph.replace([part.name for part in parts], [fused])
    return fused


def fused_perceptron(tmp_path: Path) -> Graph:
    graph = read(perceptron(), tmp_path).graph
    fuse(graph, ["mm1", "add1", "relu1"], "DenseFusionOp")
    fuse(graph, ["mm2", "add2", "relu2"], "DenseFusionOp")
    return graph


FEEDS = {"x": random(5, 3, 8)}


def check(graph: Graph, proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Write the graph, let the checker and the runtime judge it, and hand back what was written."""
    data = write(graph)
    onnx.checker.check_model(data)
    assert_same(run_runtime(proto, feeds), run_runtime(data, feeds))
    return onnx.ModelProto.FromString(data)


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    graph = read(perceptron(), tmp_path).graph
    written = check(graph, perceptron(), FEEDS)
    assert dump_graph(read(written, tmp_path).graph) == dump_graph(graph)
    assert (written.producer_name, written.producer_version) == ("graph-autofusion", "1.0")


def test_inner_values_are_described(tmp_path: Path) -> None:
    written = onnx.ModelProto.FromString(write(read(perceptron(), tmp_path).graph))
    (described,) = [value for value in written.graph.value_info if value.name == "a2"]
    assert described == tensor("a2", ["n", 40])


def test_equal_bodies_share_a_function(tmp_path: Path) -> None:
    written = check(fused_perceptron(tmp_path), perceptron(), FEEDS)
    (function,) = written.functions
    assert (function.domain, function.name, function.overload) == (FUSED_DOMAIN, "DenseFusionOp", "")
    assert [item.op_type for item in function.node] == ["MatMul", "Add", "Relu"]
    assert [item.op_type for item in written.graph.node] == ["DenseFusionOp", "DenseFusionOp", "Add"]
    notes = {entry.key: entry.value for entry in written.graph.node[0].metadata_props}
    assert (json.loads(notes["origin"]), notes["pattern"]) == (["mm1", "add1", "relu1"], "By+Hand")


def test_a_fused_graph_reads_back_unfused(tmp_path: Path) -> None:
    written = check(fused_perceptron(tmp_path), perceptron(), FEEDS)
    again = read(written, tmp_path)
    assert [item.op for item in again.graph] == ["MatMul", "Add", "Relu", "MatMul", "Add", "Relu", "Add"]
    assert_same(run_runtime(perceptron(), FEEDS), run_graph(again.graph, FEEDS))


def test_other_bodies_of_one_operator_are_overloads(tmp_path: Path) -> None:
    graph = read(perceptron(), tmp_path).graph
    fuse(graph, ["mm1", "add1", "relu1"], "DenseFusionOp")
    fuse(graph, ["mm2", "add2"], "DenseFusionOp")
    written = check(graph, perceptron(), FEEDS)
    assert [function.overload for function in written.functions] == ["", "2"]
    assert [item.overload for item in written.graph.node] == ["", "2", "", ""]


def test_bodies_nest(tmp_path: Path) -> None:
    graph = fused_perceptron(tmp_path)
    names = [item.name for item in graph]
    fuse(graph, names, "StackFusionOp")
    written = check(graph, perceptron(), FEEDS)
    assert [function.name for function in written.functions] == ["DenseFusionOp", "StackFusionOp"]
    assert [item.op_type for item in written.graph.node] == ["StackFusionOp"]


def test_constants_inside_a_body_become_operands(tmp_path: Path) -> None:
    graph = read(perceptron(), tmp_path).graph
    fused = fuse(graph, ["mm1", "add1", "relu1"], "DenseFusionOp")
    body = fused.body
    assert body is not None
    closed = Graph("closed", ("x", "w1"), body.outputs)
    closed.add_constant("b1", graph.constants["b1"])
    for part in body:
        closed.add(part)
    graph.update(Node(fused.name, fused.op, ("x", "w1"), fused.outputs, {}, FUSED_DOMAIN, body=closed))
    graph.discard_unused()
    written = check(graph, perceptron(), FEEDS)
    assert [len(item.input) for item in written.graph.node if item.domain] == [3]


def choice() -> onnx.ModelProto:
    then = helper.make_graph(
        [node("Neg", "x", "a", "neg"), node("Add", "a k", "t", "add")], "then", [], [tensor("t", None)]
    )
    other = helper.make_graph([node("Mul", "x k", "e", "mul")], "else", [], [tensor("e", None)])
    nodes = [node("If", "c", "y", "choice", then_branch=then, else_branch=other), node("Add", "x k", "z", "last")]
    return model(nodes, [X, tensor("c", [], BOOL)], [tensor("y", ["n", 8]), tensor("z", ["n", 8])], {"k": random(1, 8)})


@pytest.mark.parametrize("condition", [True, False])
def test_control_flow_and_fusion_inside(tmp_path: Path, condition: bool) -> None:
    graph = read(choice(), tmp_path).graph
    holder = graph.node("choice")
    nested = dict(holder.subgraphs())["then_branch"].copy()
    fuse(nested, ["neg", "add"], "NegAddFusionOp", graph)
    graph.update(
        Node(
            "choice",
            "If",
            holder.inputs,
            holder.outputs,
            {**holder.attributes, "then_branch": nested},
            opset=holder.opset,
        )
    )
    written = check(graph, choice(), {**FEEDS, "c": np.array(condition)})
    assert [function.name for function in written.functions] == ["NegAddFusionOp"]


def test_a_body_that_captures_is_written_in_place(tmp_path: Path) -> None:
    graph = read(choice(), tmp_path).graph
    body = Graph("captures", ("c", "x"), ("z",))
    # The branches of the If inside read `k`, which is no operand of the fused node.
    body.add(graph.node("choice"))
    body.add(Node("both", "Add", ("x", "y"), ("z",), opset=14))
    graph.replace(["choice", "last"], [Node("fused", "Odd", ("c", "x"), ("z",), {}, FUSED_DOMAIN, body=body)])
    graph.outputs = ("z",)
    assert body.captures() == ("k",)
    data = write(graph)
    written = onnx.ModelProto.FromString(data)
    assert ([item.op_type for item in written.graph.node], list(written.functions)) == (["If", "Add"], [])
    expected = FEEDS["x"] * 2 * random(1, 8)[None] / 2 + FEEDS["x"]
    assert_same({"z": expected}, run_runtime(data, {**FEEDS, "c": np.array(False)}))


def test_without_weights_the_large_constants_are_inputs(tmp_path: Path) -> None:
    graph = fused_perceptron(tmp_path)
    data = write(graph, weights=False)
    onnx.checker.check_model(data)
    written = onnx.ModelProto.FromString(data)
    assert [value.name for value in written.graph.input] == ["x", "w1", "w2"]
    assert [item.name for item in written.graph.initializer] == ["b1", "b2"]
    assert {entry.key: json.loads(entry.value) for entry in written.metadata_props} == {
        "autofusion.weights": ["w1", "w2"]
    }
    assert len(data) < graph.constants["w2"].nbytes
    weights = {name: graph.constants[name] for name in ("w1", "w2")}
    assert_same(run_runtime(perceptron(), FEEDS), run_runtime(data, {**FEEDS, **weights}))


def test_constants_of_branches_may_share_a_name(tmp_path: Path) -> None:
    def side(seed: int, op: str) -> onnx.GraphProto:
        weights = [onnx.numpy_helper.from_array(random(seed, 8, 40), "w")]
        return helper.make_graph([node(op, "x w", "t")], op, [], [tensor("t", None)], weights)

    proto = model(
        [node("If", "c", "y", then_branch=side(1, "MatMul"), else_branch=side(2, "MatMul"))],
        [X, tensor("c", [], BOOL)],
        [tensor("y", ["n", 40])],
    )
    graph = read(proto, tmp_path).graph
    written = onnx.ModelProto.FromString(write(graph, weights=False))
    assert [value.name for value in written.graph.input] == ["x", "c", "w", "w_1"]
    weights = {"w": random(2, 8, 40), "w_1": random(1, 8, 40)}
    feeds = {**FEEDS, "c": np.array(True)}
    assert_same(run_runtime(proto, feeds), run_runtime(written, {**feeds, **weights}))
    check(graph, proto, feeds)


def test_defaults_stay_overridable(tmp_path: Path) -> None:
    proto = perceptron()
    proto.graph.input.append(tensor("w1", [8, 40]))
    written = check(read(proto, tmp_path).graph, proto, {**FEEDS, "w1": random(9, 8, 40)})
    assert [value.name for value in written.graph.input] == ["x", "w1"]
    assert_same(run_runtime(proto, FEEDS), run_runtime(written, FEEDS))


def test_attributes_of_every_kind() -> None:
    graph = Graph("main", ("x",), ("y",))
    graph.set_value(Value("x", DType.FLOAT, (2,)))
    graph.set_value(Value("y", DType.FLOAT, (2,)))
    attributes = {
        "i": 3,
        "f": 0.5,
        "s": "\u00e9",
        "ints": (1, 2),
        "floats": (1.0, 2.0),
        "strings": ("a", ""),
        "none": (),
        "t": np.eye(2, dtype=np.float32),
    }
    graph.add(Node("odd", "Odd", ("x",), ("y",), attributes, "far", opset=4, opaque=True))
    written = onnx.ModelProto.FromString(write(graph))
    found = {item.name: helper.get_attribute_value(item) for item in written.graph.node[0].attribute}
    assert list(found) == sorted(attributes)
    assert (found["i"], found["f"], found["s"], found["ints"], found["floats"]) == (
        3,
        0.5,
        "\u00e9".encode(),
        [1, 2],
        [1.0, 2.0],
    )
    assert (found["strings"], found["none"]) == ([b"a", b""], [])
    np.testing.assert_array_equal(np.eye(2), onnx.numpy_helper.to_array(found["t"]))
    assert {entry.domain: entry.version for entry in written.opset_import} == {"": 17, "far": 4}


def test_equal_graphs_give_equal_bytes(tmp_path: Path) -> None:
    proto = perceptron()
    first = write(read(proto, tmp_path).graph)
    nodes, weights = list(proto.graph.node), list(proto.graph.initializer)
    del proto.graph.node[:], proto.graph.initializer[:]
    proto.graph.node.extend(reversed(nodes))
    proto.graph.initializer.extend(reversed(weights))
    assert write(read(proto, tmp_path).graph) == first


def test_symbolic_extents_are_written_as_texts(tmp_path: Path) -> None:
    graph = Graph("main", ("x",), ("y",))
    for name in "xy":
        graph.set_value(Value(name, DType.FLOAT, (symbol("n"), symbol("n") * 2 + 1)))
    graph.add(Node("relu", "Relu", ("x",), ("y",), opset=14))
    path = tmp_path / "model.onnx"
    path.write_bytes(write(graph))
    assert read_model(path).graph.value("y").shape == graph.value("y").shape


def test_weights_beyond_two_gibibytes_are_refused() -> None:
    graph = Graph("main", (), ("w",))
    graph.add_constant("w", np.broadcast_to(np.float32(0), (1 << 15, 1 << 15)))
    with pytest.raises(ModelError, match="AF123: graph 'main' has more than 2 GiB of weights"):
        write(graph)
    assert len(write(graph, weights=False)) < SMALL_BYTES
