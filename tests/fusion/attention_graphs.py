"""Spellings of attention, and the check that what fusion makes of one computes the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from autofusion.fusion import FusionResult
from autofusion.ir import Graph, Node
from autofusion.lowering import Lowered, lower
from fusion.support import run
from lowering.graphs import build, node, randoms, run_graph, run_plan

Extents = Sequence[int | str]


@dataclass
class Spelling:
    """Nodes under construction; values are named by what they are."""

    inputs: dict[str, Extents] = field(default_factory=dict[str, Extents])
    constants: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    nodes: list[Node] = field(default_factory=list[Node])

    def input(self, name: str, *shape: int | str) -> str:
        self.inputs[name] = shape
        return name

    def const(self, value: object) -> str:
        name = f"c{len(self.constants)}"
        array = np.asarray(value)
        self.constants[name] = array.astype(np.float32) if array.dtype == np.float64 else array
        return name

    def op(self, op: str, *inputs: str, result: str = "", **attributes: object) -> str:
        name = result or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(node(op, " ".join(inputs), name, **attributes))
        return name

    def split_heads(self, rows: str, heads: int, size: int, perm: tuple[int, ...] = (0, 2, 1, 3)) -> str:
        """[batch, rows, heads * size] as [batch, heads, rows, size], or in another order."""
        return self.op("Transpose", self.op("Reshape", rows, self.const([0, 0, heads, size])), perm=perm)

    def merge_heads(self, heads: str, width: int) -> str:
        """[batch, heads, rows, size] as [batch, rows, heads * size]."""
        turned = self.op("Transpose", heads, perm=(0, 2, 1, 3))
        return self.op("Reshape", turned, self.const([0, 0, width]))

    def core(self, q: str, k: str, v: str, *, scale: float = 0.5, mask: str = "", guard: bool = False) -> str:
        """softmax(scale * q k + mask) v; k is transposed already."""
        scores = self.op("Mul", self.op("MatMul", q, k), self.const(scale))
        scores = self.op("Add", scores, mask) if mask else scores
        return self.op("MatMul", self.weights(scores, guard=guard), v)

    def weights(self, scores: str, *, guard: bool = False, axis: int = -1) -> str:
        p = self.op("Softmax", scores, axis=axis)
        return self.op("Where", self.op("IsNaN", p), self.const(0.0), p) if guard else p

    def graph(self, *outputs: str) -> Graph:
        return build(self.inputs, self.nodes, " ".join(outputs), self.constants)


def draw(graph: Graph, dims: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Normal deviates for the inputs of `graph`."""
    shapes = {name: [dims.get(str(dim), dim) for dim in graph.value(name).shape or ()] for name in graph.inputs}
    return {name: randoms(5 + place, *map(int, map(str, shapes[name]))) for place, name in enumerate(shapes)}


def check(
    graph: Graph, dims: Mapping[str, int] | None = None, feeds: Mapping[str, np.ndarray] | None = None
) -> Lowered:
    """Fuse and lower `graph`; the plan gives what the unfused nodes give, NaN included."""
    given = feeds if feeds is not None else draw(graph, dims or {})
    with np.errstate(all="ignore"):
        expected = run_graph(graph, given)
    run(graph)
    lowered = lower(graph, backend="reference")
    for actual, right in zip(run_plan(lowered, given), expected, strict=True):
        assert actual.shape == right.shape
        np.testing.assert_allclose(actual, right, rtol=1e-5, atol=1e-5)
    return lowered


def steps(lowered: Lowered) -> list[str]:
    return [step.kernel for step in lowered.plan.steps]


def miss_of(result: FusionResult, pattern: str) -> list[str]:
    """The reasons why a pattern did not apply, near misses alone."""
    return [str(miss.reason) for miss in result.misses if miss.pattern == pattern]
