"""Models of double: the fusions of float32, native steps alone, and results to the digits of float64 at any extents."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import autofusion
from autofusion.compiler import compile_model, save_compilation
from autofusion.frontend import read_model
from autofusion.fusion import Controls
from autofusion.options import CompileOptions
from autofusion.services.comparison import Case
from autofusion.services.evaluate import evaluate_graph
from autofusion.services.expectation import Expectation
from autofusion.services.verify import verify_artifact

TYPES = {"float": (TensorProto.FLOAT, np.float32), "double": (TensorProto.DOUBLE, np.float64)}


class Net:
    """A model under way, of one floating type; weights are drawn."""

    def __init__(self, dtype: str) -> None:
        self.code, self.kind = TYPES[dtype]
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self._random = np.random.default_rng(3)

    def put(self, array: Any) -> str:
        """A constant; doubles get the model's type."""
        array = np.asarray(array)
        array = array.astype(self.kind) if array.dtype == np.float64 else array
        self.tensors.append(numpy_helper.from_array(array, f"c{len(self.tensors)}"))
        return self.tensors[-1].name

    def draw(self, *shape: int, near: float = 0.0) -> str:
        """A weight, of numbers near one."""
        depth = math.prod(shape[1:]) if len(shape) > 2 else shape[0] if len(shape) == 2 else 4
        return self.put(near + self._random.standard_normal(shape) / math.sqrt(depth))

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """The result of a node, or its results."""
        names = [f"v{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, f"n{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def input(self, name: str, shape: list[int | str], code: int | None = None) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, code or self.code, shape))
        return name

    def save(self, path: Path, *outputs: str, opset: int = 20) -> Path:
        ends = [helper.make_tensor_value_info(name, self.code, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "g", self.inputs, ends, self.tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), path)
        return path


def normalize(net: Net, x: str, channels: int) -> str:
    vectors = [net.draw(channels, near=1.5), net.draw(channels), net.draw(channels)]
    return net.add("BatchNormalization", x, *vectors, net.put(np.linspace(0.5, 2, channels)))


def save_images(path: Path, dtype: str) -> Path:
    """Convolutions of all kinds, pools, squeeze and excitation, a join, a Resize, a classifier."""
    net = Net(dtype)
    x = net.input("x", ["n", 3, 14, 10])
    stem = net.add("Conv", x, net.draw(12, 3, 3, 3), net.draw(12), pads=[1, 1, 1, 1])
    stem = net.add("MaxPool", net.add("Relu", normalize(net, stem, 12)), kernel_shape=[2, 2], strides=[2, 2])
    wide = net.add("Clip", net.add("Conv", stem, net.draw(20, 12, 1, 1), net.draw(20)), net.put(0.0), net.put(6.0))
    deep = net.add("Conv", wide, net.draw(20, 1, 3, 3), net.draw(20), group=20, pads=[1, 1, 1, 1])
    deep = net.add("Mul", deep, net.add("Sigmoid", deep))
    mean = net.add("GlobalAveragePool", deep)
    gate = net.add("Relu", net.add("Conv", mean, net.draw(5, 20, 1, 1), net.draw(5)))
    gate = net.add("Sigmoid", net.add("Conv", gate, net.draw(20, 5, 1, 1), net.draw(20)))
    narrow = net.add("Conv", net.add("Mul", deep, gate), net.draw(12, 20, 1, 1), net.draw(12))
    joined = net.add("Add", normalize(net, narrow, 12), stem)
    groups = net.add("Conv", joined, net.draw(18, 4, 2, 2), group=3, strides=[2, 2], pads=[0, 1, 1, 0])
    up = net.add("ConvTranspose", net.add("HardSwish", groups), net.draw(18, 7, 2, 2), net.draw(7), strides=[2, 2])
    small = net.add("Resize", joined, "", net.put(np.array([1.0, 1.0, 0.5, 2.0], np.float32)), mode="linear")
    small = net.add("AveragePool", small, kernel_shape=[2, 2], pads=[1, 0, 0, 1])
    part, _ = net.add("Split", small, net.put(np.array([8, 4])), outputs=2, axis=1)
    ends = [net.add("GlobalMaxPool", up), net.add("GlobalAveragePool", part)]
    row = net.add("Flatten", net.add("Concat", *ends, axis=1))
    row = net.add("Tanh", net.add("Gemm", row, net.draw(15, 9), net.draw(9)))
    return net.save(path, net.add("Softmax", net.add("MatMul", row, net.draw(9, 6))), "x")


