from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from autofusion.errors import ModelError
from autofusion.frontend import read_model
from autofusion.ir import DType, symbol
from autofusion.ir.text import dump_graph
from autofusion.ir.verify import verify_graph
from frontend.models import (
    BOOL,
    INT64,
    assert_same,
    model,
    node,
    random,
    read,
    run_graph,
    run_runtime,
    save,
    tensor,
)

X, Y = tensor("x", [2, 3]), tensor("y", None)


def perceptron() -> onnx.ModelProto:
    nodes = [node("MatMul", "x w", "m", "first"), node("Add", "m b", "a", "second"), node("Relu", "a", "y", "third")]
    return model(nodes, [X], [tensor("y", [2, 4])], {"w": random(1, 3, 4), "b": random(2, 4)})


def test_what_the_file_says_of_itself(tmp_path: Path) -> None:
    proto = perceptron()
    proto.producer_name, proto.producer_version = "exporter", "2.1"
    proto.opset_import.append(helper.make_opsetid("com.example", 3))
    found = read(proto, tmp_path)
    assert (found.ir_version, found.producer, found.path) == (8, "exporter 2.1", "model.onnx")
    assert found.opsets == {"": 17, "com.example": 3}
    assert (found.operator_count, found.input_dims) == (3, {"x": ("2", "3")})
    assert (found.graph.name, found.graph.inputs, found.graph.outputs) == ("main", ("x",), ("y",))


def test_types_and_shapes_follow_without_declarations(tmp_path: Path) -> None:
    graph = read(perceptron(), tmp_path).graph
    verify_graph(graph, "reading")
    assert (graph.value("a").dtype, graph.value("a").shape) == (DType.FLOAT, (2, 4))
    assert_same(run_runtime(perceptron(), {"x": random(3, 2, 3)}), run_graph(graph, {"x": random(3, 2, 3)}))


def test_wrong_declarations_of_inner_values_do_not_count(tmp_path: Path) -> None:
    proto = perceptron()
    proto.graph.value_info.extend([tensor("m", [7, 7, 7]), tensor("a", [1], INT64), tensor("gone", [1])])
    graph = read(proto, tmp_path).graph
    assert [graph.value(name).shape for name in "ma"] == [(2, 4), (2, 4)]
    assert graph.value("a").dtype is DType.FLOAT


def test_declarations_count_for_operators_of_other_domains(tmp_path: Path) -> None:
    ml = "ai.onnx.ml"
    nodes = [node("Normalizer", "x", "a", domain=ml), node("Normalizer", "a", "b", domain=ml), node("Relu", "b", "y")]
    proto = model(nodes, [tensor("x", ["n", 3])], [Y], domains={ml: 3, "com.example": 1})
    proto.graph.value_info.extend([tensor("a", ["n", 3]), tensor("b", ["elsewhere", 3])])
    graph = read(proto, tmp_path).graph
    first = graph.topological()[0]
    assert (first.opaque, first.domain, first.opset) == (True, ml, 3)
    assert graph.value("a").shape == (symbol("n"), 3)
    assert (graph.value("b").shape, graph.value("b").dtype) == (None, DType.FLOAT)
    # Only the domains that nodes use are kept.
    assert sorted(graph.opsets) == ["", ml]


def test_the_order_of_nodes_does_not_matter(tmp_path: Path) -> None:
    nodes = [node("Relu", f"v{index}", f"v{index + 1}") for index in range(9)]
    nodes += [node("Add", f"v{index} v9", f"w{index}") for index in range(9)]
    nodes += [node("Sum", " ".join(f"w{index}" for index in range(9)), "y"), node("Neg", "v3", "dead")]
    dumps: set[str] = set()
    for seed in range(4):
        Random(seed).shuffle(nodes)
        dumps.add(dump_graph(read(model(nodes, [tensor("v0", [2])], [Y]), tmp_path).graph))
    assert len(dumps) == 1


def test_names_are_unique_and_origins_are_those_of_the_file(tmp_path: Path) -> None:
    names = ["same", "same", "", "Neg_2", "same"]
    nodes = [node("Neg", f"v{index}", f"v{index + 1}", name) for index, name in enumerate(names)]
    graph = read(model(nodes, [tensor("v0", [2])], [tensor("v5", [2])]), tmp_path).graph
    assert [item.name for item in graph] == ["same", "same_1", "Neg_2_1", "Neg_2", "same_2"]
    assert [item.origin for item in graph] == [("same",), ("same",), ("Neg_2",), ("Neg_2",), ("same",)]


