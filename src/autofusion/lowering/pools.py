"""Pooling windows, global pools, and reductions over all spatial axes."""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.ir import Node, Shape, Value
from autofusion.lowering.constants import read_integer, read_integers
from autofusion.lowering.geometry import find_pads
from autofusion.lowering.products import refuse_operands
from autofusion.lowering.records import Call
from autofusion.lowering.workspace import Workspace
from autofusion.plan import Setting

_KINDS = {
    "MaxPool": "max",
    "GlobalMaxPool": "max",
    "ReduceMax": "max",
    "AveragePool": "average",
    "GlobalAveragePool": "average",
    "ReduceMean": "average",
}


def open_pool(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a MaxPool or AveragePool, or why no kernel can compute it."""
    shapes = _pool_shapes(node, workspace)
    if isinstance(shapes, str):
        return shapes
    x, y = shapes
    if any(node.outputs[1:]):
        return "indices of the maxima"
    rank = len(x) - 2
    kernel = read_integers(node, "kernel_shape", ())
    pads = find_pads(node, x, y, kernel)
    if pads is None or len(kernel) != rank:
        return "padding is not known before the model runs"
    ones = [1] * rank
    settings: dict[str, Setting] = {
        "kind": _KINDS[node.op],
        "is_global": False,
        "kernel": [*kernel],
        "strides": [*read_integers(node, "strides", ones)],
        "pads": [*pads],
        "dilations": [*read_integers(node, "dilations", ones)],
        "include_pad": bool(read_integer(node, "count_include_pad", 0)),
    }
    result = workspace.scope.value(node.outputs[0])
    return [Call("pool", (node.input(0),), result, settings, absorbed=node.origin)]


def open_global_pool(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a GlobalAveragePool or GlobalMaxPool, or why no kernel can compute it."""
    shapes = _pool_shapes(node, workspace)
    if isinstance(shapes, str):
        return shapes
    return [_global_call(node, workspace.scope.value(node.outputs[0]))]


def open_reduction(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of a ReduceMean or ReduceMax over exactly the spatial axes, or why no kernel can compute it."""
    scope = workspace.scope
    axes = scope.constant(node.input(1)) if node.input(1) else None
    shapes = _pool_shapes(node, workspace, operands=node.inputs[:1])
    if isinstance(shapes, str):
        return shapes
    x, _ = shapes
    if axes is None or _sorted_axes(axes.reshape(-1).tolist(), len(x)) != list(range(2, len(x))):
        return "reduction over other axes than all spatial ones"
    result = scope.value(node.outputs[0])
    if read_integer(node, "keepdims", 1):
        return [_global_call(node, result)]
    pooled = workspace.add_value(f"{result.name}:pooled", result, (*x[:2], *[1] * (len(x) - 2)))
    return [_global_call(node, pooled), Call("alias", (pooled.name,), result, {}, absorbed=node.origin)]


def _pool_shapes(node: Node, workspace: Workspace, operands: Sequence[str] | None = None) -> tuple[Shape, Shape] | str:
    names = node.operands if operands is None else operands
    if reason := refuse_operands(workspace, *names, node.outputs[0]):
        return reason
    x, y = workspace.scope.shape(node.input(0)), workspace.scope.shape(node.outputs[0])
    if x is None or y is None or not 3 <= len(x) <= 5:
        return "pooling of another rank than 3 to 5"
    return x, y


def _global_call(node: Node, result: Value) -> Call:
    settings: dict[str, Setting] = {"kind": _KINDS[node.op], "is_global": True}
    return Call("pool", (node.input(0),), result, settings, absorbed=node.origin)


def _sorted_axes(axes: Sequence[int], rank: int) -> list[int]:
    return sorted(axis % rank for axis in axes)
