"""Small graphs for the tests of lowering, fusion of chosen nodes, and two ways to run: node by node, and the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from autofusion.ir import FUSED_DOMAIN, DType, Graph, Node, Value, parse_dim
from autofusion.lowering import Lowered, lower
from autofusion.ops import evaluate, find_operator, infer, schema_of
from autofusion.ops.definitions import DEFINITIONS
from autofusion.plan import Buffer, Step, evaluate_shape, evaluate_size
from autofusion.plan.attributes import decode_attribute
from autofusion.plan.stripes import is_view
from autofusion.runtime.sizes import bind_step
from autofusion.runtime.views import stored_shape, view_buffer

FLOAT32 = np.dtype(np.float32)


class Names:
    """What `ops.infer` asks for, on a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def value(self, name: str) -> Value:
        return self._graph.value(name)

    def constant(self, name: str) -> np.ndarray | None:
        return self._graph.constant(name)

    def define_constant(self, stem: str, array: np.ndarray) -> str:
        raise NotImplementedError

    def fresh(self, stem: str) -> str:
        return self._graph.fresh(stem)


def node(op: str, inputs: str, outputs: str, **attributes: object) -> Node:
    """A node named after its first output; "_" in the lists stands for an empty place."""
    places = [tuple("" if name == "_" else name for name in text.split()) for text in (inputs, outputs)]
    return Node(places[1][0], op, *places, attributes, origin=(f"/{places[1][0]}",))  # type: ignore[arg-type]


def build(
    inputs: Mapping[str, Sequence[int | str]],
    nodes: Sequence[Node],
    outputs: str,
    constants: Mapping[str, np.ndarray],
    dtype: DType = DType.FLOAT,
) -> Graph:
    """A graph with inferred types; extents given as text are symbols or expressions."""
    graph = Graph("main", inputs, outputs.split())
    for name, shape in inputs.items():
        graph.set_value(Value(name, dtype, tuple(d if isinstance(d, int) else parse_dim(d) for d in shape)))
    for name, array in constants.items():
        graph.add_constant(name, array)
    for item in nodes:
        row, schema = find_operator(item.op), schema_of(item.op)
        version = row.version if row else schema.version if schema else 0
        graph.add(replace(item, opset=version), infer(replace(item, opset=version), Names(graph)))
    return graph


def fuse(graph: Graph, names: str, op: str = "FusedOp", outputs: str = "") -> Node:
    """Put one fused node in the place of the nodes in `names` and return it; it gives the last one's results."""
    members = [graph.node(name) for name in names.split()]
    results = tuple(outputs.split()) or members[-1].outputs
    made = {result for member in members for result in member.results}
    inputs = tuple(dict.fromkeys(name for member in members for name in member.operands if name not in made))
    body = Graph(op, inputs, results)
    for member in members:
        body.add(member, [graph.value(name) for name in (*member.operands, *member.results)])
    origin = tuple(name for member in members for name in member.origin)
    fused = Node(members[-1].name, op, inputs, results, domain=FUSED_DOMAIN, origin=origin, body=body)
    graph.replace([member.name for member in members], [fused])
    return fused


def run_graph(graph: Graph, feeds: Mapping[str, np.ndarray], *, widen: bool = True) -> list[np.ndarray]:
    """The outputs of an unfused graph, node by node, in float64 unless told otherwise."""
    known = {name: _widened(array, widen) for name, array in {**graph.constants, **feeds}.items()}
    for item in graph:
        operands = [known[name] if name else None for name in item.inputs]
        results = evaluate(item, operands, widen=widen)
        known.update(zip(item.outputs, results, strict=False))
    return [known[name] for name in graph.outputs]


