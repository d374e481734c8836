"""A graph as the matcher sees it: with what is known of the values it captures from the graphs around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autofusion.ir import Graph, Value


@dataclass(frozen=True)
class Scope:
    """A graph and the scope of the graph around it; `path` names the control-flow nodes on the way in."""

    graph: Graph
    outer: Scope | None = None
    path: str = ""

    def value(self, name: str) -> Value:
        """Type and shape of a value, wherever it is defined."""
        known = self.graph.values.get(name)
        if known is not None and (known.shape is not None or self.outer is None or self.graph.defines(name)):
            return known
        return self.outer.value(name) if self.outer is not None else Value(name)

    def constant(self, name: str) -> np.ndarray | None:
        """The array of a constant, wherever it is defined."""
        array = self.graph.constant(name)
        if array is None and self.outer is not None and not self.graph.defines(name):
            return self.outer.constant(name)
        return array

    def is_overridable(self, name: str) -> bool:
        """True for an initializer that the caller may replace."""
        if name in self.graph.defaults:
            return True
        return self.outer is not None and not self.graph.defines(name) and self.outer.is_overridable(name)

    def is_captured(self, name: str) -> bool:
        """True for a value that a graph around this one defines."""
        return self.outer is not None and not self.graph.defines(name)