def test_awkward_names_are_kept(tmp_path: Path) -> None:
    x, weight, y = "in put", "../../w\"'", "out:0\t;{}%s \u5f20"
    nodes = [helper.make_node("MatMul", [x, weight], [y], name="a/b c")]
    found = read(model(nodes, [tensor(x, [2, 3])], [tensor(y, [2, 4])], {weight: random(1, 3, 4)}), tmp_path)
    assert (found.graph.inputs, found.graph.outputs, list(found.graph.constants)) == ((x,), (y,), [weight])


def sparse(name: str, values: list[float], places: list[int], shape: list[int]) -> onnx.SparseTensorProto:
    elements = numpy_helper.from_array(np.array(values, np.float32), name)
    return helper.make_sparse_tensor(elements, numpy_helper.from_array(np.array(places), "places"), shape)


VALUES: list[tuple[dict[str, object], np.ndarray]] = [
    (
        {"value": numpy_helper.from_array(np.arange(6, dtype=np.int8).reshape(2, 3))},
        np.arange(6, dtype=np.int8).reshape(2, 3),
    ),
    ({"value_float": 2.5}, np.array(2.5, np.float32)),
    ({"value_floats": [1.0, -1.0]}, np.array([1, -1], np.float32)),
    ({"value_int": 7}, np.array(7, np.int64)),
    ({"value_ints": [3, -1]}, np.array([3, -1], np.int64)),
    ({"value_string": "a"}, np.array("a", object)),
    ({"value_strings": ["a", ""]}, np.array(["a", ""], object)),
    ({"sparse_value": sparse("k", [5.0], [2], [4])}, np.array([0, 0, 5, 0], np.float32)),
]


@pytest.mark.parametrize(("attributes", "value"), VALUES, ids=[next(iter(attributes)) for attributes, _ in VALUES])
def test_constant_nodes_of_every_form_become_constants(
    tmp_path: Path, attributes: dict[str, object], value: np.ndarray
) -> None:
    output = tensor(
        "k", value.shape, helper.np_dtype_to_tensor_dtype(value.dtype) if value.dtype != object else TensorProto.STRING
    )
    found = read(model([node("Constant", "", "k", **attributes)], [], [output]), tmp_path)
    array = found.graph.constants["k"]
    assert (len(found.graph), found.operator_count) == (0, 0)
    assert (array.dtype, array.shape, array.flags.writeable) == (value.dtype, value.shape, False)
    np.testing.assert_array_equal(value, array)


def listed_weights(ir: int) -> onnx.ModelProto:
    """Every initialiser is an input as well."""
    proto = perceptron()
    proto.ir_version = ir
    proto.graph.input.extend([tensor("w", [3, 4]), tensor("b", [4])])
    return proto


def test_before_ir_4_listed_initialisers_are_constants(tmp_path: Path) -> None:
    graph = read(listed_weights(3), tmp_path).graph
    assert (graph.inputs, sorted(graph.constants), graph.defaults) == (("x",), ["b", "w"], {})


def test_from_ir_4_listed_initialisers_are_defaults(tmp_path: Path) -> None:
    graph = read(listed_weights(4), tmp_path).graph
    assert (graph.inputs, graph.constants, sorted(graph.defaults)) == (("x", "w", "b"), {}, ["b", "w"])
    feeds = {"x": random(3, 2, 3), "w": random(4, 3, 4)}
    assert_same(run_runtime(listed_weights(4), feeds), run_graph(graph, feeds))


def test_inputs_and_initialisers_may_be_outputs(tmp_path: Path) -> None:
    proto = model([node("Relu", "x", "a")], [X], [X, tensor("k", [2]), tensor("a", [2, 3])], {"k": random(0, 2)})
    graph = read(proto, tmp_path).graph
    verify_graph(graph, "reading")
    assert_same(run_runtime(proto, {"x": random(3, 2, 3)}), run_graph(graph, {"x": random(3, 2, 3)}))


def test_a_graph_without_nodes(tmp_path: Path) -> None:
    graph = read(model([], [X], [X]), tmp_path).graph
    assert (len(graph), graph.inputs, graph.outputs) == (0, ("x",), ("x",))


def test_empty_places_at_the_end_are_dropped(tmp_path: Path) -> None:
    proto = model(
        [node("Clip", "x _ hi", "a"), node("Clip", "a _ _", "y")], [X], [Y], {"hi": np.array(0.5, np.float32)}
    )
    first, second = read(proto, tmp_path).graph.topological()
    assert (first.inputs, second.inputs) == (("x", "", "hi"), ("a",))


def test_sparse_initialisers_are_written_out(tmp_path: Path) -> None:
    proto = model([node("MatMul", "x w", "y")], [X], [Y])
    proto.graph.sparse_initializer.append(sparse("w", [1.5, 2], [1, 11], [3, 4]))
    assert np.count_nonzero(read(proto, tmp_path).graph.constants["w"]) == 2


