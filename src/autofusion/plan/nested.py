"""Graphs inside host steps: the bodies of If, Loop, Scan and their like, without constants of their own.

Whatever such a graph reads that it does not compute is captured: the step that holds the outermost
graph has it among its operands.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 40
"""How many graphs may lie in one another."""


@dataclass(frozen=True)
class NestedNode:
    """One operator application; `attributes` are numbers, texts, tuples of them, arrays and `NestedGraph`s."""

    name: str
    op: str
    domain: str
    opset: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class NestedValue:
    """What a graph says of one of its outputs: its type and extents, None where they are not known.

    They tell what no iterations at all give; an extent that depends on the iteration is 0.
    """

    dtype: str | None
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class NestedGraph:
    """Nodes in running order, from the values `inputs` and captured ones to the values `outputs`.

    `values` describes outputs, in their order.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: tuple[NestedValue, ...]
    nodes: tuple[NestedNode, ...]


def check_attributes(attributes: Mapping[str, Any], captured: AbstractSet[str], depth: int = 1) -> None:
    """Raise ValueError unless every graph among `attributes` reads nothing but what it has and `captured`."""
    for name, value in attributes.items():
        if isinstance(value, NestedGraph):
            if depth > MAX_DEPTH:
                raise ValueError(f"graphs are nested more than {MAX_DEPTH} deep")
            _check_graph(value, f"graph {name!r}", captured, depth)


def _check_graph(graph: NestedGraph, place: str, captured: AbstractSet[str], depth: int) -> None:
    if len(graph.values) != len(graph.outputs):
        raise ValueError(f"{place} describes {len(graph.values)} outputs, not {len(graph.outputs)}")
    known = set(captured)
    if len({node.name for node in graph.nodes}) < len(graph.nodes):
        raise ValueError(f"{place} has two nodes of one name")
    for name in graph.inputs:
        _define(name, known, place)
    for node in graph.nodes:
        unknown = {name for name in node.inputs if name} - known
        if unknown:
            raise ValueError(f"node {node.name!r} of {place} reads {min(unknown)!r} before it is written")
        check_attributes(node.attributes, known, depth + 1)
        for name in filter(None, node.outputs):
            _define(name, known, place)
    for name in graph.outputs:
        if name not in known:
            raise ValueError(f"{place} does not give {name!r}")


def _define(name: str, known: set[str], place: str) -> None:
    if not name or name in known:
        raise ValueError(f"{place} defines {name!r}, which is defined already")
    known.add(name)
