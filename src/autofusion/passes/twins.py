"""Nodes that compute the same, and constants that hold the same.

Fusion asks that the inner values of a pattern have one reader, and it comes later.  Two equal chains with a reader
each are two fusions; merged at a value in their middle they would be none.  So a result is merged only
where that gives it no readers that it had not before: where the readers of its twins are merged too (whole
equal trees), or where it is a graph output and thus inside no pattern.  Indices, extents and truth values
are merged always: they stand inside no chain.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from autofusion.ir import Attribute, DType, Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops import find_operator
from autofusion.passes.fold import RANDOM
from autofusion.passes.nested import edit_nested
from autofusion.passes.redirect import hand_on, redirect

_PREFIX = 64
"""Bytes of a constant that are looked at before all of them are."""

_BLOCK = 1 << 20

_UNCHAINED = frozenset({DType.BOOL, DType.INT64, DType.STRING})

Reading = tuple[str, int]
"""A node, or the one that it is merged into, and the place where it reads."""


def merge_twins(graph: Graph) -> int:
    """Merge equal constants and equal nodes of each graph; returns how many went.

    Constants are equal in type, shape and bytes, nodes in operator, attributes, operands in order and outputs.
    Random, stateful, opaque and control-flow nodes have no twins.  Graph outputs keep their names.
    """
    return _merge(GraphScope(graph))


def _merge(scope: GraphScope) -> int:
    graph = scope.graph
    changes = _merge_constants(graph)
    for node in graph.topological():
        if node.subgraphs():
            changes += edit_nested(graph, node, lambda nested: _merge(scope.nest(nested)))
    classes = _classify(graph)
    for kept, twins in _choose(classes, graph):
        for twin in twins:
            # What was merged before this twin may have changed its operands, never its results.
            changes += hand_on(scope, graph.node(twin.name), *kept.outputs)
    return changes


def _merge_constants(graph: Graph) -> int:
    changes = 0
    groups: dict[Hashable, list[str]] = {}
    # Names of outputs must stay, so those come first.
    for name in sorted(graph.constants, key=lambda name: name not in graph.outputs):
        if name in graph.outputs or graph.consumers(name):
            groups.setdefault(_fingerprint(graph.constants[name]), []).append(name)
    for names in groups.values():
        kept: list[str] = []
        for name in names:
            twin = next((other for other in kept if _is_same(graph.constants[other], graph.constants[name])), None)
            if twin is None or name in graph.outputs:
                kept.append(name)
                continue
            redirect(graph, name, twin)
            changes += 1
    return changes


def _fingerprint(array: np.ndarray) -> Hashable:
    start = array.reshape(-1)[: max(_PREFIX // max(array.itemsize, 1), 1)]
    return array.dtype.str, array.dtype.name, array.shape, _elements(start)


def _is_same(left: np.ndarray, right: np.ndarray) -> bool:
    if left is right:
        return True
    if left.dtype == np.object_:
        return _elements(left) == _elements(right)
    # Bytes, so that -0 is not 0 and NaN is itself; in blocks, for comparing makes arrays of its own.
    pairs = zip(_blocks(left), _blocks(right), strict=True)
    return left.shape == right.shape and all(np.array_equal(one, other) for one, other in pairs)


def _blocks(array: np.ndarray) -> list[np.ndarray]:
    elements = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return [elements[start : start + _BLOCK] for start in range(0, elements.size, _BLOCK)]


def _elements(array: np.ndarray) -> Hashable:
    return tuple(array.reshape(-1)) if array.dtype == np.object_ else array.tobytes()


def _classify(graph: Graph) -> list[list[Node]]:
    """Nodes that compute the same, in classes, operands before readers; within a class in topological order."""
    numbers: dict[str, str] = {}
    classes: dict[Hashable, list[Node]] = {}
    for node in graph.topological():
        key = _key(node, numbers, graph)
        if key is None:
            continue
        twins = classes.setdefault(key, [])
        twins.append(node)
        numbers.update(zip(node.outputs, twins[0].outputs, strict=True))
    return [twins for twins in classes.values() if len(twins) > 1]


def _key(node: Node, numbers: dict[str, str], graph: Graph) -> Hashable | None:
    """What makes a node compute the same as another one; None where it is to have no twin."""
    if node.opaque or node.body is not None or node.subgraphs() or node.op in RANDOM or node.op == "Identity":
        return None
    if find_operator(node.op, node.domain) is None:
        return None
    # Sequences, which a later node may hold on to, have no element type.
    if any(graph.value(name).dtype is None for name in node.results):
        return None
    attributes = tuple(sorted((name, _freeze(value)) for name, value in node.attributes.items()))
    operands = tuple(numbers.get(name, name) for name in node.inputs)
    return node.op, node.domain, attributes, operands, tuple(map(bool, node.outputs))


def _freeze(value: Attribute) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name} {value.shape} {_elements(value)!r}"
    return f"{type(value).__name__} {value!r}"


def _choose(classes: Sequence[list[Node]], graph: Graph) -> list[tuple[Node, list[Node]]]:
    """Nodes to keep, each with those to merge into it, so that nothing fusible gets more readers than it had."""
    merged: dict[str, str] = {}
    chosen: list[tuple[Node, list[Node]]] = []
    # Readers come after what they read, so each class is decided when those of its readers are.
    for twins in reversed(classes):
        for group in _group(twins, merged, graph):
            if len(group) > 1:
                kept, *others = group
                merged.update((other.name, kept.name) for other in others)
                chosen.append((kept, others))
    return chosen


def _group(twins: Sequence[Node], merged: dict[str, str], graph: Graph) -> list[list[Node]]:
    groups: dict[Hashable, list[Node]] = {}
    for node in twins:
        readings = [_read_by(name, merged, graph) for name in node.results]
        groups.setdefault(_sharing(node, readings, graph), []).append(node)
    return list(groups.values())


def _sharing(node: Node, readings: Sequence[frozenset[Reading]], graph: Graph) -> Hashable:
    """Equal for twins that may be merged: place by place free to be read by others, or read by the same inputs."""
    return tuple(
        None if name in graph.outputs or graph.value(name).dtype in _UNCHAINED else read
        for name, read in zip(node.results, readings, strict=True)
    )


def _read_by(name: str, merged: dict[str, str], graph: Graph) -> frozenset[Reading]:
    readings = {(merged.get(use.node.name, use.node.name), use.index) for use in graph.consumers(name)}
    return frozenset(readings)
