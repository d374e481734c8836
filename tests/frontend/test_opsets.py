"""One small network in the form of several opsets is one canonical graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from autofusion.frontend import read_model
from autofusion.ir.text import dump_graph
from frontend.models import assert_same, model, node, random, read, run_graph, run_runtime, save, tensor

OPSETS = [7, 9, 11, 13, 17, 23]
FEEDS = {"x": random(9, 2, 3, 8, 8)}


def network(opset: int) -> onnx.ModelProto:
    """Pad, Conv, BatchNormalization, Clip, MaxPool, Dropout, ReduceMean, Squeeze, Gemm and Softmax."""
    weights: dict[str, np.ndarray] = {"w": random(1, 4, 3, 3, 3), "fw": random(2, 5, 4), "fb": random(3, 5)}
    for index, part in enumerate(("scale", "beta", "mean")):
        weights[part] = random(4 + index, 4)
    weights["var"] = np.abs(random(7, 4)) + np.float32(0.5)

    def moved(name: str, value: object, dtype: type[np.generic], since: int) -> tuple[str, Mapping[str, object]]:
        """What was an attribute before opset `since`, and is an operand from then on."""
        if opset < since:
            return "", {name.rpartition("_")[2]: value}
        weights[name] = np.array(value, dtype)
        return f" {name}", {}

    pads, pad_attributes = moved("pad_pads", [0, 0, 1, 1, 0, 0, 1, 1], np.int64, 11)
    low, low_attributes = moved("clip_min", 0.0, np.float32, 11)
    high, high_attributes = moved("clip_max", 6.0, np.float32, 11)
    ratio, ratio_attributes = moved("drop_ratio", 0.3, np.float32, 12)
    axes, axes_attributes = moved("mean_axes", [2, 3], np.int64, 18)
    squeezed, squeeze_attributes = moved("squeeze_axes", [2, 3], np.int64, 13)
    nodes = [
        node("Pad", f"x{pads}", "a", "pad", **pad_attributes),
        node("Conv", "a w", "b", "conv", kernel_shape=[3, 3], strides=[1, 1]),
        node("BatchNormalization", "b scale beta mean var", "c", "norm", epsilon=1e-3),
        node("Clip", f"c{low}{high}", "d", "clip", **low_attributes, **high_attributes),
        node("MaxPool", "d", "e", "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Dropout", f"e{ratio}", "f", "drop", **ratio_attributes),
        node("ReduceMean", f"f{axes}", "g", "mean", **axes_attributes),
        node("Squeeze", f"g{squeezed}", "h", "squeeze", **squeeze_attributes),
        node("Gemm", "h fw fb", "i", "gemm", transB=1),
        node("Softmax", "i", "y", "softmax", axis=1),
    ]
    ir = {7: 3, 9: 4, 11: 6, 13: 7}.get(opset, 10)
    inputs = [tensor("x", ["n", 3, 8, 8])]
    if ir < 4:
        inputs += [
            tensor(name, array.shape, onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
            for name, array in weights.items()
        ]
    return model(nodes, inputs, [tensor("y", ["n", 5])], weights, opset=opset, ir=ir)


def test_every_opset_gives_the_same_graph(tmp_path: Path) -> None:
    dumps = {opset: dump_graph(read(network(opset), tmp_path).graph) for opset in OPSETS}
    for opset, text in dumps.items():
        assert dumps[OPSETS[-1]] == text, opset


@pytest.mark.parametrize("opset", OPSETS)
def test_every_opset_gives_the_values_of_the_runtime(tmp_path: Path, opset: int) -> None:
    found = read_model(save(network(opset), tmp_path))
    assert_same(run_runtime(network(opset), FEEDS), run_graph(found.graph, FEEDS))
