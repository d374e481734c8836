"""Models of two-byte floats: native steps, values rounded as the definitions say, and float32 where it is forced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import autofusion
from autofusion.compiler import compile_model, save_compilation
from autofusion.fusion import Controls
from autofusion.ir import DType
from autofusion.options import CompileOptions
from autofusion.precision import Mode, Precision
from autofusion.services.verify import verify_artifact

TYPES = {"float16": (TensorProto.FLOAT16, DType.FLOAT16), "bfloat16": (TensorProto.BFLOAT16, DType.BFLOAT16)}
MODES: list[Mode] = ["must_keep_origin_dtype", "force_fp32"]


def save(
    path: Path, dtype: str, nodes: list[onnx.NodeProto], x: list[int | str], y: list[int | str], **weights: np.ndarray
) -> Path:
    """A model from x to y with weights of the type."""
    code, kind = TYPES[dtype]
    tensors = [
        numpy_helper.from_array(array if array.dtype == np.int64 else array.astype(kind.numpy), name)
        for name, array in weights.items()
    ]
    ends = [helper.make_tensor_value_info(name, code, shape) for name, shape in (("x", x), ("y", y))]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


def save_block(path: Path, dtype: str) -> Path:
    """Convolution, normalization, pooling, a view, a norm of rows, two products and a Softmax."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "bn"),
        node("Relu", ["n"], ["r"], "relu"),
        node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"], "flat"),
        node("LayerNormalization", ["f", "g", "h"], ["l"], "norm"),
        node("MatMul", ["l", "q"], ["t"], "fc"),
        node("Add", ["t", "k"], ["a"], "bias"),
        node("Tanh", ["a"], ["e"], "act"),
        node("MatMul", ["e", "z"], ["o"], "head"),
        node("Softmax", ["o"], ["y"], "soft"),
    ]
    weights = {"w": draw(4, 3, 3, 3) / 4, "s": draw(4) + 2, "b": draw(4), "m": draw(4), "v": draw(4) ** 2 + 1}
    weights |= {"g": draw(36) + 1, "h": draw(36), "q": draw(36, 20) / 6, "k": draw(20), "z": draw(20, 7) / 4}
    return save(path, dtype, nodes, ["n", 3, 6, 6], ["n", 7], **weights)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", TYPES)
def test_a_model_runs_natively_and_is_verified(tmp_path: Path, dtype: str, mode: Mode) -> None:
    model = save_block(tmp_path / "net.onnx", dtype)
    made = compile_model(model, CompileOptions(precision=Precision(mode)))
    assert made.report.host_steps == 0
    plan = made.lowered.plan
    assert [plan.buffers[name].dtype for name in (*plan.inputs, *plan.outputs)] == [dtype, dtype]
    verdict = verify_artifact(model, save_compilation(made, tmp_path / "net"))
    assert verdict.ok
    assert len(verdict.nodes) > 1


@pytest.mark.parametrize("dtype", TYPES)
def test_values_are_rounded_as_by_the_definitions(tmp_path: Path, dtype: str) -> None:
    model = save_block(tmp_path / "net.onnx", dtype)
    x = draw(3, 3, 6, 6).astype(TYPES[dtype][1].numpy)
    results = {}
    for backend in ("native", "reference"):
        made = compile_model(model, CompileOptions(backend=backend))  # type: ignore[arg-type]
        session = autofusion.load(save_compilation(made, tmp_path / backend), backend=backend)  # type: ignore[arg-type]
        results[backend] = session.run({"x": x})["y"].astype(np.float64)
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    np.testing.assert_allclose(results["native"], results["reference"], rtol=0, atol=2 * unit)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_report_says_which_weights_have_two_bytes(tmp_path: Path, dtype: str) -> None:
    """Filters into which a normalization was folded need all digits of float32, the matrices are as they were."""
    report = compile_model(save_block(tmp_path / "net.onnx", dtype), CompileOptions()).report
    rows = {row.tensor: row for row in report.halves}
    assert {name: row.dtype for name, row in rows.items()} == {"w:folded": "float", "q": dtype, "z": dtype}
    assert rows["w:folded"].reason.startswith(f"{dtype} cannot hold its numbers")
    assert (rows["q"].nodes[-1], rows["q"].reason) == ("act", "")
    assert rows["q"].bytes_before == 2 * rows["q"].bytes_after
    assert report.weights == ()


@pytest.mark.parametrize("dtype", TYPES)
def test_every_value_between_nodes_is_rounded(tmp_path: Path, dtype: str) -> None:
    # 1 + small is 1 in two bytes, so that nothing is left of small; in float32 all of it is.
    nodes = [helper.make_node("Add", ["x", "one"], ["a"], "add"), helper.make_node("Sub", ["a", "one"], ["y"], "sub")]
    model = save(tmp_path / "net.onnx", dtype, nodes, [3], [3], one=np.ones(1, np.float32))
    x = np.array([2.0**-13, -(2.0**-13), 0.5]).astype(TYPES[dtype][1].numpy)
    for mode, expected in (("must_keep_origin_dtype", [0, 0, 0.5]), ("force_fp32", x)):
        options = CompileOptions(precision=Precision(mode), controls=Controls(auto_fusion=False))  # type: ignore[arg-type]
        made = compile_model(model, options)
        assert made.report.host_steps == 0
        found = autofusion.load(save_compilation(made, tmp_path / mode)).run({"x": x})["y"]
        assert str(found.dtype) == dtype
        np.testing.assert_array_equal(found.astype(np.float32), np.asarray(expected, np.float32))