def branch(*nodes: onnx.NodeProto, output: str, weights: dict[str, np.ndarray] | None = None) -> onnx.GraphProto:
    initializers = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    return helper.make_graph(list(nodes), "branch", [], [tensor(output, None)], initializers)


def test_branches_become_nested_graphs_that_capture(tmp_path: Path) -> None:
    then = branch(node("Add", "hidden k", "t"), output="t", weights={"k": random(1, 3)})
    other = branch(node("Mul", "hidden outer", "e"), output="e")
    nodes = [node("If", "c", "y", "choice", then_branch=then, else_branch=other), node("Relu", "x", "hidden")]
    proto = model(nodes, [X, tensor("c", [], BOOL)], [Y], {"outer": random(2, 2, 3)})
    found = read(proto, tmp_path)
    verify_graph(found.graph, "reading")
    nested = dict(found.graph.node("choice").subgraphs())
    assert nested["then_branch"].captures() == ("hidden",)
    assert nested["else_branch"].captures() == ("hidden", "outer")
    assert nested["then_branch"].value("t").shape == (2, 3)
    assert found.graph.value("y").shape == (2, 3)
    assert found.operator_count == 4
    for condition in (True, False):
        feeds = {"x": random(3, 2, 3), "c": np.array(condition)}
        assert_same(run_runtime(proto, feeds), run_graph(found.graph, feeds))


def test_a_branch_may_hide_no_outer_name(tmp_path: Path) -> None:
    then = branch(node("Neg", "x", "a"), node("Abs", "a", "t"), output="t")
    other = branch(node("Neg", "a", "t"), output="t")
    nodes = [node("Relu", "x", "a"), node("If", "c", "y", "choice", then_branch=then, else_branch=other)]
    graph = read(model(nodes, [X, tensor("c", [], BOOL)], [Y]), tmp_path).graph
    nested = dict(graph.node("choice").subgraphs())
    assert [item.results for item in nested["then_branch"]] == [("a_1",), ("t",)]
    assert nested["else_branch"].captures() == ("a",)


def test_a_loop_body_knows_what_it_is_given(tmp_path: Path) -> None:
    body = helper.make_graph(
        [node("Identity", "c", "c_out"), node("Add", "s x", "s_out"), node("Identity", "i", "i_out")],
        "body",
        [tensor("i", [], INT64), tensor("c", [], BOOL), tensor("s", [2])],
        [tensor("c_out", [], BOOL), tensor("s_out", [2]), tensor("i_out", [], INT64)],
    )
    weights = {"trip": np.array(3), "cond": np.array(True), "z": np.zeros(2, np.float32)}
    proto = model(
        [node("Loop", "trip cond z", "y its", "loop", body=body)],
        [tensor("x", [2])],
        [tensor("y", [2]), tensor("its", [3], INT64)],
        weights,
    )
    graph = read(proto, tmp_path).graph
    nested = dict(graph.node("loop").subgraphs())["body"]
    assert [nested.value(name).shape for name in ("i", "c", "s", "s_out")] == [(), (), (2,), (2,)]
    assert_same(run_runtime(proto, {"x": random(3, 2)}), run_graph(graph, {"x": random(3, 2)}))


def test_a_state_that_may_change_its_shape_is_not_trusted(tmp_path: Path) -> None:
    body = helper.make_graph(
        [node("Identity", "c", "c_out"), node("Concat", "s s", "s_out", axis=0)],
        "body",
        [tensor("i", [], INT64), tensor("c", [], BOOL), tensor("s", [4])],
        [tensor("c_out", [], BOOL), tensor("s_out", None)],
    )
    weights = {"trip": np.array(3), "cond": np.array(True)}
    proto = model([node("Loop", "trip cond x", "y", "loop", body=body)], [tensor("x", [2])], [Y], weights)
    nested = dict(read(proto, tmp_path).graph.node("loop").subgraphs())["body"]
    assert (nested.value("s").dtype, nested.value("s").shape) == (DType.FLOAT, None)


@pytest.mark.parametrize("declared", [tensor("y", None), tensor("y", []), tensor("y", ["m", "k"])])
def test_missing_output_shapes_are_worked_out(tmp_path: Path, declared: onnx.ValueInfoProto) -> None:
    nodes = [node("Relu", "x", "a"), node("Concat", "a x", "y", axis=1)]
    graph = read(model(nodes, [tensor("x", ["n", 2])], [declared]), tmp_path).graph
    assert graph.value("y").shape == (symbol("n"), 4)


def test_contradictions_found_by_inference_are_refused(tmp_path: Path) -> None:
    path = save(model([node("MatMul", "x w", "y", "mm")], [X], [Y], {"w": random(1, 5, 4)}), tmp_path)
    with pytest.raises(ModelError, match="MatMul node 'mm'"):
        read_model(path)
