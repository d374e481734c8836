"""Which convolutions are joined with the depthwise ones after them, and what the joined step does."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from autofusion.compiler import Compilation, compile_model
from autofusion.fusion import Controls
from autofusion.lowering.cost import CostModel
from autofusion.options import CompileOptions
from autofusion.precision import Precision
from autofusion.services.verify import verify_compilation

SIZE = 64
"""With 32 channels between the convolutions, an image of 512 KiB."""


def save_block(
    path: Path,
    *,
    batch: int = 1,
    size: int | str = SIZE,
    kernel: int = 1,
    channels: int = 8,
    filters: int = 32,
    group: int = 32,
    residual: bool = False,
    shown: bool = False,
    read_twice: bool = False,
) -> Path:
    """x -> Conv, Clip from 0 up -> Conv of groups, Relu -> Conv 1x1."""
    random = np.random.default_rng(3)
    shapes = {
        "w": (filters, channels, kernel, kernel),
        "d": (filters, filters // group, 3, 3),
        "p": (channels, filters, 1, 1),
    }
    weights = {name: random.standard_normal(shape).astype(np.float32) / 3 for name, shape in shapes.items()}
    weights |= {"b": random.standard_normal(filters).astype(np.float32), "low": np.zeros((), np.float32)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "first", pads=[kernel // 2] * 4),
        helper.make_node("Clip", ["c", "low"], ["e"], "first_act"),
        helper.make_node("Conv", ["e", "d", "b"], ["f"], "second", pads=[1] * 4, group=group),
    ]
    if residual:
        nodes.append(helper.make_node("Add", ["f", "b4"], ["g"], "add"))
        weights["b4"] = random.standard_normal((1, filters, SIZE, SIZE)).astype(np.float32)
    nodes.append(helper.make_node("Relu", ["g" if residual else "f"], ["h"], "second_act"))
    nodes.append(helper.make_node("Conv", ["h", "p"], ["y"], "third"))
    if read_twice:
        nodes.append(helper.make_node("Sin", ["e"], ["s"], "sine"))
    names = ["y", *(["e"] if shown else []), *(["s"] if read_twice else [])]
    graph = helper.make_graph(
        nodes,
        "block",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, channels, size, size])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def kernels(compiled: Compilation) -> list[str]:
    return [step.kernel for step in compiled.lowered.plan.steps if step.kernel != "relayout"]


JOINED = ["conv_depthwise", "conv"]


@pytest.mark.parametrize(
    ("changes", "is_joined"),
    [
        ({}, True),
        ({"size": SIZE - 1}, False),
        ({"size": "s"}, True),
        ({"kernel": 3, "channels": 7}, True),
        ({"kernel": 3, "channels": 8}, False),
        ({"group": 16}, False),
        ({"residual": True}, False),
        ({"shown": True}, False),
        ({"read_twice": True}, False),
    ],
)
def test_what_is_joined(tmp_path: Path, changes: dict[str, object], is_joined: bool) -> None:
    path = save_block(tmp_path / "block.onnx", **changes)  # type: ignore[arg-type]
    assert ("conv_depthwise" in kernels(compile_model(path))) == is_joined


@pytest.mark.parametrize(
    "controls",
    [
        Controls(auto_fusion=False),
        Controls(no_fusion_ops={"Conv": "a test"}),
        Controls(skip_nodes={"second": "a test"}),
        Controls(scope={"first*": "a test"}),
    ],
)
def test_nodes_that_may_not_fuse_are_left_alone(tmp_path: Path, controls: Controls) -> None:
    path = save_block(tmp_path / "block.onnx")
    assert "conv_depthwise" not in kernels(compile_model(path, CompileOptions(controls=controls)))


def test_a_reference_plan_keeps_both_steps(tmp_path: Path) -> None:
    compiled = compile_model(save_block(tmp_path / "block.onnx"), CompileOptions(backend="reference"))
    assert kernels(compiled) == ["conv"] * 3


def test_the_step_stands_for_both_nodes(tmp_path: Path) -> None:
    compiled = compile_model(save_block(tmp_path / "block.onnx"))
    assert kernels(compiled) == JOINED
    lowered = compiled.lowered
    step = next(step for step in lowered.plan.steps if step.kernel == "conv_depthwise")
    assert step.origin == ("first", "first_act", "second", "second_act")
    place = lowered.plan.steps.index(step)
    assert all(place in lowered.steps_of[node] for node in ("first_act", "second_act"))
    assert "e" not in lowered.plan.buffers
    assert len(compiled.report.fused) == 2
    assert compiled.report.steps == len(lowered.plan.steps)


def test_both_weights_may_have_two_bytes(tmp_path: Path) -> None:
    options = CompileOptions(precision=Precision("allow_fp32_to_fp16"))
    lowered = compile_model(save_block(tmp_path / "block.onnx"), options).lowered
    (step,) = (step for step in lowered.plan.steps if step.kernel == "conv_depthwise")
    assert [lowered.plan.buffers[step.inputs[place]].dtype for place in (1, 2, 3)] == ["float16", "float", "float16"]


def test_the_time_of_the_step_is_shared_by_arithmetic(tmp_path: Path) -> None:
    compiled = compile_model(save_block(tmp_path / "block.onnx"))
    model = CostModel(compiled.graph, lowered=compiled.lowered)
    first, second = (compiled.graph.node(name) for name in ("first_act", "second_act"))
    (index,) = compiled.lowered.steps_of["second_act"]
    whole = model.fused_seconds([first, second])
    assert whole == pytest.approx(model.fused_seconds([first]) + model.fused_seconds([second]))
    assert 0 < model.fused_seconds([first]) < whole
    assert model.step_work(index).flops == sum(model.estimate(node).flops for node in (first, second))


def test_verification_compares_both_nodes_by_the_last_result(tmp_path: Path) -> None:
    path = save_block(tmp_path / "block.onnx")
    compiled = compile_model(path)
    found = verify_compilation(path, compiled, seeds=(0,))
    assert found.ok
    assert {row.node: row.result.name for row in found.nodes} == {"first_act": "h", "second_act": "h"}


@pytest.mark.parametrize("place", [1, 3])
def test_verification_finds_a_wrong_weight_of_either(tmp_path: Path, place: int) -> None:
    path = save_block(tmp_path / "block.onnx")
    compiled = compile_model(path)
    plan = compiled.lowered.plan
    step = next(step for step in plan.steps if step.kernel == "conv_depthwise")
    tensor = plan.buffers[step.inputs[place]].tensor
    assert tensor is not None
    weights = [array.copy() for array in compiled.lowered.weights]
    weights[tensor].reshape(-1)[:16] *= 1.1
    broken = replace(compiled, lowered=replace(compiled.lowered, weights=tuple(weights)))
    found = verify_compilation(path, broken, seeds=(0,), bisect=False)
    assert [row.ok for row in found.nodes] == [False, False]


def test_it_runs_at_any_extent(tmp_path: Path) -> None:
    path = save_block(tmp_path / "block.onnx", size="s")
    found = verify_compilation(path, compile_model(path), seeds=(0,), sizes=[{"s": size} for size in (1, 2, 17, 64)])
    assert found.ok


def test_of_an_empty_batch_there_is_a_report(tmp_path: Path) -> None:
    compiled = compile_model(save_block(tmp_path / "block.onnx", batch=0))
    assert "conv_depthwise" in kernels(compiled)
    assert all(0 < count.estimated_speedup < math.inf for count in compiled.report.patterns)
