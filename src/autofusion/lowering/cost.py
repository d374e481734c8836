"""Estimated time of a graph's operators, apart and as the plan's steps run them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from autofusion.ir import Dim, Graph, Node, symbols
from autofusion.ir.dims import substitute
from autofusion.lowering.flatten import flatten_node
from autofusion.lowering.records import Lowered
from autofusion.lowering.roofline import CACHE_BYTES, SERVER, Roofline, Work
from autofusion.lowering.scope import Scope
from autofusion.lowering.views import VIEWS
from autofusion.lowering.winograd import MAKING_COST
from autofusion.lowering.work import WINOGRAD_PARTS, count_flops
from autofusion.plan import Buffer, Step, evaluate_shape
from autofusion.plan.dtypes import storage_type

NOMINAL_EXTENT = 128
"""Extent of a symbol that nothing is known of, unless it is the first axis of an input, which counts as 1."""

# Kernels that read some rows of a table.
_LOOKUPS = frozenset({"gather", "gather_blocks", "gather_elements", "embedding"})

# What gives elements of its operand in another order, without arithmetic.
_MOVES = VIEWS | {"Transpose", "Slice", "Split", "Concat"}

# Extents of a broken model give numbers that no float holds.
_ENDLESS = 1e18


class CostModel:
    """Work and time of nodes at fixed extents; symbols that `dims` lacks have nominal ones.

    With `lowered`, the graph's nodes take the time of the steps that run them, and a plain node that the plan gives
    without a step costs nothing, fused or not; without it, fusion is taken at its word.
    """

    def __init__(
        self,
        graph: Graph,
        dims: Mapping[str, int] | None = None,
        lowered: Lowered | None = None,
        roofline: Roofline = SERVER,
    ) -> None:
        self._scope = Scope(graph)
        self._dims: dict[str, Dim] = {**_nominal_dims(graph), **(dims or {})}
        self._lowered = lowered
        self._roofline = roofline
        # One run of the model reads all of its constants, so that together they stay in the caches or not at all.
        self._cold = sum(array.nbytes for array in graph.constants.values()) > CACHE_BYTES
        self._flops_of: dict[int, dict[str, float]] = {}
        for node in graph if lowered else ():
            self._share_flops(node)

    def estimate(self, node: Node) -> Work:
        """The work of one operator; a fused one reads its operands and writes its results, and nothing in between."""
        parts = flatten_node(node)
        # Of a table, the rows that are looked up.
        rows = {part.input(0): part.outputs[0] for part in parts if part.op == "Gather" and not part.domain}
        moved = Work(min(sum(count_flops(part, self) for part in parts), _ENDLESS))
        if node.body is None and node.op in VIEWS:
            return moved
        for name in node.operands:
            size = min(self._bytes(name), self._bytes(rows.get(name, name)))
            moved += self._move(size, self._scope.constant(name) is not None)
        for name in node.results:
            moved += self._move(self._bytes(name), False)
        return moved

    def fused_seconds(self, nodes: Iterable[Node]) -> float:
        """Time of `nodes` as they are."""
        return sum(self._planned_seconds(node) for node in nodes)

    def unfused_seconds(self, nodes: Iterable[Node]) -> float:
        """Time of `nodes` with every fused one taken apart into the operators of its body."""
        return sum(self._seconds_apart(node) for node in nodes)

    def step_work(self, index: int) -> Work:
        """The work of a step of the plan: its operands and results, and the arithmetic of the nodes it computes."""
        assert self._lowered is not None
        step = self._lowered.plan.steps[index]
        moved = Work(sum(self._flops_of.get(index, {}).values()) + self._count_making(step))
        buffers = self._lowered.plan.buffers
        written = sum(self._buffer_bytes(buffers[name]) for name in step.outputs if name)
        for name in {*step.inputs, *step.outputs} - {""}:
            size = self._buffer_bytes(buffers[name])
            if step.kernel in _LOOKUPS:
                size = min(size, written)
            moved += self._move(size, buffers[name].role == "constant")
        return moved

    def _seconds_apart(self, node: Node) -> float:
        if node.body is None and self._runs_free(node):
            return 0.0
        part_of_products = self._find_winograd(node)
        works = (self._slim(self.estimate(part), part, part_of_products) for part in flatten_node(node))
        return sum(self._roofline.seconds(work) for work in works)

    def _planned_seconds(self, node: Node) -> float:
        if self._runs_free(node):
            return 0.0
        indices = self._indices(node)
        if not indices:
            return self._roofline.seconds(self.estimate(node))
        return sum(self._roofline.seconds(self.step_work(index)) * self._share(node, index) for index in indices)

    def _runs_free(self, node: Node) -> bool:
        """Whether no step computes what the node gives, and the plan has a place for it or others move its elements."""
        if self._lowered is None or node.name not in self._lowered.steps_of or self._indices(node):
            return False
        if all(part.op in _MOVES and not part.domain for part in flatten_node(node)):
            return True
        return all(name in self._lowered.plan.buffers for name in node.results)

    def _indices(self, node: Node) -> tuple[int, ...]:
        """The steps of a node; changes of layout and of filters belong to no operator, fused or not."""
        if self._lowered is None:
            return ()
        steps = self._lowered.plan.steps
        found = self._lowered.steps_of.get(node.name, ())
        return tuple(index for index in found if steps[index].kernel not in ("relayout", "filter"))

    def _share(self, node: Node, index: int) -> float:
        """The node's part of a step that computes several."""
        flops = self._flops_of[index]
        total = sum(flops.values())
        return flops[node.name] / total if total else 1 / len(flops)

    def _share_flops(self, node: Node) -> None:
        """Arithmetic of each step: an operator belongs to the step that gives its result, else to its reader's."""
        indices = self._indices(node)
        if not indices or self._lowered is None:
            return
        for index in indices:
            self._flops_of.setdefault(index, {})[node.name] = 0.0
        winograd = self._find_winograd(node)
        given = {name: index for index in indices for name in self._lowered.plan.steps[index].outputs}
        for part in reversed(flatten_node(node)):
            index = next((given[name] for name in part.results if name in given), indices[-1])
            work = self._slim(Work(count_flops(part, self)), part, winograd)
            self._flops_of[index][node.name] += min(work.flops * self._find_computed(part, index), _ENDLESS)
            for name in part.operands:
                given.setdefault(name, index)

    def _find_winograd(self, node: Node) -> float:
        """Part of its operations that a convolution of the node takes."""
        if self._lowered is None:
            return 1.0
        found = (self._lowered.plan.steps[index].attributes.get("winograd") for index in self._indices(node))
        return next((WINOGRAD_PARTS[tile] for tile in found if isinstance(tile, int)), 1.0)

    def _find_computed(self, part: Node, index: int) -> float:
        """Part of a convolution's pixels that its step computes: not all where the pool behind it comes before it."""
        assert self._lowered is not None
        step = self._lowered.plan.steps[index]
        if part.op != "Conv" or step.kernel != "conv":
            return 1.0
        computed = self._buffer_extents(self._lowered.plan.buffers[step.outputs[0]])[2:]
        return min(math.prod(computed) / max(math.prod(self.extents(part.outputs[0])[2:]), 1), 1.0)

    def _slim(self, work: Work, part: Node, winograd: float) -> Work:
        return Work(work.flops * winograd, work.cached, work.streamed) if part.op == "Conv" else work

    def _count_making(self, step: Step) -> float:
        """Arithmetic of making filters for tiles: two operations for a multiplication."""
        if step.kernel != "filter":
            return 0.0
        assert self._lowered is not None
        made = self._lowered.plan.buffers[step.outputs[0]]
        return 2 * MAKING_COST[int(str(step.attributes["tile"]))] * self._buffer_elements(made)

    def _buffer_bytes(self, buffer: Buffer) -> int:
        # A sequence has neither a shape nor an element type.
        return 0 if buffer.shape is None else self._buffer_elements(buffer) * storage_type(buffer.dtype).itemsize

    def _buffer_elements(self, buffer: Buffer) -> int:
        return 0 if buffer.shape is None else math.prod(self._buffer_extents(buffer))

    def _buffer_extents(self, buffer: Buffer) -> tuple[int, ...]:
        extents = {name: int(str(dim)) for name, dim in self._dims.items()}
        return tuple(evaluate_shape(buffer.shape or (), extents))

    def _move(self, size: int, is_constant: bool) -> Work:
        size = min(size, int(_ENDLESS))
        return Work(streamed=size) if size > CACHE_BYTES or (is_constant and self._cold) else Work(cached=size)

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
    fused = model.fused_seconds(nodes)
    return model.unfused_seconds(nodes) / fused if fused else 1.0


def _nominal_dims(graph: Graph) -> dict[str, Dim]:
    dims: dict[str, Dim] = {}
    for name in graph.inputs:
        for axis, dim in enumerate(graph.value(name).shape or ()):
            for symbol in sorted(symbols(dim)):
                dims.setdefault(symbol, NOMINAL_EXTENT if axis else 1)
    return dims
