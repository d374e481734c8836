"""Models for the tests of reading and writing, and two ways to run them: our operators and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from autofusion.frontend import Model, read_model
from autofusion.ir import Graph
from autofusion.ops import evaluate

Arrays = Mapping[str, np.ndarray]
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def parse(text: str, opset: int = 17, ir: int = 8) -> onnx.ModelProto:
    """The model whose graph is `text` in ONNX's own text form."""
    return onnx.parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}]> {text}')


def tensor(name: str, shape: Sequence[int | str | None] | None, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    """A declaration of an input, output or inner value."""
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op: str, inputs: str, outputs: str, name: str = "", domain: str = "", **attributes: object) -> onnx.NodeProto:
    """A node; inputs and outputs are separated by spaces, "_" stands for an absent one."""

    def names(text: str) -> list[str]:
        return ["" if part == "_" else part for part in text.split()]

    return helper.make_node(op, names(inputs), names(outputs), name=name, domain=domain, **attributes)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Arrays | None = None,
    *,
    opset: int = 17,
    ir: int = 8,
    functions: Sequence[onnx.FunctionProto] = (),
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model with `weights` as initialisers."""
    initializers = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "main", list(inputs), list(outputs), initializers)
    imports = [helper.make_opsetid(domain, version) for domain, version in {"": opset, **(domains or {})}.items()]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=ir)


def save(proto: onnx.ModelProto, folder: Path, name: str = "model.onnx") -> Path:
    """Write the model and return its path."""
    path = folder / name
    path.write_bytes(proto.SerializeToString())
    return path


def read(proto: onnx.ModelProto, folder: Path) -> Model:
    """Write the model and read it."""
    return read_model(save(proto, folder))


def run_graph(graph: Graph, feeds: Arrays, outer: Arrays | None = None) -> dict[str, np.ndarray]:
    """The outputs of `graph`, node by node through the operator table."""
    known = {**(outer or {}), **graph.constants, **graph.defaults, **feeds}
    for item in graph:
        captured = {name: known[name] for _, nested in item.subgraphs() for name in nested.captures()}
        results = evaluate(item, [known[name] if name else None for name in item.inputs], captured=captured)
        known.update({name: array for name, array in zip(item.outputs, results, strict=False) if name})
    return {name: known[name] for name in graph.outputs}


def run_runtime(source: onnx.ModelProto | bytes | Path, feeds: Arrays) -> dict[str, np.ndarray]:
    """The outputs by ONNX Runtime without optimisation."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    data = source.SerializeToString() if isinstance(source, onnx.ModelProto) else source
    session = onnxruntime.InferenceSession(str(data) if isinstance(data, Path) else data, options)
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def assert_same(expected: Arrays, actual: Arrays, tolerance: float = 1e-5) -> None:
    """Same outputs, types, shapes and values."""
    assert sorted(expected) == sorted(actual)
    for name, array in expected.items():
        assert (array.dtype, array.shape) == (actual[name].dtype, actual[name].shape), name
        if array.dtype.kind == "f":
            np.testing.assert_allclose(actual[name], array, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(actual[name], array)


def random(seed: int, *shape: int) -> np.ndarray:
    """Normal noise."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
