"""Removal of nodes whose attributes or shapes prove that they give back their operand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autofusion.ir import Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops.operands import integer, integers, numbers_of, text
from autofusion.passes.narrow import may_narrow
from autofusion.passes.redirect import hand_on
from autofusion.passes.shapes import infer_shapes
from autofusion.passes.sweep import sweep


def remove_idle(graph: Graph) -> int:
    """Take out what changes neither an extent nor an element; returns how many nodes.

    Expand and Tile to the shape that is there, Expand to one that readers would give it, Pad by nothing, windows of one
    cell, global pooling of one cell, reductions over no axis that say so, Clip without limits.  Results of pooling that
    are indices keep their node.
    """
    changes = sweep(graph, _remove)
    if changes:
        infer_shapes(graph)
    return changes


def _remove(node: Node, scope: GraphScope) -> int:
    is_idle = _RULES.get(node.op)
    if is_idle is None or len(node.results) != 1 or not is_idle(node, scope):
        return 0
    return hand_on(scope, node, node.inputs[0], *[""] * (len(node.outputs) - 1))


def _keeps_shape(node: Node, scope: GraphScope) -> bool:
    shape = scope.value(node.inputs[0]).shape
    return shape is not None and shape == scope.value(node.outputs[0]).shape


def _widens_in_vain(node: Node, scope: GraphScope) -> bool:
    shape = scope.value(node.inputs[0]).shape
    return shape is not None and (_keeps_shape(node, scope) or may_narrow(node.outputs[0], shape, scope))


def _adds_nothing(node: Node, scope: GraphScope) -> bool:
    pads = numbers_of(node.input(1), scope)
    return pads is not None and not any(pads)


def _takes_single_cells(node: Node, scope: GraphScope) -> bool:
    moves = (integers(node, name) or () for name in ("kernel_shape", "strides"))
    if any(extent != 1 for extents in moves for extent in extents) or integer(node, "ceil_mode"):
        return False
    return not any(integers(node, "pads") or ()) or text(node, "auto_pad", "NOTSET") != "NOTSET"


def _has_one_cell(node: Node, scope: GraphScope) -> bool:
    shape = scope.value(node.inputs[0]).shape
    return shape is not None and all(extent == 1 for extent in shape[2:])


def _reduces_nothing(node: Node, scope: GraphScope) -> bool:
    axes = numbers_of(node.input(1), scope) if node.input(1) else ()
    return axes == () and integer(node, "noop_with_empty_axes") == 1


def _has_no_limit(node: Node, scope: GraphScope) -> bool:
    return not any(node.inputs[1:])


_RULES: Mapping[str, Callable[[Node, GraphScope], bool]] = {
    "Expand": _widens_in_vain,
    "Tile": _keeps_shape,
    "Pad": _adds_nothing,
    "MaxPool": _takes_single_cells,
    "AveragePool": _takes_single_cells,
    "GlobalAveragePool": _has_one_cell,
    "GlobalMaxPool": _has_one_cell,
    "ReduceMax": _reduces_nothing,
    "ReduceMean": _reduces_nothing,
    "ReduceMin": _reduces_nothing,
    "ReduceProd": _reduces_nothing,
    "ReduceSum": _reduces_nothing,
    "Clip": _has_no_limit,
}
