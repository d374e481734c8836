"""The graph: a networkx multigraph of nodes behind the few verbs that the rest of the compiler uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import networkx as nx
import numpy as np

from autofusion.ir.node import NestedGraph, Node
from autofusion.ir.types import DType, Value

CAPTURED = -1
"""Operand index of a reading by a nested graph."""


@dataclass(frozen=True)
class Use:
    """One reading of a value: operand `index` of `node`, or `CAPTURED` by one of its nested graphs."""

    node: Node
    index: int


class Graph(NestedGraph):
    """Nodes, typed values, constants, and the ordered inputs and outputs.

    Edges of the wrapped multigraph run from producer to consumer and are keyed by
    (value name, operand index).  A value without producer is an input, a constant, or,
    in a nested graph, captured from outside.  `defaults` holds initializers that are
    graph inputs as well and may be overridden by the caller.
    """

    def __init__(self, name: str, inputs: Iterable[str] = (), outputs: Iterable[str] = ()) -> None:
        self.name = name
        self.inputs: tuple[str, ...] = tuple(inputs)
        self.outputs: tuple[str, ...] = tuple(outputs)
        self.values: dict[str, Value] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.defaults: dict[str, np.ndarray] = {}
        self.opsets: dict[str, int] = {}
        self._graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        self._producers: dict[str, str] = {}
        self._readers: dict[str, dict[tuple[str, int], None]] = {}
        self._order: tuple[Node, ...] | None = None

    def __len__(self) -> int:
        return self._graph.number_of_nodes()

    def __contains__(self, node_name: str) -> bool:
        return node_name in self._graph

    def __iter__(self) -> Iterator[Node]:
        return iter(self.topological())

    # Reading

    def node(self, name: str) -> Node:
        """The node called `name`; raises KeyError."""
        return self._graph.nodes[name]["node"]

    def producer(self, value: str) -> Node | None:
        """The node that computes `value`, or None for inputs, constants and captured values."""
        name = self._producers.get(value)
        return None if name is None else self.node(name)

    def consumers(self, value: str) -> tuple[Use, ...]:
        """All readings of `value` by nodes, those of nested graphs included, by node name and operand index."""
        return tuple(Use(self.node(name), index) for name, index in sorted(self._readers.get(value, ())))

    def value(self, name: str) -> Value:
        """Type and shape of a value; an untyped `Value` where nothing is known."""
        return self.values.get(name) or Value(name)

    def constant(self, name: str) -> np.ndarray | None:
        """The array behind a constant value, else None (overridable defaults are no constants)."""
        return self.constants.get(name)

    def topological(self) -> tuple[Node, ...]:
        """Nodes, producers first; cached.

        The order depends on the structure alone: depth first from the outputs, operands
        in order; nodes that no output needs follow, by name.  Raises ValueError on a cycle.
        """
        if self._order is None:
            self._order = tuple(self._sort())
        return self._order

    def captures(self) -> tuple[str, ...]:
        """Values read here or in nested graphs that are defined outside."""
        read = dict.fromkeys(self._readers) | dict.fromkeys(self.outputs)
        return tuple(name for name in read if not self.defines(name))

    def defines(self, value: str) -> bool:
        """True where `value` is an input, a constant or computed in this graph."""
        return value in self._producers or value in self.constants or value in self.inputs

    def reaches(self, start: str, goal: str) -> bool:
        """True where a path of edges leads from node `start` to node `goal`."""
        return nx.has_path(self._graph, start, goal)

    # Writing

    def add(self, node: Node, values: Iterable[Value] = ()) -> None:
        """Insert `node`; raises ValueError where its name or one of its results is taken."""
        if node.name in self._graph:
            raise ValueError(f"node {node.name!r} exists already")
        for result in node.results:
            if self.defines(result):
                raise ValueError(f"value {result!r} of node {node.name!r} is defined already")
        self._graph.add_node(node.name, node=node)
        for value in values:
            self.values[value.name] = value
        for result in node.results:
            self._producers[result] = node.name
            for reader, index in self._readers.get(result, ()):
                self._graph.add_edge(node.name, reader, key=(result, index))
        for value, index in _readings(node):
            self._readers.setdefault(value, {})[node.name, index] = None
            if value in self._producers:
                self._graph.add_edge(self._producers[value], node.name, key=(value, index))
        self._order = None

    def remove(self, name: str) -> Node:
        """Take a node out and return it; values it computed keep their type but lose their producer."""
        node = self.node(name)
        for value, index in _readings(node):
            readers = self._readers[value]
            del readers[name, index]
            if not readers:
                del self._readers[value]
        for result in node.results:
            del self._producers[result]
        self._graph.remove_node(name)
        self._order = None
        return node

    def replace(self, old: Iterable[str], new: Iterable[Node], values: Iterable[Value] = ()) -> None:
        """Take the nodes `old` out and put the nodes `new` in."""
        for name in old:
            self.remove(name)
        for node in new:
            self.add(node)
        for value in values:
            self.values[value.name] = value

    def update(self, node: Node) -> None:
        """Put `node` in the place of the one that has its name."""
        self.replace([node.name], [node])

    def add_constant(self, name: str, array: np.ndarray) -> None:
        """Define a constant value; raises ValueError where the name is taken."""
        if self.defines(name):
            raise ValueError(f"value {name!r} is defined already")
        self.constants[name] = array
        self.values[name] = Value(name, DType.of(array), tuple(array.shape))

    def set_value(self, value: Value) -> None:
        """Record what is known of a value."""
        self.values[value.name] = value

    def fresh(self, stem: str) -> str:
        """A name that neither a node nor a value has."""
        taken = (self._graph, self.values, self._producers, self._readers, self.constants)
        name, number = stem, 0
        while any(name in names for names in taken):
            number += 1
            name = f"{stem}_{number}"
        return name

    def discard_unused(self) -> None:
        """Drop constants and value records that nothing refers to."""
        needed = {*self._readers, *self._producers, *self.inputs, *self.outputs}
        self.constants = {name: array for name, array in self.constants.items() if name in needed}
        self.values = {name: value for name, value in self.values.items() if name in needed}

    def copy(self) -> Graph:
        """A copy that shares nodes and arrays, which are never edited in place."""
        twin = Graph(self.name, self.inputs, self.outputs)
        twin.values, twin.constants = dict(self.values), dict(self.constants)
        twin.defaults, twin.opsets = dict(self.defaults), dict(self.opsets)
        twin._graph = self._graph.copy()
        twin._producers = dict(self._producers)
        twin._readers = {value: dict(readers) for value, readers in self._readers.items()}
        twin._order = self._order
        return twin

    def _sort(self) -> Iterator[Node]:
        done: set[str] = set()
        open_: set[str] = set()
        roots = [self._producers[value] for value in self.outputs if value in self._producers]
        for root in [*roots, *sorted(self._graph)]:
            stack = [] if root in done else [(root, iter(self._operand_producers(root)))]
            open_.update(name for name, _ in stack)
            while stack:
                name, pending = stack[-1]
                following = next((producer for producer in pending if producer not in done), None)
                if following is None:
                    stack.pop()
                    open_.discard(name)
                    done.add(name)
                    yield self.node(name)
                elif following in open_:
                    raise ValueError(f"node {following!r} depends on itself")
                else:
                    open_.add(following)
                    stack.append((following, iter(self._operand_producers(following))))

    def _operand_producers(self, name: str) -> list[str]:
        readings = (value for value, _ in _readings(self.node(name)))
        return [self._producers[value] for value in readings if value in self._producers]


def _readings(node: Node) -> list[tuple[str, int]]:
    readings = [(value, index) for index, value in enumerate(node.inputs) if value]
    captured = {value: None for _, graph in node.subgraphs() for value in graph.captures()}
    return readings + [(value, CAPTURED) for value in captured]


def substitute_operands(node: Node, names: Mapping[str, str]) -> tuple[str, ...]:
    """`node.inputs` with every name in `names` exchanged."""
    return tuple(names.get(name, name) for name in node.inputs)