def test_a_node_that_keeps_its_type_is_rounded(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "one"], ["a"], "add"), helper.make_node("Sub", ["a", "one"], ["y"], "sub")]
    model = save(tmp_path / "net.onnx", "float16", nodes, [2], [2], one=np.ones(1, np.float32))
    x = np.array([2.0**-13, 0.5], np.float16)
    for kept, expected in (({"add": "keep.cfg"}, [0, 0.5]), ({"sub": "keep.cfg"}, x)):
        precision = Precision("force_fp32", kept)
        made = compile_model(model, CompileOptions(precision=precision, controls=Controls(auto_fusion=False)))
        found = autofusion.load(save_compilation(made, tmp_path / "net")).run({"x": x})["y"]
        np.testing.assert_array_equal(found, np.asarray(expected, np.float16))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", TYPES)
def test_outputs_that_are_read_and_nodes_of_their_own_types(tmp_path: Path, dtype: str, mode: Mode) -> None:
    """Outputs that a node reads, that are inputs, and constants; an operator that names a type; Casts both ways."""
    code, kind = TYPES[dtype]
    node = helper.make_node
    nodes = [
        node("Mul", ["x", "w"], ["y"], "mul"),
        node("Identity", ["x"], ["same"], "same"),
        node("Identity", ["w"], ["held"], "held"),
        node("EyeLike", ["y"], ["eye"], "eye", dtype=code),
        node("Add", ["y", "eye"], ["sum"], "sum"),
        node("Cast", ["sum"], ["wide"], "widen", to=TensorProto.FLOAT),
        node("Mul", ["wide", "third"], ["scaled"], "scale"),
        node("Cast", ["scaled"], ["z"], "narrow", to=code),
        node("ConstantOfShape", ["shape"], ["fill"], "fill", value=helper.make_tensor("v", code, [1], [0.5])),
        node("Add", ["z", "fill"], ["q"], "add"),
    ]
    tensors = [
        numpy_helper.from_array(draw(3, 3).astype(kind.numpy), "w"),
        numpy_helper.from_array(np.float32(1 / 3), "third"),
        numpy_helper.from_array(np.array([3, 3]), "shape"),
    ]
    shapes = {name: helper.make_tensor_value_info(name, code, [3, 3]) for name in ("x", "y", "same", "held", "z", "q")}
    graph = helper.make_graph(nodes, "g", [shapes.pop("x")], list(shapes.values()), tensors)
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    made = compile_model(path, CompileOptions(precision=Precision(mode)))
    assert verify_artifact(path, save_compilation(made, tmp_path / "net")).ok
    assert {step.op for step in made.lowered.host_steps} <= {"EyeLike"}


def test_control_flow_over_halves_keeps_its_types(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    branches = [
        helper.make_graph([helper.make_node(op, ["x", "x"], ["r"])], op, [], [value("r", TensorProto.FLOAT16, [2])])
        for op in ("Add", "Mul")
    ]
    nodes = [helper.make_node("If", ["c"], ["y"], "if", then_branch=branches[0], else_branch=branches[1])]
    inputs = [value("x", TensorProto.FLOAT16, [2]), value("c", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", TensorProto.FLOAT16, [2])])
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    made = compile_model(path)
    assert (made.report.carried, made.report.host_steps) == ((), 1)
    assert verify_artifact(path, save_compilation(made, tmp_path / "net")).ok


@pytest.mark.parametrize("dtype", TYPES)
def test_filters_of_two_bytes_stay_so(tmp_path: Path, dtype: str) -> None:
    """Of one convolution of all channels, one of groups, one of single channels; of tiles where they are made."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "a"], ["p"], "all"),
        node("Conv", ["p", "b"], ["q"], "groups", group=2),
        node("Conv", ["q", "c"], ["r"], "each", group=32, pads=[1, 1, 1, 1]),
        node("Conv", ["r", "d"], ["y"], "tiles", pads=[1, 1, 1, 1]),
    ]
    weights = {"a": draw(32, 16, 1, 1), "b": draw(32, 16, 1, 1), "c": draw(32, 1, 3, 3), "d": draw(32, 32, 3, 3)}
    model = save(tmp_path / "net.onnx", dtype, nodes, [1, 16, 56, 56], [1, 32, 56, 56], **weights)
    made = compile_model(model)
    plan = made.lowered.plan
    tiles = [step.attributes["winograd"] for step in plan.steps if "winograd" in step.attributes]
    sizes = {tensor.dtype: 0 for tensor in plan.tensors}
    for tensor in plan.tensors:
        sizes[tensor.dtype] += tensor.bytes
    assert sizes == {dtype: 2 * sum(weight.size for weight in weights.values())}
    assert tiles == [4]
    assert verify_artifact(model, save_compilation(made, tmp_path / "net")).ok


def test_weights_of_two_bytes_stay_so(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "fc")]
    model = save(tmp_path / "net.onnx", "bfloat16", nodes, [3, 40], [3, 16], w=draw(40, 16))
    made = compile_model(model)
    assert [(tensor.dtype, tensor.bytes) for tensor in made.lowered.plan.tensors] == [("bfloat16", 2 * 40 * 16)]
    assert (made.report.weights, made.report.carried) == ((), ("bfloat16",))
