"""One ONNX node through the operator table, and the same node through somebody else's runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from autofusion.ir import Attribute, DType, Graph, Node, Value
from autofusion.ir.scope import GraphScope
from autofusion.ops import canonicalize, evaluate, infer, widen_array


@dataclass(frozen=True)
class Case:
    """A node in the form of one opset; operands named in `constant` are initializers, the others inputs."""

    op: str
    opset: int
    operands: Sequence[np.ndarray | None]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constant: Sequence[int] = ()
    outputs: int = 1

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple("" if array is None else f"x{index}" for index, array in enumerate(self.operands))

    @property
    def results(self) -> tuple[str, ...]:
        return tuple(f"y{index}" for index in range(self.outputs))

    def __str__(self) -> str:
        return f"{self.op}-{self.opset}-{'-'.join(f'{key}={value}' for key, value in self.attributes.items())}"


@dataclass(frozen=True)
class Outcome:
    """What the table makes of a case."""

    nodes: tuple[Node, ...]
    values: Mapping[str, Value]
    results: tuple[np.ndarray, ...]


def make_model(case: Case) -> onnx.ModelProto:
    node = helper.make_node(case.op, case.inputs, case.results, name="node", **case.attributes)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for index, (name, array) in enumerate(zip(case.inputs, case.operands, strict=True))
        if array is not None and index not in case.constant
    ]
    constants = [
        numpy_helper.from_array(array, case.inputs[index])
        for index, array in enumerate(case.operands)
        if array is not None and index in case.constant
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in case.results]
    graph = helper.make_graph([node], "graph", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8)


def run_elsewhere(case: Case) -> list[np.ndarray]:
    """The results by ONNX Runtime, or where it has no kernel by the ONNX reference implementation."""
    import onnxruntime
    from onnx.reference import ReferenceEvaluator

    model = make_model(case)
    feeds = {value.name: case.operands[int(value.name[1:])] for value in model.graph.input}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return ReferenceEvaluator(model).run(None, feeds)
    return session.run(None, feeds)


def read_attribute(value: Any) -> Attribute:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return tuple(value) if isinstance(value, list) else value


def scope_of(case: Case) -> GraphScope:
    scope = GraphScope(Graph("graph"))
    for index, (name, array) in enumerate(zip(case.inputs, case.operands, strict=True)):
        if array is not None and index in case.constant:
            scope.graph.add_constant(name, array)
        elif array is not None:
            scope.graph.set_value(Value(name, DType.of(array), array.shape))
    return scope


def convert(case: Case, scope: GraphScope) -> tuple[Node, ...]:
    attributes = {name: read_attribute(value) for name, value in case.attributes.items()}
    node = Node("node", case.op, case.inputs, case.results, attributes, origin=("node",))
    nodes = tuple(canonicalize(node, case.opset, scope))
    for part in nodes:
        for value in infer(part, scope):
            scope.graph.set_value(value)
    return nodes


def run(case: Case, *, widen: bool = False) -> Outcome:
    """The case by the table; with `widen` everything is carried in float64."""
    scope = scope_of(case)
    nodes = convert(case, scope)
    given = {name: array for name, array in zip(case.inputs, case.operands, strict=True) if array is not None}
    given |= scope.graph.constants
    known = {name: widen_array(array) for name, array in given.items()} if widen else given
    for part in nodes:
        operands = [known[name] if name else None for name in part.inputs]
        known.update(zip(part.outputs, evaluate(part, operands, widen=widen), strict=True))
    return Outcome(nodes, dict(scope.graph.values), tuple(known[name] for name in case.results))


def check(case: Case, rtol: float = 1e-5, atol: float = 5e-6) -> Outcome:
    """Compare the table's results, and what it infers of them, with somebody else's results."""
    outcome = run(case)
    for name, ours, theirs in zip(case.results, outcome.results, run_elsewhere(case), strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)
        known = outcome.values[name]
        assert known.dtype is DType.of(theirs)
        assert known.shape is None or known.shape == theirs.shape
    return outcome


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)
