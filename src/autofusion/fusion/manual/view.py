"""A graph as rules see it: who computes and reads what, past nodes that only move elements or scale them."""

from __future__ import annotations

from collections.abc import Iterator

from autofusion.fusion.scope import Scope
from autofusion.ir import DType, Graph, Node

MOVES = frozenset(
    {"Cast", "Dropout", "Expand", "Flatten", "Gather", "Identity", "RepeatKV", "Reshape", "Slice", "Split"}
    | {"Squeeze", "Transpose", "Unsqueeze"}
)
_SCALES = frozenset({"Mul", "Div"})
_INDEX_TYPES = frozenset({DType.INT64, DType.INT32, DType.BOOL})


def passes_on(scope: Scope, node: Node, value: str) -> bool:
    """True where `node` does no more with `value` than move its elements, or multiply them by a constant number."""
    if node.opaque:
        return False
    if node.op == "Concat":
        return True
    if node.op in MOVES:
        return node.input(0) == value
    if node.op in _SCALES and not node.domain and value in node.inputs[: 2 if node.op == "Mul" else 1]:
        other = scope.constant(node.inputs[1 - node.inputs.index(value)])
        return other is not None and other.size == 1
    return False


def is_between(scope: Scope, node: Node) -> bool:
    """True for a node that a group may take in to be convex: one that moves elements, or computes indices."""
    if node.subgraphs() or node.opaque:
        return False
    if any(passes_on(scope, node, value) for value in node.operands):
        return True
    return all(scope.value(value).dtype in _INDEX_TYPES for value in node.results)


def readers_past(scope: Scope, value: str) -> Iterator[tuple[Node, tuple[str, ...], str]]:
    """The nodes that read `value`, or what comes of moving it: each with the nodes passed and the value read.

    A node that passes the value on is among the readers too; nearer ones come first.
    """
    graph: Graph = scope.graph
    pending: list[tuple[str, tuple[str, ...]]] = [(value, ())]
    seen: set[str] = set()
    for name, way in pending:
        for node in dict.fromkeys(use.node for use in graph.consumers(name)):
            if node.name in seen:
                continue
            seen.add(node.name)
            yield node, way, name
            if passes_on(scope, node, name):
                pending += [(result, (*way, node.name)) for result in node.results]


def sources_past(scope: Scope, value: str) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """The nodes that compute `value` or what it is moved from, each with the nodes passed on the way, nearest first."""
    pending: list[tuple[str, tuple[str, ...]]] = [(value, ())]
    seen: set[str] = set()
    for name, way in pending:
        node = scope.graph.producer(name)
        if node is None or node.name in seen:
            continue
        seen.add(node.name)
        yield node, way
        pending += [(operand, (*way, node.name)) for operand in node.operands if passes_on(scope, node, operand)]
