"""Write `test_model.onnx`: three Conv+BN+ReLU blocks, global average pooling and a linear classifier.

The graph is what PyTorch's exporter writes with training=PRESERVE, so that its BatchNormalization
nodes are still there.  The weights are random, with a spread that keeps activations of order one.

    python make_model.py [FOLDER]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS = (3, 64, 128, 256)
CLASSES = 1000
IMAGE = 224
OPSET = 17


def make_block(
    index: int, source: str, random: np.random.Generator
) -> tuple[list[onnx.NodeProto], dict[str, np.ndarray]]:
    """One Conv+BN+ReLU block that reads value `source`: its nodes, the last of which yields its result, and weights."""
    inner, outer = CHANNELS[index : index + 2]
    stem = f"layers.{index}"
    convolved, normalised, result = (f"/{stem}/{name}_output_0" for name in ("Conv", "BatchNormalization", "Relu"))
    weights = {
        f"{stem}.conv.weight": random.normal(0, math.sqrt(2 / (9 * inner)), (outer, inner, 3, 3)),
        f"{stem}.bn.weight": random.uniform(0.8, 1.2, outer),
        f"{stem}.bn.bias": random.normal(0, 0.1, outer),
        f"{stem}.bn.running_mean": random.normal(0, 0.1, outer),
        f"{stem}.bn.running_var": random.uniform(0.8, 1.2, outer),
    }
    kernel, *statistics = weights
    geometry = {"dilations": [1, 1], "group": 1, "kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [1, 1]}
    nodes = [
        helper.make_node("Conv", [source, kernel], [convolved], f"/{stem}/conv/Conv", **geometry),
        helper.make_node(
            "BatchNormalization",
            [convolved, *statistics],
            [normalised],
            f"/{stem}/bn/BatchNormalization",
            epsilon=1e-5,
            momentum=0.9,
            training_mode=0,
        ),
        helper.make_node("Relu", [normalised], [result], f"/{stem}/relu/Relu"),
    ]
    return nodes, weights


def make_model(seed: int = 0) -> onnx.ModelProto:
    """The checked model; the same for the same seed."""
    random = np.random.default_rng(seed)
    source = "input"
    nodes: list[onnx.NodeProto] = []
    weights: dict[str, np.ndarray] = {}
    for index in range(len(CHANNELS) - 1):
        block_nodes, block_weights = make_block(index, source, random)
        nodes += block_nodes
        weights |= block_weights
        source = block_nodes[-1].output[0]

    features = CHANNELS[-1]
    weights["layers.5.weight"] = random.normal(0, math.sqrt(1 / features), (CLASSES, features))
    weights["layers.5.bias"] = random.normal(0, 0.1, CLASSES)
    nodes += [
        helper.make_node("GlobalAveragePool", [source], ["pooled"], "/layers.3/GlobalAveragePool"),
        helper.make_node("Flatten", ["pooled"], ["features"], "/layers.4/Flatten", axis=1),
        helper.make_node(
            "Gemm", ["features", "layers.5.weight", "layers.5.bias"], ["output"], "/layers.5/Gemm", transB=1
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "test_model",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, CHANNELS[0], IMAGE, IMAGE])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, CLASSES])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="make_model")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "test_model.onnx"
    onnx.save(make_model(), path)
    print(path)
