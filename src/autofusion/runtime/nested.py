"""The nodes of host steps, with the graphs in them, as `ops` evaluates them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autofusion.plan.nested import NestedGraph, NestedNode

if TYPE_CHECKING:
    from autofusion.ir import Attribute, Graph, Node


def make_node(record: NestedNode, origin: tuple[str, ...] = ()) -> Node:
    """The IR's node for a checked record; one of a form that is not the canonical one is opaque."""
    from autofusion.ir import Node
    from autofusion.ops.rows import find_operator

    row = find_operator(record.op, record.domain)
    return Node(
        name=record.name,
        op=record.op,
        inputs=record.inputs,
        outputs=record.outputs,
        attributes=_make_attributes(record.attributes),
        domain=record.domain,
        opset=record.opset,
        opaque=row is not None and row.version != record.opset,
        origin=origin,
    )


def _make_attributes(records: Mapping[str, Any]) -> dict[str, Attribute]:
    return {name: _make_graph(value) if isinstance(value, NestedGraph) else value for name, value in records.items()}


def _make_graph(record: NestedGraph) -> Graph:
    from autofusion.ir import DType, Graph, Value

    graph = Graph(record.name, record.inputs, record.outputs)
    for node in record.nodes:
        graph.add(make_node(node))
    for name, value in zip(record.outputs, record.values, strict=True):
        graph.set_value(Value(name, DType(value.dtype) if value.dtype else None, value.shape))
    return graph
