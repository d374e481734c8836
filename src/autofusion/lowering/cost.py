"""Estimated time of a graph's operators, by a roofline: the slower of arithmetic and traffic, plus a call each.

The figures are estimates for reports, never measurements.  They stand for one core of a common
server processor and are the same on every machine: see the constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from autofusion.ir import Dim, Graph, Node, symbols
from autofusion.ir.dims import substitute
from autofusion.lowering.constants import read_integer, read_integers
from autofusion.lowering.flatten import flatten_node
from autofusion.lowering.records import Lowered
from autofusion.lowering.scope import Scope
from autofusion.lowering.views import VIEWS
from autofusion.plan import Step, evaluate_shape
from autofusion.plan.dtypes import storage_type

PEAK_FLOPS = 100e9
"""Float32 operations per second: 32 a cycle (two fused multiply-adds of eight lanes) at 3.1 GHz."""

BANDWIDTH = 13e9
"""Bytes per second between one core and memory."""

LAUNCH_SECONDS = 2e-6
"""Cost of running one operator, whatever it does."""

NOMINAL_EXTENT = 128
"""Extent of a symbol that nothing is known of, unless it is the first axis of an input, which counts as 1."""

TRANSCENDENTAL_FLOPS = 16
"""Operations that one element of an exponential or its like counts for."""

_TRANSCENDENTAL = frozenset(
    {"Exp", "Log", "Erf", "Tanh", "Sigmoid", "Softmax", "LogSoftmax", "Gelu", "Elu", "Selu", "Celu", "Softplus"}
    | {"Mish", "Swish", "Sin", "Cos", "Pow"}
)

# Extents of a broken model give numbers that no float holds.
_ENDLESS = 1e18


@dataclass(frozen=True)
class Cost:
    """Arithmetic and memory traffic of one operator."""

    flops: float
    bytes: float

    @property
    def seconds(self) -> float:
        """Time by the roofline."""
        return max(self.flops / PEAK_FLOPS, self.bytes / BANDWIDTH) + LAUNCH_SECONDS


class CostModel:
    """Costs of nodes at fixed extents; symbols that `dims` lacks have nominal ones.

    With `lowered`, a fused node that takes several kernel calls is charged for each, and for what they hand on
    through memory; without it, fusion is taken at its word.
    """

    def __init__(self, graph: Graph, dims: Mapping[str, int] | None = None, lowered: Lowered | None = None) -> None:
        self._scope = Scope(graph)
        self._dims: dict[str, Dim] = {**_nominal_dims(graph), **(dims or {})}
        self._lowered = lowered

    def estimate(self, node: Node) -> Cost:
        """The cost of one operator; a fused one reads its operands and writes its results, and nothing in between."""
        parts = flatten_node(node)
        # Of a table, the rows that are looked up.
        rows = {part.input(0): part.outputs[0] for part in parts if part.op == "Gather" and not part.domain}
        read = sum(min(self._bytes(name), self._bytes(rows.get(name, name))) for name in node.operands)
        traffic = read + sum(self._bytes(name) for name in node.results)
        if node.body is None and node.op in VIEWS:
            traffic = 0
        return Cost(min(sum(self._flops(part) for part in parts), _ENDLESS), min(traffic, _ENDLESS))

    def fused_seconds(self, nodes: Iterable[Node]) -> float:
        """Time of `nodes` as they are."""
        return sum(self._planned_seconds(node) for node in nodes)

    def _planned_seconds(self, node: Node) -> float:
        calls = self._calls(node)
        if len(calls) < 2:
            return self.estimate(node).seconds
        flops = self._share_flops(node, calls)
        return sum(Cost(flops[call], self._step_bytes(step)).seconds for call, step in enumerate(calls))

    def _share_flops(self, node: Node, calls: Sequence[Step]) -> list[float]:
        """Arithmetic of each call: an operator belongs to the call that gives its result, else to its reader's."""
        given = {name: call for call, step in enumerate(calls) for name in step.outputs}
        flops = [0.0] * len(calls)
        for part in reversed(flatten_node(node)):
            call = next((given[name] for name in part.results if name in given), len(calls) - 1)
            flops[call] += self._flops(part)
            for name in part.operands:
                given.setdefault(name, call)
        return flops

    def _calls(self, node: Node) -> tuple[Step, ...]:
        """The kernel calls of a fused node; changes of layout at its borders belong to no operator."""
        if self._lowered is None or node.body is None:
            return ()
        steps = self._lowered.plan.steps
        indices = self._lowered.steps_of.get(node.name, ())
        return tuple(steps[index] for index in indices if steps[index].kernel != "relayout")

    def _step_bytes(self, step: Step) -> int:
        assert self._lowered is not None
        extents = {name: int(str(dim)) for name, dim in self._dims.items()}
        buffers = (self._lowered.plan.buffers[name] for name in {*step.inputs, *step.outputs} if name)
        return sum(
            math.prod(evaluate_shape(buffer.shape, extents)) * storage_type(buffer.dtype).itemsize
            for buffer in buffers
            if buffer.shape is not None
        )

    def unfused_seconds(self, nodes: Iterable[Node]) -> float:
        """Time of `nodes` with every fused one taken apart into the operators of its body."""
        parts = (part for node in nodes for part in flatten_node(node))
        return sum(self.estimate(part).seconds for part in parts)

    def _flops(self, node: Node) -> float:
        count = _FLOPS.get(node.op)
        if count is not None and not node.domain:
            return count(self, node)
        if node.op in VIEWS:
            return 0
        each = TRANSCENDENTAL_FLOPS if node.op in _TRANSCENDENTAL else 1
        return each * max((self.elements(name) for name in (*node.operands, *node.results)), default=0)

    def _bytes(self, name: str) -> int:
        dtype = self._scope.dtype(name)
        return self.elements(name) * (dtype.numpy.itemsize if dtype else 0)

    def elements(self, name: str) -> int:
        """Number of elements of a value; 0 where its shape is not known."""
        return math.prod(self.extents(name)) if self._scope.shape(name) is not None else 0

    def extents(self, name: str) -> tuple[int, ...]:
        """Shape of a value at the fixed extents; () where it is not known."""
        shape = self._scope.shape(name) or ()
        return tuple(int(str(substitute(dim, self._dims))) for dim in shape)


