"""Write snake_net.onnx: convolutions with operators that ONNX does not have."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

rng = np.random.default_rng(0)
WEIGHTS = {
    "w1": rng.standard_normal((16, 1, 7)) / 3,
    "f1": rng.uniform(0.5, 2.0, (16, 1)),
    "w2": rng.standard_normal((16, 16, 3)) / 7,
    "f2": rng.uniform(0.5, 2.0, (16, 1)),
}
NODES = [
    helper.make_node("Conv", ["x", "w1"], ["c1"], "block1/conv", pads=[3, 3]),
    helper.make_node("Snake", ["c1", "f1"], ["a1"], "block1/snake", domain="com.example"),
    helper.make_node("PixelNorm", ["a1"], ["n1"], "block1/norm", domain="com.example"),
    helper.make_node("Conv", ["n1", "w2"], ["c2"], "block2/conv", pads=[1, 1]),
    helper.make_node("Snake", ["c2", "f2"], ["a2"], "block2/snake", domain="com.example", epsilon=1e-6),
    helper.make_node("PixelNorm", ["a2"], ["y"], "block2/norm", domain="com.example", epsilon=1e-5),
]


def main() -> None:
    """Write the model into the current folder."""
    weights = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in WEIGHTS.items()]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 1, "samples"])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph(NODES, "snake_net", [x], [y], weights)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "snake_net.onnx")


if __name__ == "__main__":
    main()
