"""Graphs built node by node, each inferred at once, and their shapes as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.ir import Dim, DType, Graph, Node, Value, parse_dim
from autofusion.ir.scope import GraphScope
from autofusion.ops import canonicalize, infer

VERSION = 20


def extents(shape: str) -> tuple[Dim, ...]:
    """The extents in `"batch 3 seq+1"`."""
    return tuple(parse_dim(extent) for extent in shape.split())


def spell(shape: Sequence[Dim]) -> str:
    """The extents without spaces, and without brackets round a whole one."""
    texts = [str(extent).replace(" ", "") for extent in shape]
    return " ".join(text[1:-1] if text[0] == "(" and text[-1] == ")" else text for text in texts)


class Sketch:
    """A graph built node by node, each inferred at once."""

    def __init__(self, **inputs: str) -> None:
        self.scope = GraphScope(Graph("sketch"))
        for name, shape in inputs.items():
            self.input(name, shape)

    def input(self, name: str, shape: str | None, dtype: DType = DType.FLOAT) -> str:
        self.scope.graph.set_value(Value(name, dtype, None if shape is None else extents(shape)))
        return name

    def constant(self, array: np.ndarray | Sequence[int] | int) -> str:
        return self.scope.define_constant(
            "constant", np.asarray(array, None if isinstance(array, np.ndarray) else np.int64)
        )

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        name = self.scope.fresh(op)
        results = tuple(self.scope.fresh(f"{op}_y") for _ in range(outputs))
        for part in canonicalize(Node(name, op, inputs, results, attributes), VERSION, self.scope):
            for value in infer(part, self.scope):
                self.scope.graph.set_value(value)
        return results[0] if outputs == 1 else " ".join(results)

    def shape(self, name: str) -> str:
        shape = self.scope.value(name).shape
        return "?" if shape is None else spell(shape)

    def content(self, name: str) -> list[str] | None:
        content = self.scope.value(name).content
        return None if content is None else [spell([element]) for element in content]
