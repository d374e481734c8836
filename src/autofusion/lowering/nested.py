"""Control-flow graphs as host steps hold them: fused nodes taken apart, constants among the captured values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError
from autofusion.ir import Graph, Node, Value
from autofusion.ir.scope import Names, tree_names
from autofusion.lowering.flatten import flatten_node
from autofusion.plan.nested import MAX_DEPTH, NestedGraph, NestedNode, NestedValue

TOO_DEEP = "AF170"


@dataclass(frozen=True)
class Nest:
    """Attributes of a node with graphs, and what those capture.

    `values` are names that they read from outside; `constants` are arrays that were theirs, by names
    that nothing in them has.
    """

    attributes: Mapping[str, Any]
    values: tuple[str, ...]
    constants: Mapping[str, np.ndarray]


def detach_graphs(node: Node) -> Nest:
    """The attributes of `node` with a `NestedGraph` for every graph; raises ModelError where they nest too deeply."""
    names = {name for _, graph in node.subgraphs() for name in tree_names(graph)}
    detacher = _Detacher(node, Names(names))
    attributes = detacher.write_attributes(node, {}, 1)
    captured = {name: None for _, graph in node.subgraphs() for name in graph.captures()}
    return Nest(attributes, tuple(captured), detacher.constants)


class _Detacher:
    """Writes the graphs of one node and gathers their constants."""

    def __init__(self, holder: Node, names: Names) -> None:
        self.constants: dict[str, np.ndarray] = {}
        self._holder = holder
        self._names = names
        self._names_by_array: dict[int, str] = {}

    def write_attributes(self, node: Node, renamed: Mapping[str, str], depth: int) -> dict[str, Any]:
        """The attributes of `node`; `renamed` has the constants of the graphs round it under their new names."""
        return {
            name: self._write_graph(value, renamed, depth) if isinstance(value, Graph) else value
            for name, value in node.attributes.items()
        }

    def _write_graph(self, graph: Graph, outer: Mapping[str, str], depth: int) -> NestedGraph:
        if depth > MAX_DEPTH:
            holder = self._holder
            text = f"{holder.op} node {holder.name!r} holds graphs nested more than {MAX_DEPTH} deep"
            raise ModelError(Diagnostic(TOO_DEEP, text, help="export the model with less control flow"))
        renamed = {**outer, **self._rename_constants(graph)}
        for node in graph.topological():
            for body in _bodies(node):
                renamed |= self._rename_constants(body)
        parts = [part for node in graph.topological() for part in flatten_node(node)]
        return NestedGraph(
            name=graph.name,
            inputs=graph.inputs,
            outputs=tuple(renamed.get(name, name) for name in graph.outputs),
            values=tuple(_describe_value(graph.value(name)) for name in graph.outputs),
            nodes=tuple(self._write_node(part, renamed, depth) for part in parts),
        )

    def _write_node(self, node: Node, renamed: Mapping[str, str], depth: int) -> NestedNode:
        return NestedNode(
            name=node.name,
            op=node.op,
            domain=node.domain,
            opset=node.opset,
            inputs=tuple(renamed.get(name, name) for name in node.inputs),
            outputs=node.outputs,
            attributes=self.write_attributes(node, renamed, depth + 1),
        )

    def _rename_constants(self, graph: Graph) -> dict[str, str]:
        return {name: self._take(name, array) for name, array in graph.constants.items()}

    def _take(self, name: str, array: np.ndarray) -> str:
        """The new name of a constant, one for each array."""
        if id(array) not in self._names_by_array:
            new = self._names.fresh(name)
            self._names_by_array[id(array)] = new
            self.constants[new] = array
        return self._names_by_array[id(array)]


def _bodies(node: Node) -> Iterator[Graph]:
    """The body of a fused node and the bodies in it."""
    if node.body is None:
        return
    yield node.body
    for part in node.body.topological():
        yield from _bodies(part)


def _describe_value(value: Value) -> NestedValue:
    dtype = value.dtype.value if value.dtype else None
    if value.shape is None:
        return NestedValue(dtype, None)
    return NestedValue(dtype, tuple(extent if isinstance(extent, int) else 0 for extent in value.shape))
