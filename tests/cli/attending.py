"""An ONNX model with one attention between its heads, and the same with another softmax axis."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save_attending(path: Path, *, axis: int = -1) -> Path:
    """softmax(q k / 2 + mask) v of rows split in three heads; square, so that every axis would do."""

    def tensor(name: str, *shape: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    nodes: list[onnx.NodeProto] = []
    for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes.append(helper.make_node("Reshape", [name, "heads"], [f"{name}_split"], name=f"{name}_split"))
        turned = helper.make_node("Transpose", [f"{name}_split"], [f"{name}_heads"], name=f"{name}_heads", perm=perm)
        nodes.append(turned)
    nodes += [
        helper.make_node("MatMul", ["q_heads", "k_heads"], ["scores"], name="scores"),
        helper.make_node("Div", ["scores", "two"], ["scaled"], name="scaled"),
        helper.make_node("Add", ["scaled", "mask"], ["masked"], name="masked"),
        helper.make_node("Softmax", ["masked"], ["weights"], name="weights", axis=axis),
        helper.make_node("MatMul", ["weights", "v_heads"], ["context"], name="context"),
        helper.make_node("Transpose", ["context"], ["rows"], name="rows", perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["rows", "width"], ["y"], name="merge"),
    ]
    weights = [
        numpy_helper.from_array(np.array([2, 3, 3, 4]), "heads"),
        numpy_helper.from_array(np.array([2, 3, 12]), "width"),
        numpy_helper.from_array(np.array(2, np.float32), "two"),
    ]
    inputs = [*(tensor(name, 2, 3, 12) for name in "qkv"), tensor("mask", 2, 1, 1, 3)]
    graph = helper.make_graph(nodes, path.stem, inputs, [tensor("y", 2, 3, 12)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))
    return path