def estimate_node_speedup(node: Node, graph: Graph, dims: Mapping[str, int] | None = None) -> float:
    """How much faster a fused node of `graph` is estimated to be than the operators of its body one by one."""
    model = CostModel(graph, dims)
    return model.unfused_seconds([node]) / model.fused_seconds([node])


def estimate_speedup(graph: Graph, dims: Mapping[str, int] | None = None, lowered: Lowered | None = None) -> float:
    """How much faster a fused graph, lowered so, is estimated to be than the same operators without fusion."""
    model = CostModel(graph, dims, lowered)
    nodes = graph.topological()
    return model.unfused_seconds(nodes) / model.fused_seconds(nodes) if nodes else 1.0


def _nominal_dims(graph: Graph) -> dict[str, Dim]:
    dims: dict[str, Dim] = {}
    for name in graph.inputs:
        for axis, dim in enumerate(graph.value(name).shape or ()):
            for symbol in sorted(symbols(dim)):
                dims.setdefault(symbol, NOMINAL_EXTENT if axis else 1)
    return dims


def _convolution_flops(model: CostModel, node: Node) -> float:
    weight = model.extents(node.input(1))
    return 2 * math.prod(weight[1:]) * model.elements(node.outputs[0])


def _transposed_convolution_flops(model: CostModel, node: Node) -> float:
    weight = model.extents(node.input(1))
    return 2 * math.prod(weight[1:]) * model.elements(node.input(0))


def _product_flops(model: CostModel, node: Node) -> float:
    a = model.extents(node.input(0))
    depth = a[0 if node.op == "Gemm" and read_integer(node, "transA", 0) else -1] if a else 0
    return 2 * depth * model.elements(node.outputs[0])


def _attention_flops(model: CostModel, node: Node) -> float:
    """Both products and the softmax between them, for every query and key."""
    q, k, y = (model.extents(name) for name in (node.input(0), node.input(1), node.outputs[0]))
    if not q or not k or not y:
        return 0
    heads = q[1] if len(q) == 4 else max(read_integer(node, "q_num_heads", 1), 1)
    past = model.extents(node.input(4))[2:3] if node.input(4) else ()
    queries, keys = q[0] * heads * q[-2], k[-2] + sum(past)
    sizes = (q[-1] + y[-1]) / (1 if len(q) == 4 else heads)
    return queries * keys * (2 * sizes + TRANSCENDENTAL_FLOPS + 2)


def _rotation_flops(model: CostModel, node: Node) -> float:
    return 3 * model.elements(node.input(0))


def _pool_flops(model: CostModel, node: Node) -> float:
    return math.prod(read_integers(node, "kernel_shape", ())) * model.elements(node.outputs[0])


def _normalization_flops(model: CostModel, node: Node) -> float:
    return 8 * model.elements(node.input(0))


def _affine_flops(model: CostModel, node: Node) -> float:
    return 2 * model.elements(node.input(0))


_FLOPS: Mapping[str, Callable[[CostModel, Node], float]] = {
    "Conv": _convolution_flops,
    "ConvTranspose": _transposed_convolution_flops,
    "MatMul": _product_flops,
    "Gemm": _product_flops,
    "Attention": _attention_flops,
    "RotaryEmbedding": _rotation_flops,
    "MaxPool": _pool_flops,
    "AveragePool": _pool_flops,
    "BatchNormalization": _affine_flops,
    "LayerNormalization": _normalization_flops,
    "GroupNormalization": _normalization_flops,
    "InstanceNormalization": _normalization_flops,
    "RMSNormalization": _normalization_flops,
}
