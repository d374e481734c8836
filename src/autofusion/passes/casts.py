"""Removal of casts that change no element."""

from __future__ import annotations

from collections.abc import Mapping

from autofusion.ir import DType, Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops.element_types import DTYPES
from autofusion.passes.redirect import hand_on
from autofusion.passes.sweep import sweep

_INTEGERS = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32, DType.UINT32, DType.INT64, DType.UINT64)
_FLOATS = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT, DType.DOUBLE)

WIDER: Mapping[DType, frozenset[DType]] = {
    DType.FLOAT16: frozenset({DType.FLOAT, DType.DOUBLE}),
    DType.BFLOAT16: frozenset({DType.FLOAT, DType.DOUBLE}),
    DType.FLOAT: frozenset({DType.DOUBLE}),
    DType.BOOL: frozenset({*_INTEGERS, *_FLOATS}),
    DType.INT8: frozenset({DType.INT16, DType.INT32, DType.INT64, *_FLOATS}),
    DType.UINT8: frozenset({*_INTEGERS[2:], *_FLOATS}),
    DType.INT16: frozenset({DType.INT32, DType.INT64, DType.FLOAT, DType.DOUBLE}),
    DType.UINT16: frozenset({*_INTEGERS[4:], DType.FLOAT, DType.DOUBLE}),
    DType.INT32: frozenset({DType.INT64, DType.DOUBLE}),
    DType.UINT32: frozenset({DType.INT64, DType.UINT64, DType.DOUBLE}),
}
"""Element types that hold every value of a type exactly: a cast there and back changes nothing."""


def remove_casts(graph: Graph) -> int:
    """Take out casts to the type that a value has, and casts back from a wider type; returns how many.

    A pair whose middle type narrows, rounds or wraps stays as it is.
    """
    return sweep(graph, _remove)


def _remove(node: Node, scope: GraphScope) -> int:
    if node.op not in ("Cast", "CastLike"):
        return 0
    source, target = node.inputs[0], _target(node, scope)
    kind = scope.value(source).dtype
    if target is None or kind is None:
        return 0
    if kind is target:
        return hand_on(scope, node, source)
    first = scope.graph.producer(source)
    if first is None or first.op not in ("Cast", "CastLike") or first.domain or first.opaque:
        return 0
    if scope.value(first.inputs[0]).dtype is not target or kind not in WIDER.get(target, ()):
        return 0
    return hand_on(scope, node, first.inputs[0])


def _target(node: Node, scope: GraphScope) -> DType | None:
    if node.op == "CastLike":
        return scope.value(node.inputs[1]).dtype
    code = node.attributes.get("to")
    return DTYPES.get(code) if isinstance(code, int) else None
