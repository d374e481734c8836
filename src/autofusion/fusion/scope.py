"""A graph as the matcher sees it: with what is known of the values it captures from the graphs around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autofusion.ir import Graph, Value


@dataclass(frozen=True)
class Scope:
    """A graph and the scope of the graph around it; `path` names the control-flow nodes on the way in.

    The body of a manual group is a graph of its own: `group` is the name of its node in `outer`, and what the body
    takes as inputs is what `outer` knows by the same names.
    """

    graph: Graph
    outer: Scope | None = None
    path: str = ""
    group: str = ""

    @property
    def rule(self) -> str:
        """The name of the manual rule that made the group."""
        return self.outer.graph.node(self.group).display if self.outer is not None and self.group else ""

    def value(self, name: str) -> Value:
        """Type and shape of a value, wherever it is defined."""
        known = self.graph.values.get(name)
        if known is not None and (known.shape is not None or self.outer is None or self.graph.defines(name)):
            return known
        return self.outer.value(name) if self.outer is not None else Value(name)

    def constant(self, name: str) -> np.ndarray | None:
        """The array of a constant, wherever it is defined."""
        array = self.graph.constant(name)
        if array is None and self.outer is not None and self._comes_from_outside(name):
            return self.outer.constant(name)
        return array

    def is_overridable(self, name: str) -> bool:
        """True for an initializer that the caller may replace."""
        if name in self.graph.defaults:
            return True
        return self.outer is not None and self._comes_from_outside(name) and self.outer.is_overridable(name)

    def is_captured(self, name: str) -> bool:
        """True for a value that a control-flow graph around this one defines."""
        if self.outer is None:
            return False
        if self.group and name in self.graph.inputs:
            return self.outer.is_captured(name)
        return not self.graph.defines(name)

    def enters_group(self, name: str) -> bool:
        """True for a value that this manual group reads and a node outside of it computes."""
        if not self.group or self.outer is None or name not in self.graph.inputs:
            return False
        return self.outer.graph.producer(name) is not None

    def leaves_group(self, name: str) -> bool:
        """True for a result of this manual group that is no output of the graph around it."""
        if not self.group or self.outer is None or name not in self.graph.outputs:
            return False
        return name not in self.outer.graph.outputs

    def fresh(self, stem: str) -> str:
        """A name that nothing has, here or in the graphs around."""
        name = self.graph.fresh(stem)
        found = name if self.outer is None else self.outer.fresh(name)
        return name if found == name else self.fresh(found)

    def _comes_from_outside(self, name: str) -> bool:
        return not self.graph.defines(name) or (bool(self.group) and name in self.graph.inputs)
