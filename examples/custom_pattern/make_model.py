"""Write star_net.onnx: two layers with StarReLU, the second with its square spelled as Pow."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

rng = np.random.default_rng(0)
WEIGHTS = {
    "w1": rng.standard_normal((64, 128)) / 8,
    "b1": rng.standard_normal(128),
    "w2": rng.standard_normal((128, 32)) / 11,
    "scale": np.array(0.8944),
    "shift": np.array(-0.4472),
    "two": np.array(2.0),
}
NODES = [
    helper.make_node("MatMul", ["x", "w1"], ["m1"], "layer1/product"),
    helper.make_node("Add", ["m1", "b1"], ["a1"], "layer1/bias"),
    helper.make_node("Relu", ["a1"], ["r1"], "layer1/relu"),
    helper.make_node("Mul", ["r1", "r1"], ["q1"], "layer1/square"),
    helper.make_node("Mul", ["q1", "scale"], ["s1"], "layer1/scale"),
    helper.make_node("Add", ["s1", "shift"], ["h"], "layer1/shift"),
    helper.make_node("MatMul", ["h", "w2"], ["m2"], "layer2/product"),
    helper.make_node("Relu", ["m2"], ["r2"], "layer2/relu"),
    helper.make_node("Pow", ["r2", "two"], ["q2"], "layer2/square"),
    helper.make_node("Mul", ["q2", "scale"], ["s2"], "layer2/scale"),
    helper.make_node("Add", ["s2", "shift"], ["y"], "layer2/shift"),
]


def main() -> None:
    """Write the model into the current folder."""
    weights = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in WEIGHTS.items()]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 64])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 32])
    graph = helper.make_graph(NODES, "star_net", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "star_net.onnx")


if __name__ == "__main__":
    main()