def attend(net: Net, x: str, mask: str, heads: int, width: int) -> str:
    """Attention of rows [n, s, width] on themselves, its projections included."""

    def project(perm: list[int]) -> str:
        rows = net.add("Add", net.add("MatMul", x, net.draw(width, width)), net.draw(width))
        split = net.add("Reshape", rows, net.put(np.array([0, 0, heads, width // heads])))
        return net.add("Transpose", split, perm=perm)

    scores = net.add("MatMul", project([0, 2, 1, 3]), project([0, 2, 3, 1]))
    scores = net.add("Add", net.add("Div", scores, net.put(math.sqrt(width / heads))), mask)
    mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), project([0, 2, 1, 3]))
    rows = net.add("Reshape", net.add("Transpose", mixed, perm=[0, 2, 1, 3]), net.put(np.array([0, 0, width])))
    return net.add("Add", net.add("MatMul", rows, net.draw(width, width)), net.draw(width))


def save_words(path: Path, dtype: str) -> Path:
    """Embeddings, a block of attention and one of two products, norms, a gate, a program of elementwise operators."""
    width = 24
    net = Net(dtype)
    ids, kinds = (net.input(name, ["n", "s"], TensorProto.INT64) for name in ("ids", "kinds"))
    mask = net.input("mask", ["n", 1, 1, "s"])
    x = net.add("Add", net.add("Gather", net.draw(50, width), ids), net.add("Gather", net.draw(2, width), kinds))
    x = net.add("LayerNormalization", x, net.draw(width, near=1), net.draw(width), axis=-1)
    x = net.add("Add", x, attend(net, x, mask, 3, width))
    x = net.add("LayerNormalization", x, net.draw(width, near=1), net.draw(width), axis=-1)
    inner = net.add("Add", net.add("MatMul", x, net.draw(width, 40)), net.draw(40))
    erf = net.add("Erf", net.add("Div", inner, net.put(math.sqrt(2))))
    inner = net.add("Mul", net.add("Mul", inner, net.add("Add", erf, net.put(1.0))), net.put(0.5))
    x = net.add("Add", x, net.add("MatMul", inner, net.draw(40, width)))
    gate = net.add("MatMul", x, net.draw(width, 17))
    gate = net.add("Mul", net.add("Mul", gate, net.add("Sigmoid", gate)), net.add("MatMul", x, net.draw(width, 17)))
    wave = net.add("Add", net.add("Sin", gate), net.add("Mul", net.add("Abs", gate), net.put(1 / 3)))
    wave = net.add("Sqrt", net.add("Add", net.add("Pow", wave, net.put(2.0)), net.put(1e-9)))
    total = net.add("ReduceMean", wave, net.put(np.array([-1])), keepdims=1)
    return net.save(path, net.add("LogSoftmax", net.add("MatMul", gate, net.draw(17, 31)), axis=-1), total)


MODELS = {"images": save_images, "words": save_words}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_fuses_as_in_float32_and_runs_natively(name: str, tmp_path: Path) -> None:
    made = {dtype: compile_model(MODELS[name](tmp_path / f"{dtype}.onnx", dtype)) for dtype in TYPES}
    assert made["double"].report.host == ()
    patterns = {dtype: [(row.pattern, row.origin) for row in made[dtype].report.fused] for dtype in TYPES}
    assert len(patterns["double"]) > 8
    assert patterns["double"] == patterns["float"]
    floats = {buffer.dtype for buffer in made["double"].lowered.plan.buffers.values()} & {"float", "float16"}
    assert floats == set()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_verified_at_several_extents(name: str, tmp_path: Path) -> None:
    model = MODELS[name](tmp_path / "net.onnx", "double")
    artifact = save_compilation(compile_model(model), tmp_path / "net")
    sizes = [{"n": n, "s": s} if name == "words" else {"n": n} for n, s in ((1, 1), (2, 17), (3, 50))]
    verdict = verify_artifact(model, artifact, sizes=sizes, seeds=(0,), threads=2)
    assert verdict.ok
    assert max(check.error for check in verdict.outputs) < 1e-12


@pytest.mark.parametrize("root", [1.4142135, 1.41421, float(np.float32(math.sqrt(2)))])
def test_a_rounded_number_is_no_number_of_a_pattern(root: float, tmp_path: Path) -> None:
    """A fused Gelu would divide by the root of two, and not by what the model says."""
    for dtype, forms, patterns in (("float", ["Gelu"], []), ("double", [], ["Pointwise"])):
        net = Net(dtype)
        x = net.input("x", [2, 300])
        erf = net.add("Erf", net.add("Div", x, net.put(root)))
        y = net.add("Mul", net.add("Mul", x, net.add("Add", erf, net.put(1.0))), net.put(0.5))
        made = compile_model(net.save(tmp_path / f"{dtype}.onnx", y))
        assert [row.name for row in made.report.normalized] == forms
        assert [row.pattern for row in made.report.fused] == patterns
    assert verify_artifact(tmp_path / "double.onnx", save_compilation(made, tmp_path / "net")).ok


@pytest.mark.parametrize(("slope", "forms"), [(None, ["HardSwish"]), (1 / 6, [])])
def test_the_slope_of_a_gate_is_that_of_its_attribute(slope: float | None, forms: list[str], tmp_path: Path) -> None:
    """ONNX keeps attributes in float32, in which 1/6 is another number; where the model divides by 6 it is that one."""
    net = Net("double")
    x = net.input("x", [2, 300])
    if slope is None:
        limited = net.add("Clip", net.add("Add", x, net.put(3.0)), net.put(0.0), net.put(6.0))
        gate = net.add("Div", limited, net.put(6.0))
    else:
        gate = net.add("HardSigmoid", x, alpha=slope, beta=0.5)
    model = net.save(tmp_path / "net.onnx", net.add("Mul", x, gate))
    made = compile_model(model)
    assert made.report.host == ()
    assert [row.name for row in made.report.normalized] == forms
    assert verify_artifact(model, save_compilation(made, tmp_path / "net")).ok


def test_a_program_of_many_numbers_is_not_one_step(tmp_path: Path) -> None:
    """The numbers of a program on doubles take room behind its instructions."""
    net = Net("double")
    x = y = net.input("x", [3, 70])
    for number in range(14):
        y = net.add("Add", net.add("Sin", net.add("Mul", y, net.put(1 / (3 + number)))), x)
    model = net.save(tmp_path / "net.onnx", y)
    made = compile_model(model, CompileOptions(controls=Controls(level=2)))
    assert made.report.host == ()
    assert verify_artifact(model, save_compilation(made, tmp_path / "net")).ok


def test_infinities_are_those_of_doubles(tmp_path: Path) -> None:
    """A number beyond float32, and one below it, stay what they are; IsInf knows infinities alone."""
    net = Net("double")
    x = net.input("x", [4])
    small = net.add("Sqrt", net.add("Mul", x, net.put(1e-200)))
    large = net.add("Where", net.add("IsInf", x), net.put(0.0), net.add("Mul", small, net.put(1e150)))
    made = compile_model(net.save(tmp_path / "net.onnx", large))
    assert made.report.host == ()
    session = autofusion.load(save_compilation(made, tmp_path / "net"))
    found = next(iter(session.run({"x": np.array([1e300, 4.0, np.inf, 1e-100])}).values()))
    np.testing.assert_allclose(found, [1e200, 2e50, 0.0, 1.0], rtol=1e-15)


def test_attributes_are_no_shorter_than_they_are(tmp_path: Path) -> None:
    """The operator takes the root of its scale, which verification must not round to float32."""
    net = Net("double")
    q, k, v = (net.input(name, [1, 2, 5, 8]) for name in "qkv")
    model = net.save(tmp_path / "net.onnx", net.add("Attention", q, k, v, scale=0.01), opset=23)
    made = compile_model(model)
    assert made.report.host == ()
    assert verify_artifact(model, save_compilation(made, tmp_path / "net")).ok


def test_verification_tells_a_fault_of_a_billionth_from_rounding(tmp_path: Path) -> None:
    graph = read_model(save_images(tmp_path / "net.onnx", "double")).graph
    feeds = {"x": np.random.default_rng(5).standard_normal((2, 3, 14, 10))}
    exact = evaluate_graph(graph, feeds, widen=True)
    expectation = Expectation(graph, feeds, Case(0, {"n": 2}), exact, exact)
    moved = evaluate_graph(graph, {"x": np.nextafter(feeds["x"], 9.0)}, widen=False)
    assert all(row.ok for row in expectation.compare(moved))
    assert not any(row.ok for row in expectation.compare({name: y * (1 + 1e-9) for name, y in exact.items()}))
