"""Models in the fields of CANN's ModelDef."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from autofusion.frontend.model_def import describe_model
from frontend.models import model, node, tensor


def describe(proto: onnx.ModelProto, *, shapes: bool = True) -> dict[str, Any]:
    return describe_model(proto.SerializeToString(), {"producer": "test"}, shapes=shapes)


def operators(proto: onnx.ModelProto) -> dict[str, Any]:
    return {op["name"]: op for op in describe(proto)["graph"][0]["op"]}


def test_values_are_named_by_producer_and_place() -> None:
    nodes = [node("Split", "x", "a b", "cut", axis=0), node("Clip", "b _ top", "y", "clip")]
    proto = model(nodes, [tensor("x", [4, "n"])], [tensor("y", None)], {"top": np.array(1, np.float32)})
    (graph,) = describe(proto)["graph"]
    assert (graph["input"], graph["output"]) == (["x:0"], ["clip:0"])
    found = operators(proto)
    assert [found[name]["type"] for name in ("x", "top", "cut", "clip", "Node_Output")] == [
        "Data",
        "Const",
        "Split",
        "Clip",
        "NetOutput",
    ]
    assert found["clip"]["input"] == ["cut:1", "", "top:0"]
    assert [op["id"] for op in graph["op"]] == list(range(5))
    assert found["x"]["output_desc"][0]["shape"] == {"dim": [4, -1]}
    assert found["clip"]["output_desc"] == [{"name": "y", "dtype": "DT_FLOAT", "layout": "ND", "shape": {"dim": [-2]}}]
    assert found["cut"]["output_desc"][0] == {"name": "a", "dtype": "DT_UNDEFINED", "layout": "ND"}


def test_attributes_of_every_kind() -> None:
    given: dict[str, Any] = {
        "f": 0.1,
        "fs": [1.0, 2.5],
        "i": 3,
        "is": [1, 2],
        "s": b'a"\\\x00',
        "ss": ["x", "y"],
        "t": numpy_helper.from_array(np.array([1, -1], np.int8)),
        "words": numpy_helper.from_array(np.array(["a", "b"], object)),
    }
    proto = helper.make_model(helper.make_graph([helper.make_node("Odd", ["x"], ["y"], "odd", **given)], "g", [], []))
    attributes = {entry["key"]: entry["value"] for entry in operators(proto)["odd"]["attr"]}
    desc = {"layout": "ND", "shape": {"dim": [2]}}
    assert attributes == {
        "f": {"f": "0.1"},
        "fs": {"list": {"f": ["1", "2.5"], "val_type": "VT_LIST_FLOAT"}},
        "i": {"i": 3},
        "is": {"list": {"i": [1, 2], "val_type": "VT_LIST_INT"}},
        "s": {"s": 'a"\\\\\\000'},
        "ss": {"list": {"s": ["x", "y"], "val_type": "VT_LIST_STRING"}},
        "t": {"t": {"desc": {"dtype": "DT_INT8", **desc}, "data": "\\001\\377"}},
        "words": {"t": {"desc": {"dtype": "DT_STRING", **desc}, "data": "a\\000b"}},
    }


def test_control_flow_graphs_follow_the_main_one() -> None:
    branches = {
        name: helper.make_graph([node(op, "x", "r", f"{op}_0")], "branch", [], [tensor("r", [2])])
        for name, op in (("then_branch", "Relu"), ("else_branch", "Neg"))
    }
    inputs = [tensor("x", [2]), tensor("c", [], TensorProto.BOOL)]
    proto = model([node("If", "c", "y", "choice", "", **branches)], inputs, [tensor("y", [2])])
    main, *nested = describe(proto)["graph"]
    choice = next(op for op in main["op"] if op["name"] == "choice")
    assert sorted(choice["subgraph_name"]) == sorted(graph["name"] for graph in nested)
    assert len({graph["name"] for graph in nested}) == 2
    assert {graph["op"][0]["type"]: graph["op"][0]["input"] for graph in nested} == {"Relu": ["x:0"], "Neg": ["x:0"]}


def test_inner_shapes_are_left_out_on_request() -> None:
    proto = model([node("Relu", "x", "y", "relu")], [tensor("x", [2])], [tensor("y", [2])])
    data, relu, _ = describe(proto, shapes=False)["graph"][0]["op"]
    assert "shape" in data["output_desc"][0]
    assert "shape" not in relu["output_desc"][0]


def test_what_an_input_defaults_to_is_no_constant() -> None:
    inputs = [tensor("x", [1]), tensor("k", [1])]
    proto = model([node("Add", "x k", "y", "add")], inputs, [tensor("y", [1])], {"k": np.ones(1, np.float32)})
    found = operators(proto)
    assert [found[name]["type"] for name in ("x", "k")] == ["Data", "Data"]
    assert describe(proto)["graph"][0]["input"] == ["x:0", "k:0"]
