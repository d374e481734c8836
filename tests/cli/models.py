"""Small models that the commands work on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save_block(path: Path, *, second_reader: bool = False) -> None:
    """Two blocks of Conv, BatchNormalization and Relu, then pooling and a classifier; the batch is open.

    With `second_reader` the first block's convolution is read by another node as well, which forbids its fusion.
    """
    random = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: dict[str, np.ndarray] = {}
    value = "x"
    for index, (inputs, outputs) in enumerate([(3, 4), (4, 8)]):
        weights[f"w{index}"] = random.standard_normal((outputs, inputs, 3, 3)).astype(np.float32)
        for part in ("scale", "beta", "mean"):
            weights[f"{part}{index}"] = random.standard_normal(outputs).astype(np.float32)
        weights[f"var{index}"] = random.uniform(0.5, 2, outputs).astype(np.float32)
        norm = [f"{part}{index}" for part in ("scale", "beta", "mean", "var")]
        nodes.append(_node("Conv", f"conv{index}", [value, f"w{index}"], pads=[1, 1, 1, 1]))
        nodes.append(_node("BatchNormalization", f"bn{index}", [f"conv{index}_out", *norm]))
        nodes.append(_node("Relu", f"relu{index}", [f"bn{index}_out"]))
        value = f"relu{index}_out"
    if second_reader:
        nodes.append(_node("GlobalAveragePool", "pool", ["conv0_out"]))
        nodes.append(_node("Flatten", "flat", ["pool_out"]))
    outputs = [_tensor(value, ("batch", 8, 6, 6)), *([_tensor("flat_out", ("batch", 4))] if second_reader else [])]
    _save(path, nodes, [_tensor("x", ("batch", 3, 6, 6))], outputs, weights)


def save_sum(path: Path) -> None:
    """y = Relu(x + 1): results that every machine rounds alike."""
    nodes = [_node("Add", "add", ["x", "one"]), _node("Relu", "relu", ["add_out"])]
    inputs, outputs = [_tensor("x", ("n", 3))], [_tensor("relu_out", ("n", 3))]
    _save(path, nodes, inputs, outputs, {"one": np.ones(1, np.float32)})


def save_dense(path: Path) -> None:
    """A table, then two layers; numbers of few digits, so that every machine and two bytes hold the results alike."""
    random = np.random.default_rng(1)
    weights = {
        "table": random.integers(-8, 8, (11, 24)).astype(np.float32) / 8,
        "w0": random.integers(-8, 8, (24, 40)).astype(np.float32) / 8,
        "w1": random.integers(-8, 8, (40, 7)).astype(np.float32) / 8,
    }
    nodes = [
        _node("Gather", "rows", ["table", "x"]),
        _node("MatMul", "fc0", ["rows_out", "w0"]),
        _node("Relu", "relu", ["fc0_out"]),
        _node("MatMul", "fc1", ["relu_out", "w1"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.INT64, ["n"])]
    _save(path, nodes, inputs, [_tensor("fc1_out", ("n", 7))], weights)


def save_words(path: Path) -> None:
    """y = x over strings: no output is a number."""
    tensors = [helper.make_tensor_value_info(name, TensorProto.STRING, [2]) for name in ("x", "same_out")]
    _save(path, [_node("Identity", "same", ["x"])], tensors[:1], tensors[1:], {})


def save_odd(path: Path) -> None:
    """A Relu between two operators that nobody knows."""
    nodes = [_node("Frob", "frob", ["x"]), _node("Relu", "relu", ["frob_out"]), _node("Matmul", "mm", ["relu_out"])]
    nodes[0].domain = "com.example"
    graph = helper.make_graph(nodes, path.stem, [_tensor("x", (2,))], [_tensor("mm_out", (2,))])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), str(path))


def _node(op: str, name: str, inputs: list[str], **attributes: object) -> onnx.NodeProto:
    return helper.make_node(op, inputs, [f"{name}_out"], name=name, **attributes)


def _tensor(name: str, shape: tuple[int | str, ...]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _save(
    path: Path,
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    weights: dict[str, np.ndarray],
) -> None:
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))
