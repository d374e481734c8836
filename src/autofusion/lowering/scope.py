"""What lowering may ask of values by name: those of the graph and of the bodies of its fused nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from autofusion.ir import Dim, DType, Expr, Graph, Shape, Value, symbols


class Scope:
    """Types, shapes and constants of `graph`, the insides of fused nodes included.

    A shape counts as known only if a runtime can compute it from the shapes of the inputs: every
    symbol in it must stand alone as an extent of some graph input.
    """

    def __init__(self, graph: Graph) -> None:
        self._values: dict[str, Value] = {}
        self._constants: dict[str, np.ndarray] = {}
        self._collect(graph)
        self.symbols = _solvable_symbols(graph)

    def value(self, name: str) -> Value:
        """What is known of a value; `shape` and `content` are None unless a runtime can compute them."""
        value = self._values.get(name) or Value(name)
        if not self._is_computable(value.shape) or value.dtype is None:
            value = replace(value, shape=None, content=None)
        return value if self._is_computable(value.content) else replace(value, content=None)

    def shape(self, name: str) -> Shape | None:
        """The shape of a value, None where it is not known before the model runs."""
        return self.value(name).shape

    def dtype(self, name: str) -> DType | None:
        """The element type of a value."""
        return self.value(name).dtype

    def constant(self, name: str) -> np.ndarray | None:
        """The array behind a constant value, else None."""
        return self._constants.get(name)

    def knows(self, name: str) -> bool:
        """True where a value of that name exists."""
        return name in self._values or name in self._constants

    def define_value(self, value: Value) -> None:
        """Add a value that lowering itself makes."""
        self._values[value.name] = value

    def define_constant(self, name: str, array: np.ndarray) -> None:
        """Add a constant that lowering itself makes."""
        self._constants[name] = array
        self._values[name] = Value(name, DType.of(array), tuple(array.shape))

    def _collect(self, graph: Graph) -> None:
        for node in graph:
            if node.body is not None:
                self._collect(node.body)
        for name, value in graph.values.items():
            known = self._values.get(name)
            if known is None or value.shape is not None or known.shape is None:
                self._values[name] = value
        for name, array in graph.constants.items():
            self._constants[name] = array
            self._values[name] = Value(name, DType.of(array), tuple(array.shape))

    def _is_computable(self, dims: Iterable[Dim] | None) -> bool:
        return dims is None or all(symbols(dim) <= self.symbols for dim in dims)


def _solvable_symbols(graph: Graph) -> frozenset[str]:
    shapes = [graph.value(name).shape or () for name in graph.inputs]
    return frozenset(str(dim) for shape in shapes for dim in shape if isinstance(dim, Expr) and str(dim).isidentifier())
