"""Limits in a row: Clip and Relu after one another are one Clip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autofusion.ir import DType, Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops import find_operator
from autofusion.passes.redirect import hand_on, is_inner
from autofusion.passes.sweep import sweep


@dataclass(frozen=True)
class _Limits:
    """`min(max(x, lower), upper)`; where nothing limits, the least and the greatest value of the element type."""

    lower: np.ndarray
    upper: np.ndarray

    def apply(self, x: np.ndarray) -> np.ndarray:
        """`x` held within the limits."""
        return np.asarray(np.minimum(np.maximum(x, self.lower), self.upper), x.dtype)


def merge_limits(graph: Graph) -> int:
    """Let one Clip, or Relu where it does, set the limits of two in a row; returns how many were merged.

    With [a, b] inside and [c, d] outside that is [min(max(a, c), d), min(max(b, c), d)], also where a > b or c > d:
    then all values are the upper limit.  Limits that are no constants, or NaN, stay, and so does what others read.
    """
    return sweep(graph, _merge)


def _merge(node: Node, scope: GraphScope) -> int:
    graph = scope.graph
    outer = _read(node, scope)
    first = graph.producer(node.inputs[0]) if outer is not None else None
    inner = None if first is None else _read(first, scope)
    if outer is None or first is None or inner is None:
        return 0
    if node.op == first.op == "Relu":
        return hand_on(scope, node, node.inputs[0])
    if not is_inner(graph, node.inputs[0]):
        return 0
    both = _Limits(outer.apply(inner.lower), outer.apply(inner.upper))
    origin = tuple(dict.fromkeys((*first.origin, *node.origin)))
    if "Relu" in (node.op, first.op) and _is_relu(both):
        graph.update(_limiter(node, "Relu", first.inputs[:1], origin))
    else:
        graph.update(_limiter(node, "Clip", (first.inputs[0], *_write(node, both, scope)), origin))
    return 1


def _read(node: Node, scope: GraphScope) -> _Limits | None:
    """The limits that a node sets, None where it is neither a Relu nor a Clip with constant limits."""
    if node.op not in ("Clip", "Relu") or node.domain or node.opaque:
        return None
    dtype = scope.value(node.inputs[0]).dtype
    if dtype is None or not (dtype.is_float or dtype.numpy.kind in "iu"):
        return None
    lowest, highest = _extremes(dtype)
    if node.op == "Relu":
        return _Limits(np.zeros_like(lowest), highest)
    limits: list[np.ndarray] = []
    for place, default in ((1, lowest), (2, highest)):
        array = scope.constant(node.input(place)) if node.input(place) else default
        if array is None or array.size != 1 or array.dtype != default.dtype or array != array:
            return None
        limits.append(array.reshape(()))
    return _Limits(*limits)


def _extremes(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    kind = dtype.numpy
    if dtype.is_float:
        return np.array(-np.inf, kind), np.array(np.inf, kind)
    span = np.iinfo(kind.name)
    return np.array(span.min, kind), np.array(span.max, kind)


def _is_relu(limits: _Limits) -> bool:
    _, highest = _extremes(DType.of(limits.upper))
    return bool(limits.upper == highest and limits.lower == 0 and not np.signbit(limits.lower))


def _write(node: Node, limits: _Limits, scope: GraphScope) -> list[str]:
    """Constants for the limits, without those that limit nothing."""
    lowest, highest = _extremes(DType.of(limits.upper))
    names = ["", ""]
    if limits.lower != lowest:
        names[0] = scope.define_constant(f"{node.name}_min", limits.lower)
    if limits.upper != highest:
        names[1] = scope.define_constant(f"{node.name}_max", limits.upper)
    while names and not names[-1]:
        names.pop()
    return names


def _limiter(node: Node, op: str, inputs: tuple[str, ...], origin: tuple[str, ...]) -> Node:
    row = find_operator(op)
    return Node(node.name, op, inputs, node.outputs, opset=row.version if row else 0, origin=origin)
