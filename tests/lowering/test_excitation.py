"""Which steps squeeze and excitation becomes, and that they compute the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from autofusion.compiler import Compilation, compile_model
from autofusion.fusion import Controls
from autofusion.lowering.records import Backend
from autofusion.options import CompileOptions
from autofusion.precision import Precision
from autofusion.services.verify import verify_compilation


def save_block(
    path: Path,
    *,
    matrices: bool = False,
    group: int = 16,
    batch: int | str = 2,
    last: str = "Conv",
    kernel: int = 1,
    read_twice: bool = False,
    shown: bool = False,
    residual: bool = True,
    activated: bool = True,
) -> Path:
    """x -> Conv of groups, Relu -> squeeze and excitation -> Conv, Add."""
    random = np.random.default_rng(5)
    flat: list[int] = [] if matrices else [1, 1]
    shapes = {
        "d": (16, 16 // group, 3, 3),
        "r": (16, 4) if matrices else (4, 16, *flat),
        "rb": (4,),
        "e": (4, 16) if matrices else (16, 4, *flat),
        "eb": (16,),
        "p": (24, 16, kernel, kernel),
    }
    weights = {name: random.standard_normal(shape).astype(np.float32) / 2 for name, shape in shapes.items()}
    nodes = [
        helper.make_node("Conv", ["x", "d"], ["c"], "depthwise", pads=[1] * 4, group=group),
        helper.make_node("Relu" if activated else "Identity", ["c"], ["i"], "act"),
        helper.make_node("GlobalAveragePool", ["i"], ["m"], "squeeze"),
    ]
    if matrices:
        weights["image"] = np.array([0, 16, 1, 1])
        nodes += [
            helper.make_node("Flatten", ["m"], ["f"], "flatten"),
            helper.make_node("Gemm", ["f", "r", "rb"], ["h"], "reduce"),
            helper.make_node("Relu", ["h"], ["a"], "hidden"),
            helper.make_node("Gemm", ["a", "e", "eb"], ["g"], "expand"),
            helper.make_node("Sigmoid", ["g"], ["s"], "sigmoid"),
            helper.make_node("Reshape", ["s", "image"], ["gate"], "reshape"),
        ]
    else:
        nodes += [
            helper.make_node("Conv", ["m", "r", "rb"], ["h"], "reduce"),
            helper.make_node("Relu", ["h"], ["a"], "hidden"),
            helper.make_node("Conv", ["a", "e", "eb"], ["g"], "expand"),
            helper.make_node("Sigmoid", ["g"], ["gate"], "sigmoid"),
        ]
    nodes.append(helper.make_node("Mul", ["i", "gate"], ["t"], "excite"))
    if last == "Conv":
        nodes.append(helper.make_node("Conv", ["t", "p"], ["o"], "project", pads=[kernel // 2] * 4))
        nodes.append(
            helper.make_node("Add", ["o", "z"], ["y"], "add") if residual else helper.make_node("Sin", ["o"], ["y"])
        )
    else:
        nodes.append(helper.make_node(last, ["t"], ["y"], "last"))
    if read_twice:
        nodes.append(helper.make_node("Sin", ["t"], ["u"], "sine"))
    names = ["y", *(["u"] if read_twice else []), *(["t"] if shown else [])]
    graph = helper.make_graph(
        nodes,
        "block",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 16, 9, 11]),
            helper.make_tensor_value_info("z", TensorProto.FLOAT, [batch, 24, 9, 11]),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def kernels(compiled: Compilation) -> list[str]:
    return [step.kernel for step in compiled.lowered.plan.steps if step.kernel not in ("relayout", "unary")]


@pytest.mark.parametrize("backend", ["native", "reference"])
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["conv", "excite", "conv"]),
        ({"matrices": True}, ["conv", "excite", "conv"]),
        ({"batch": "n"}, ["conv", "excite", "conv"]),
        ({"residual": False}, ["conv", "excite", "conv"]),
        ({"group": 4}, ["conv", "pool", "excite", "conv"]),
        ({"kernel": 3}, ["conv", "excite", "binary", "conv"]),
        ({"last": "Sin"}, ["conv", "excite", "binary"]),
        ({"read_twice": True}, ["conv", "excite", "binary", "conv"]),
        ({"shown": True}, ["conv", "excite", "binary", "conv"]),
    ],
    ids=str,
)
def test_steps(tmp_path: Path, changes: dict[str, object], expected: list[str], backend: str) -> None:
    path = save_block(tmp_path / "block.onnx", **changes)  # type: ignore[arg-type]
    compiled = compile_model(path, CompileOptions(backend=backend))  # type: ignore[arg-type]
    assert kernels(compiled) == expected
    report = verify_compilation(path, compiled, threads=2)
    assert report.ok
    assert {node.op for node in report.nodes} >= {"SqueezeExciteFusionOp"}


def test_nothing_is_joined_where_nothing_is_fused(tmp_path: Path) -> None:
    path = save_block(tmp_path / "block.onnx")
    compiled = compile_model(path, CompileOptions(controls=Controls(auto_fusion=False)))
    assert "excite" not in kernels(compiled)
    assert kernels(compiled).count("binary") == 2
    assert "pool" in kernels(compiled)


@pytest.mark.parametrize(
    ("kept", "expected"),
    [("depthwise", ["conv", "pool", "excite", "conv"]), ("project", ["conv", "excite", "binary", "conv"])],
)
def test_a_convolution_that_is_kept_out_of_fusion_stays_as_it_is(
    tmp_path: Path, kept: str, expected: list[str]
) -> None:
    path = save_block(tmp_path / "block.onnx", residual=False, activated=False)
    assert kernels(compile_model(path)) == ["conv", "excite", "conv"]
    compiled = compile_model(path, CompileOptions(controls=Controls(skip_nodes={kept: "the test"})))
    assert kernels(compiled) == expected


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_matrices_may_have_two_bytes(tmp_path: Path, backend: Backend) -> None:
    path = save_block(tmp_path / "block.onnx")
    compiled = compile_model(path, CompileOptions(backend=backend, precision=Precision("allow_fp32_to_fp16")))
    assert "excite" in kernels(compiled)
    assert {row.reason for row in compiled.lowered.stored} == {""}
    assert verify_compilation(path, compiled, bisect=False).ok


def test_a_wrong_gate_is_seen_at_the_node(tmp_path: Path) -> None:
    path = save_block(tmp_path / "block.onnx")
    compiled = compile_model(path)
    weights = list(compiled.lowered.weights)
    steps = compiled.lowered.plan.steps
    excite = next(step for step in steps if step.kernel == "excite")
    tensor = compiled.lowered.plan.buffers[excite.inputs[3]].tensor
    assert tensor is not None
    weights[tensor][...] *= np.float32(1.5)
    report = verify_compilation(path, compiled, bisect=False)
    assert "SqueezeExciteFusionOp" in {node.op for node in report.nodes if not node.ok}
