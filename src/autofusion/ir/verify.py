"""Structural checks of a graph; a failure is a fault of the pass that ran last, which the error names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from autofusion.diagnostics import Diagnostic
from autofusion.errors import InternalError
from autofusion.ir.graph import Graph
from autofusion.ir.node import Node
from autofusion.ir.types import DType


def verify_graph(graph: Graph, stage: str, outer: Set[str] = frozenset()) -> None:
    """Check the whole graph, nested graphs and bodies included.

    `stage` names the pass that has just run, `outer` the values a nested graph may capture.
    Raises InternalError AF901 on the first fault.
    """
    try:
        order = graph.topological()
    except ValueError as error:
        raise _broken(stage, str(error)) from error
    for fault in _graph_faults(graph, order, outer):
        raise _broken(stage, fault)
    visible = _defined(graph, order) | outer
    for node in order:
        for _, nested in node.subgraphs():
            verify_graph(nested, stage, visible)


def verify_nodes(graph: Graph, names: Iterable[str], stage: str, outer: Set[str] = frozenset()) -> None:
    """Check the nodes `names` and what they read alone: what to run after each rewrite."""
    for name in names:
        node = graph.node(name)
        for value in node.operands:
            if not graph.defines(value) and value not in outer:
                raise _broken(stage, f"node {node.name!r} reads {value!r}, which nothing defines")
        for fault in _node_faults(node):
            raise _broken(stage, fault)


def _graph_faults(graph: Graph, order: tuple[Node, ...], outer: Set[str]) -> Iterator[str]:
    visible = _defined(graph, order) | outer
    for value in graph.outputs:
        if value not in visible:
            yield f"output {value!r} is not produced"
    for node in order:
        for value in node.operands:
            if value not in visible:
                yield f"node {node.name!r} reads {value!r}, which nothing defines"
        yield from _node_faults(node)
    for name, array in graph.constants.items():
        known = graph.value(name)
        if known.dtype is not DType.of(array) or known.shape != array.shape:
            yield f"constant {name!r} is recorded as {known.dtype} {known.shape} but holds {array.dtype} {array.shape}"


def _node_faults(node: Node) -> Iterator[str]:
    body = node.body
    if body is None:
        return
    if body.inputs != node.operands:
        yield f"body of {node.name!r} takes {body.inputs}, but the node reads {node.operands}"
    if body.outputs != node.results:
        yield f"body of {node.name!r} gives {body.outputs}, but the node gives {node.results}"
    try:
        order = body.topological()
    except ValueError as error:
        yield f"body of {node.name!r}: {error}"
        return
    for fault in _graph_faults(body, order, frozenset()):
        yield f"body of {node.name!r}: {fault}"


def _defined(graph: Graph, order: tuple[Node, ...]) -> set[str]:
    produced = {result for node in order for result in node.results}
    return produced | set(graph.inputs) | set(graph.constants)


def _broken(stage: str, fault: str) -> InternalError:
    return InternalError(
        Diagnostic(
            "AF901",
            f"the graph is broken after {stage}: {fault}",
            help="this is a fault of the compiler; please report it with the model",
        )
    )
