"""Convolutions and their pools: which become one step, which change places, which stay as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from autofusion.compiler import Compilation, compile_model
from autofusion.fusion import Controls
from autofusion.options import CompileOptions
from autofusion.services.verify import verify_compilation


def save_block(
    path: Path,
    pool: str = "MaxPool",
    *,
    size: int | str = 36,
    kernel: int = 3,
    filters: int = 32,
    group: int = 1,
    act: bool = True,
    channels: int = 8,
    residual: bool = False,
    shown: bool = False,
    strides: int = 2,
    **attributes: object,
) -> Path:
    """x -> Conv, Add, Relu -> pool."""
    random = np.random.default_rng(3)
    weights = {"w": random.standard_normal((filters, channels // group, kernel, kernel)).astype(np.float32) / 3}
    weights |= {"b": random.standard_normal(filters).astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[kernel // 2] * 4, group=group)]
    nodes += [helper.make_node("Add", ["c", "z"], ["a"], "add")] if residual else []
    nodes += [helper.make_node("Relu", [nodes[-1].output[0]], ["r"], "act")] if act else []
    last = nodes[-1].output[0]
    if not pool.startswith("Global"):
        attributes = {"kernel_shape": [3, 3], "strides": [strides] * 2, "pads": [1] * 4, **attributes}
    nodes.append(helper.make_node(pool, [last], ["y"], "pool", **attributes))
    shapes = {"x": [1, channels, size, size], **({"z": [1, filters, size, size]} if residual else {})}
    graph = helper.make_graph(
        nodes,
        "block",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", *([last] if shown else []))],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def kernels(compiled: Compilation) -> list[str]:
    return [step.kernel for step in compiled.lowered.plan.steps if step.kernel != "relayout"]


APART, JOINED, SWAPPED = ["conv", "pool"], ["conv_pool"], ["pool", "conv"]
LINEAR = {"pool": "AveragePool", "kernel": 1, "act": False}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, JOINED),
        ({"residual": True}, JOINED),
        ({"group": 4}, JOINED),
        ({"size": 31}, JOINED),
        ({"size": 30}, APART),
        ({"size": "s"}, APART),
        ({"filters": 8, "group": 8}, APART),
        ({"shown": True}, APART),
        ({"pool": "AveragePool", "count_include_pad": 1, "ceil_mode": 1}, JOINED),
        ({"pool": "GlobalMaxPool", "size": "s"}, JOINED),
        ({"pool": "GlobalAveragePool", "residual": True}, JOINED),
        ({"pool": "GlobalAveragePool", "filters": 31}, APART),
        ({"pool": "GlobalAveragePool", "group": 2}, APART),
        (LINEAR, SWAPPED),
        (LINEAR | {"group": 4, "count_include_pad": 1, "pads": [0, 0, 0, 0]}, SWAPPED),
        (LINEAR | {"pool": "GlobalAveragePool"}, SWAPPED),
        (LINEAR | {"count_include_pad": 1}, JOINED),
        (LINEAR | {"strides": 1}, JOINED),
        (LINEAR | {"act": True}, JOINED),
        (LINEAR | {"residual": True}, JOINED),
        (LINEAR | {"kernel": 3}, JOINED),
        (LINEAR | {"pool": "MaxPool"}, JOINED),
    ],
)
def test_steps(tmp_path: Path, changes: dict[str, object], expected: list[str]) -> None:
    """Each is right as well, as verification finds."""
    path = save_block(tmp_path / "block.onnx", **changes)  # type: ignore[arg-type]
    compiled = compile_model(path)
    assert kernels(compiled) == expected
    assert verify_compilation(path, compiled, seeds=(0,)).ok


@pytest.mark.parametrize(
    "controls",
    [
        Controls(auto_fusion=False),
        Controls(no_fusion_ops={"MaxPool": "a test"}),
        Controls(skip_nodes={"pool": "a test"}),
    ],
)
def test_nodes_that_may_not_fuse_are_left_alone(tmp_path: Path, controls: Controls) -> None:
    path = save_block(tmp_path / "block.onnx", act=False)
    assert kernels(compile_model(path, CompileOptions(controls=controls))) == APART


def test_a_reference_plan_keeps_both_steps(tmp_path: Path) -> None:
    compiled = compile_model(save_block(tmp_path / "block.onnx"), CompileOptions(backend="reference"))
    assert kernels(compiled) == APART


def test_the_step_stands_for_all_operators(tmp_path: Path) -> None:
    compiled = compile_model(save_block(tmp_path / "block.onnx", residual=True))
    (step,) = [step for step in compiled.lowered.plan.steps if step.kernel == "conv_pool"]
    assert step.origin == ("conv", "add", "act", "pool")
    assert {"r", "a", "c"}.isdisjoint(compiled.lowered.plan.buffers)


def test_a_pooled_convolution_may_take_winograds_filtering(tmp_path: Path) -> None:
    path = save_block(tmp_path / "block.onnx", filters=32, size=112, channels=32)
    (step,) = [step for step in compile_model(path).lowered.plan.steps if step.kernel == "conv_pool"]
    assert step.attributes["winograd"] == 4
    exact = compile_model(path, CompileOptions(exact=True))
    assert "winograd" not in next(step for step in exact.lowered.plan.steps if step.kernel == "conv_pool").attributes
