"""Axes of extent 1 that views put in or take out round one elementwise operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.ir import Dim, Graph, Node, Shape
from autofusion.ir.scope import GraphScope
from autofusion.ops import find_operator
from autofusion.passes.build import add_node
from autofusion.passes.redirect import hand_on, is_inner
from autofusion.passes.spelling import VIEWS
from autofusion.passes.sweep import sweep


def drop_units(graph: Graph) -> int:
    """Take out two views round an elementwise operator whose other operands are constant; returns the pairs gone.

    The first view changes nothing but axes of extent 1, and the second undoes that: masks are added so to scores that
    were given an axis for the windows.  The constants lose or gain the same axes.
    """
    return sweep(graph, _drop)


def _drop(node: Node, scope: GraphScope) -> int:
    graph, middle = scope.graph, scope.graph.producer(node.inputs[0]) if node.op in VIEWS else None
    if middle is None or not _is_pointwise(middle) or not is_inner(graph, node.inputs[0]):
        return 0
    wide = [place for place, name in enumerate(middle.inputs) if name and scope.constant(name) is None]
    first = graph.producer(middle.inputs[wide[0]]) if len(wide) == 1 else None
    if first is None or first.op not in VIEWS or first.domain or first.opaque:
        return 0
    before, within = scope.value(first.inputs[0]).shape, scope.value(first.outputs[0]).shape
    if before is None or within is None or scope.value(node.outputs[0]).shape != before:
        return 0
    if before == within or scope.value(middle.outputs[0]).shape != within or _core(before) != _core(within):
        return 0
    inputs: list[str] = []
    for place, name in enumerate(middle.inputs):
        inputs.append(first.inputs[0] if place == wide[0] else _reshape(name, within, before, scope) if name else "")
    result = scope.fresh(middle.outputs[0])
    graph.remove(middle.name)
    add_node(scope, middle.name, middle.op, inputs, (result,), middle.attributes, middle.origin)
    return hand_on(scope, node, result)


def _is_pointwise(node: Node) -> bool:
    operator = find_operator(node.op) if not node.domain and not node.opaque else None
    return operator is not None and operator.pointwise and len(node.outputs) == 1


def _core(shape: Shape) -> list[Dim]:
    return [extent for extent in shape if extent != 1]


def _reshape(name: str, within: Shape, before: Shape, scope: GraphScope) -> str:
    """The constant `name`, which broadcasts to `within`, for a tensor of shape `before`."""
    array = scope.constant(name)
    assert array is not None
    if array.ndim == 0:
        return name
    own = (1,) * (len(within) - array.ndim) + array.shape
    kept = iter([extent for extent, whole in zip(own, within, strict=True) if whole != 1])
    shape: Sequence[int] = [1 if whole == 1 else next(kept) for whole in before]
    turned: np.ndarray = array.reshape(shape)
    return scope.define_constant(name, turned)
