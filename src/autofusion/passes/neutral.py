"""Removal of operands that change nothing: x + 0, x - 0, x * 1, x / 1, x ** 1, x and true, x or false."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autofusion.ir import Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.passes.narrow import may_narrow
from autofusion.passes.redirect import hand_on
from autofusion.passes.shapes import infer_shapes
from autofusion.passes.sweep import sweep

_NEUTRAL: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "Add": (0, (1, 0)),
    "Sub": (0, (1,)),
    "Mul": (1, (1, 0)),
    "Div": (1, (1,)),
    "Pow": (1, (1,)),
    "And": (1, (1, 0)),
    "Or": (0, (1, 0)),
}
"""The neutral element of an operator, and the operand places where it is neutral."""

_NEVER_NEGATIVE_ZERO = frozenset({"Abs", "Exp", "Sigmoid", "Softmax", "Softplus"})
_BLIND_TO_ZERO_SIGN = frozenset(
    {"Abs", "Cos", "Cosh", "Equal", "Exp", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Sigmoid", "Softplus"}
)


def remove_neutral(graph: Graph) -> int:
    """Take out arithmetic with a neutral constant that does not widen its other operand; returns how many nodes.

    Where it does, readers must do so as well.
    Adding +0 turns -0 into +0: that stays where the float operand may be -0 and a reader could tell.
    """
    changes = sweep(graph, _remove)
    if changes:
        infer_shapes(graph)
    return changes


def _remove(node: Node, scope: GraphScope) -> int:
    element, places = _NEUTRAL.get(node.op, (0, ()))
    for place in places:
        source, array = node.inputs[1 - place], scope.constant(node.inputs[place])
        if array is None or not _is_all(array, element):
            continue
        if not _keeps_shape(source, array, scope) and not _is_widened_anyway(node, source, scope):
            continue
        if not _keeps_zeros(node, source, array, scope):
            continue
        return hand_on(scope, node, source)
    return 0


def _is_all(array: np.ndarray, element: int) -> bool:
    """True where every element is `element`; the first one decides most cases."""
    if array.size == 0 or array.dtype == np.object_ or array.flat[0] != element:
        return False
    return bool(np.all(array == element))


def _keeps_shape(source: str, array: np.ndarray, scope: GraphScope) -> bool:
    """True where broadcasting with `array` widens neither the rank nor an extent of `source`."""
    if array.ndim == 0:
        return True
    shape = scope.value(source).shape
    if shape is None or array.ndim > len(shape):
        return False
    aligned: Sequence[object] = shape[len(shape) - array.ndim :]
    return all(own in (1, extent) for own, extent in zip(array.shape, aligned, strict=True))


def _is_widened_anyway(node: Node, source: str, scope: GraphScope) -> bool:
    """True where `source` broadcasts to the result, and readers of that would do the same."""
    shape = scope.value(source).shape
    return shape is not None and may_narrow(node.outputs[0], shape, scope)


def _keeps_zeros(node: Node, source: str, zeros: np.ndarray, scope: GraphScope) -> bool:
    if node.op not in ("Add", "Sub") or zeros.dtype.kind in "iu":
        return True
    # -0 + +0 and -0 - -0 are +0; the other two sums keep the sign of the zero.
    signs = np.signbit(zeros.astype(np.float64))
    if bool(np.all(signs == (node.op == "Add"))):
        return True
    producer = scope.graph.producer(source)
    if producer is not None and producer.op in _NEVER_NEGATIVE_ZERO and not producer.domain:
        return True
    result = node.outputs[0]
    readers = scope.graph.consumers(result)
    return result not in scope.graph.outputs and all(
        use.node.op in _BLIND_TO_ZERO_SIGN and not use.node.domain for use in readers
    )
