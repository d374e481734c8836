"""A model that fuses into two nodes, and the same with one thing changed that forbids one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Change = Literal["", "reader", "bias", "weight", "training"]


def save_changed(path: Path, change: Change = "") -> None:
    """Conv, BatchNormalization and Relu, then MatMul, Add and Sigmoid, with `change` made to it.

    reader: the convolution is read by one node more; bias: the bias runs along the rows; weight: the matrix is
    given at run time; training: the normalization computes its statistics.
    """
    random = np.random.default_rng(0)

    def constant(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(random.uniform(0.5, 1.5, shape).astype(np.float32), name)

    def tensor(name: str, *shape: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    norm = ["scale", "beta", "mean", "var"]
    training, results = ({"training_mode": 1}, ["n", "new_mean", "new_var"]) if change == "training" else ({}, ["n"])
    nodes = [
        helper.make_node("Conv", ["x", "filter"], ["c"], name="conv"),
        helper.make_node("BatchNormalization", ["c", *norm], results, name="bn", **training),
        helper.make_node("Relu", ["n"], ["r"], name="relu"),
        helper.make_node("Flatten", ["r"], ["f"], name="flat"),
        helper.make_node("MatMul", ["f", "matrix"], ["m"], name="dense"),
        helper.make_node("Add", ["m", "bias"], ["s"], name="shift"),
        helper.make_node("Sigmoid", ["s"], ["y"], name="gate"),
    ]
    inputs, outputs = [tensor("x", 2, 3, 4, 4)], [tensor("y", 2, 5)]
    weights = [constant("filter", 4, 3, 1, 1), *(constant(name, 4) for name in norm)]
    weights.append(constant("bias", *((2, 1) if change == "bias" else (5,))))
    if change == "reader":
        nodes.append(helper.make_node("Neg", ["c"], ["extra"], name="spy"))
        outputs.append(tensor("extra", 2, 4, 4, 4))
    if change == "weight":
        inputs.append(tensor("matrix", 64, 5))
    else:
        weights.append(constant("matrix", 64, 5))
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))
