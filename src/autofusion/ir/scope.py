"""What a graph, and the graphs round it, know of a value: what the rules of operators ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from autofusion.ir.graph import Graph
from autofusion.ir.types import Value


class Names:
    """A source of unused names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        """Never hand `name` out."""
        self._taken.add(name)

    def fresh(self, stem: str) -> str:
        """`stem`, or with the first number that makes it unused; the name is reserved."""
        name, number = stem, self._next.get(stem, 0)
        while not name or name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._next[stem] = number
        self._taken.add(name)
        return name


class GraphScope:
    """The values visible in `graph`: its own and, through `outer`, those that it may capture.

    The scopes of one tree of graphs share their `names`, so that no nested graph gets a value
    named like one that it could capture.
    """

    def __init__(self, graph: Graph, outer: GraphScope | None = None, names: Names | None = None) -> None:
        self.graph = graph
        self.outer = outer
        self._names = names

    @property
    def names(self) -> Names:
        """Where new names come from; without one given, it knows the names in use when it is first asked for."""
        if self.outer is not None:
            return self.outer.names
        if self._names is None:
            self._names = Names(tree_names(self.graph))
        return self._names

    def nest(self, graph: Graph) -> GraphScope:
        """The scope of a control-flow graph that one of this graph's nodes holds."""
        return GraphScope(graph, self)

    def value(self, name: str) -> Value:
        """Type, shape and content as known so far; an untyped `Value` for anything unknown."""
        if self.outer is None or self.graph.defines(name):
            return self.graph.value(name)
        return self.outer.value(name)

    def constant(self, name: str) -> np.ndarray | None:
        """The array of a constant value, here or outside, else None."""
        if self.outer is None or self.graph.defines(name):
            return self.graph.constant(name)
        return self.outer.constant(name)

    def define_constant(self, stem: str, array: np.ndarray) -> str:
        """Add a constant to the graph and return the name it got."""
        name = self.fresh(stem)
        self.graph.add_constant(name, array)
        return name

    def fresh(self, stem: str) -> str:
        """An unused name for a value or node."""
        return self.names.fresh(stem)


def tree_names(graph: Graph) -> Iterator[str]:
    """Names of all values and nodes of `graph`, of the bodies in it and of the control-flow graphs nested in it."""
    yield from graph.values
    yield from graph.inputs
    yield from graph.outputs
    yield from graph.constants
    for node in graph:
        yield node.name
        yield from node.inputs
        yield from node.outputs
        for _, nested in node.subgraphs():
            yield from tree_names(nested)
        if node.body is not None:
            yield from tree_names(node.body)