def run_plan(lowered: Lowered, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of an unpacked plan, on bytes laid out as its buffers say, by the definitions of the kernels."""
    return _Machine(lowered, feeds).run()


class _Machine:
    def __init__(self, lowered: Lowered, feeds: Mapping[str, np.ndarray]) -> None:
        self.plan = lowered.plan
        self.weights = lowered.weights
        self.dims: dict[str, int] = {}
        self.memory: dict[str, np.ndarray] = {}
        for name in self.plan.inputs:
            buffer = self.plan.buffers[name]
            array = feeds[name] if name in feeds else self.weights[_index(buffer.tensor)]
            for dim, extent in zip(buffer.shape or (), array.shape, strict=True):
                if dim in self.plan.symbols:
                    assert self.dims.setdefault(str(dim), extent) == extent
            self.memory[name] = array

    def run(self) -> list[np.ndarray]:
        for step in self.plan.steps:
            operands = [self.read(name) if name else None for name in step.inputs]
            for name, array in zip(step.outputs, self.call(step, operands), strict=False):
                if name:
                    self.write(name, array)
        return [self.read(name) for name in self.plan.outputs]

    def call(self, step: Step, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        if step.kernel == "host":
            return _run_host(step, operands)
        buffer = self.plan.buffers[step.outputs[0]]
        shape = self.shape(buffer)
        if step.kernel == "extents":
            values = [evaluate_size(size, self.dims) for size in step.attributes["values"]]  # type: ignore[union-attr]
            return [np.array(values, DType(buffer.dtype).numpy).reshape(shape)]
        found = DEFINITIONS[step.kernel](operands, bind_step(step, self.dims).attributes, shape)
        return found if isinstance(found, tuple) else [found]

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        assert buffer.shape is not None
        return evaluate_shape(buffer.shape, self.dims)

    def read(self, name: str) -> np.ndarray:
        buffer = self.plan.buffers[name]
        root = self.plan.buffers[buffer.alias or name]
        stored = self.memory[root.name] if root.name in self.memory else self.weights[_index(root.tensor)]
        return stored if buffer.shape is None else self.view(buffer, stored)

    def view(self, buffer: Buffer, stored: np.ndarray) -> np.ndarray:
        return view_buffer(stored.reshape(-1).view(np.uint8)[4 * buffer.offset :], buffer, self.shape(buffer))

    def write(self, name: str, array: np.ndarray) -> None:
        buffer = self.plan.buffers[name]
        assert buffer.role in ("inner", "output")
        if is_view(buffer):
            self.write_part(buffer, array)
            return
        assert buffer.alias is None
        assert name not in self.memory
        assert DType.of(array).value == buffer.dtype
        if buffer.shape is not None:
            assert array.shape == self.shape(buffer)
        stored = array if buffer.layout == "plain" else np.moveaxis(array, 1, -1)
        self.memory[name] = np.ascontiguousarray(stored).reshape(array.shape if buffer.layout == "plain" else -1)

    def write_part(self, buffer: Buffer, array: np.ndarray) -> None:
        root = self.plan.buffers[buffer.alias or ""]
        assert root.layout == "nhwc"
        shape = stored_shape(root, self.shape(root))
        memory = self.memory.setdefault(root.name, np.full(int(np.prod(shape)), np.nan, np.float32))
        part = self.view(buffer, memory)
        assert np.isnan(part).all()
        part[...] = array


def _index(tensor: int | None) -> int:
    assert tensor is not None
    return tensor


def _run_host(step: Step, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    settings = step.attributes
    attributes = {name: decode_attribute(value) for name, value in settings["attributes"].items()}  # type: ignore[union-attr]
    item = Node(
        step.node,
        str(settings["op"]),
        step.inputs,
        step.outputs,
        attributes,
        str(settings["domain"]),
        int(str(settings["opset"])),
    )
    return evaluate(item, operands)


def _widened(array: np.ndarray, widen: bool) -> np.ndarray:
    return array.astype(np.float64) if widen and array.dtype.kind == "f" else array


def make_feeds(graph: Graph) -> dict[str, np.ndarray]:
    shapes = {name: tuple(int(str(dim)) for dim in graph.value(name).shape or ()) for name in graph.inputs}
    return {name: randoms(9 + index, *shape) for index, (name, shape) in enumerate(shapes.items())}


def check_plan(graph: Graph, fused: str, kernels: list[str], tolerance: float = 1e-6) -> Lowered:
    """Fuse the nodes in `fused`, then compare the plan with the unfused graph; returns the plan."""
    feeds = make_feeds(graph)
    expected = run_graph(graph, feeds)
    if fused:
        fuse(graph, fused)
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == kernels
    for actual, right in zip(run_plan(lowered, feeds), expected, strict=True):
        scale = np.abs(right).max()
        assert actual.shape == right.shape
        np.testing.assert_allclose(actual, right, rtol=0, atol=tolerance * scale)
    return lowered


def kernels_of(lowered: Lowered) -> list[str]:
    """Kernel names of all steps in order."""
    return [step.kernel for step in lowered.plan.steps]


def randoms(seed: int, *shape: int, dtype: np.dtype = FLOAT32) -> np.ndarray:
    """Normal deviates."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
