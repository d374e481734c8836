"""Renaming of what is read or computed, nested graphs included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autofusion.ir import Graph, Node, substitute_operands
from autofusion.ir.scope import GraphScope
from autofusion.ops import find_operator
from autofusion.passes.nested import map_nested


def redirect(graph: Graph, old: str, new: str) -> int:
    """Let every reader of `old` read `new` instead, captures by nested graphs included; returns the readers changed.

    Graph outputs keep their names.  Raises ValueError where a nested graph that reads `old` defines `new` itself.
    """
    readers = {use.node.name: use.node for use in graph.consumers(old)}
    for node in readers.values():
        graph.update(redirect_operands(node, old, new))
    return len(readers)


def redirect_operands(node: Node, old: str, new: str) -> Node:
    """`node` reading `new` in place of `old`, as operand and in its body and nested graphs, which are copied."""
    changed, _ = map_nested(node, lambda graph: _redirect_captured(graph, old, new))
    changed = replace(changed, inputs=substitute_operands(changed, {old: new}))
    if changed.body is None:
        return changed
    body = changed.body.copy()
    body.set_value(replace(body.value(old), name=new))
    redirect(body, old, new)
    body.values.pop(old, None)
    body.inputs = changed.operands
    return replace(changed, body=body)


def hand_on(scope: GraphScope, node: Node, *sources: str) -> int:
    """Take out `node`, whose results are the values `sources`, one per output place; returns 1.

    Readers read the sources.  A result that is a graph output keeps its name, as that of an Identity.
    """
    graph = scope.graph
    graph.remove(node.name)
    for result, source in zip(node.outputs, sources, strict=True):
        if result in graph.outputs:
            name = node.name if node.name not in graph else scope.fresh(node.name)
            graph.add(identity(name, source, result, node.origin))
        elif result:
            redirect(graph, result, source)
    return 1


def identity(name: str, source: str, result: str, origin: tuple[str, ...]) -> Node:
    """The node that gives the value `source` the name `result` as well."""
    row = find_operator("Identity")
    return Node(name, "Identity", (source,), (result,), opset=row.version if row else 0, origin=origin)


def is_inner(graph: Graph, value: str) -> bool:
    """True for a value that one reading input alone sees: its producer may change with that reader."""
    return value not in graph.outputs and len(graph.consumers(value)) == 1


def rename_result(graph: Graph, old: str, new: str) -> None:
    """Let the node that computes `old` call its result `new`, and every reader with it.

    `new` must be free.  Graph outputs called `old` are not changed, so there must be none.
    """
    producer = graph.producer(old)
    if producer is None or old in graph.outputs:
        raise ValueError(f"{old!r} is no result that may be renamed")
    graph.update(name_results(producer, {old: new}))
    graph.set_value(replace(graph.value(old), name=new))
    redirect(graph, old, new)


def name_results(node: Node, names: Mapping[str, str]) -> Node:
    """`node` with its results, and those of its body, called as `names` says; what it does not name stays."""
    named = replace(node, outputs=tuple(names.get(name, name) for name in node.outputs))
    if named.body is None:
        return named
    body = named.body.copy()
    body.outputs = named.results
    for old in (name for name in node.results if names.get(name, name) != name):
        if old in body.constants:
            body.add_constant(names[old], body.constants.pop(old))
            redirect(body, old, names[old])
        else:
            rename_result(body, old, names[old])
    return replace(named, body=body)


def _redirect_captured(graph: Graph, old: str, new: str) -> int:
    if graph.defines(old):
        return 0
    read = old in graph.outputs or graph.consumers(old)
    if read and graph.defines(new):
        raise ValueError(f"graph {graph.name!r} defines {new!r} itself and cannot read the outer value of that name")
    changed = redirect(graph, old, new) + graph.outputs.count(old)
    graph.outputs = tuple(new if name == old else name for name in graph.outputs)
    return changed
