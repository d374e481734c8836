"""Softmax, reductions over any axes, places of extremes, running sums, the first in order."""

from __future__ import annotations

from autofusion.ir import DType, Node, Value
from autofusion.lowering.constants import read_integer
from autofusion.lowering.data_types import NUMBERS, UNKNOWN_SHAPE, refuse_shapes, refuse_types
from autofusion.lowering.pools import open_reduction
from autofusion.lowering.products import MAX_RANK, refuse_operands
from autofusion.lowering.records import Call
from autofusion.lowering.workspace import Workspace
from autofusion.ops.operands import content_of, numbers_of
from autofusion.plan import Setting

REDUCTIONS = {
    "ReduceSum": "sum",
    "ReduceMean": "mean",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceProd": "prod",
    "ReduceSumSquare": "sum_square",
    "ReduceL1": "l1",
    "ReduceL2": "l2",
}
_POOLED = ("ReduceMean", "ReduceMax")
_DIVIDED = ("mean", "l2")


def open_softmax(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Softmax or LogSoftmax along one axis."""
    if reason := refuse_operands(workspace, node.input(0), node.outputs[0]):
        return reason
    result = workspace.scope.value(node.outputs[0])
    if not result.shape:
        return "a Softmax of a scalar"
    axis = read_integer(node, "axis", -1) % len(result.shape)
    settings: dict[str, Setting] = {"axis": axis, "log": node.op == "LogSoftmax"}
    return [Call("softmax", (node.input(0),), result, settings, absorbed=node.origin)]


def open_any_reduction(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a reduction: a global pool over the pixels of images, else the kernel for any axes."""
    if node.op in _POOLED:
        pooled = open_reduction(node, workspace)
        if not isinstance(pooled, str):
            return pooled
    scope, kind = workspace.scope, REDUCTIONS[node.op]
    x, result = scope.value(node.input(0)), scope.value(node.outputs[0])
    if reason := refuse_types(workspace, _reduced_types(kind, workspace), x.name, result.name):
        return reason
    rank = len(x.shape or ())
    axes = numbers_of(node.input(1), scope) if node.input(1) else tuple(range(rank))
    if axes is None:
        return "axes are not known before the model runs"
    if not axes and not read_integer(node, "noop_with_empty_axes", 0):
        axes = tuple(range(rank))
    if rank > MAX_RANK:
        return f"more than {MAX_RANK} axes"
    settings: dict[str, Setting] = {"kind": kind, "axes": [*sorted(axis % rank for axis in axes)]}
    return [Call("reduce", (x.name,), result, settings, absorbed=node.origin)]


def _reduced_types(kind: str, workspace: Workspace) -> frozenset[DType]:
    floats = frozenset(workspace.kernel_types)
    if kind in _DIVIDED:
        return floats
    return NUMBERS | floats | {DType.BOOL} if kind in ("max", "min") else NUMBERS | floats


def open_argument(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of an ArgMax or ArgMin."""
    x, result = workspace.scope.value(node.input(0)), workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, NUMBERS, x.name) or refuse_shapes(workspace, result.name):
        return reason
    if not x.shape or result.dtype is not DType.INT64:
        return "a place in a scalar"
    settings: dict[str, Setting] = {
        "kind": "max" if node.op == "ArgMax" else "min",
        "axis": read_integer(node, "axis", 0) % len(x.shape),
        "last": bool(read_integer(node, "select_last_index", 0)),
    }
    return [Call("argument", (x.name,), result, settings, absorbed=node.origin)]


def open_cumulate(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a CumSum along an axis that is known."""
    if reason := refuse_types(workspace, NUMBERS, node.input(0), node.outputs[0]):
        return reason
    result, axis = workspace.scope.value(node.outputs[0]), numbers_of(node.input(1), workspace.scope)
    if axis is None or len(axis) != 1 or not result.shape:
        return "the axis is not known before the model runs"
    settings: dict[str, Setting] = {
        "axis": axis[0] % len(result.shape),
        "exclusive": bool(read_integer(node, "exclusive", 0)),
        "reverse": bool(read_integer(node, "reverse", 0)),
    }
    return [Call("cumulate", (node.input(0),), result, settings, absorbed=node.origin)]


def open_rank(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of a TopK: the places of the first elements in order, and the elements there."""
    scope = workspace.scope
    x = scope.value(node.input(0))
    if reason := refuse_types(workspace, NUMBERS, x.name) or refuse_shapes(workspace, *node.results):
        return reason
    if content_of(node.input(1), scope) is None or not x.shape:
        return UNKNOWN_SHAPE
    values, places = (node.outputs[index] if index < len(node.outputs) else "" for index in range(2))
    axis = read_integer(node, "axis", -1) % len(x.shape)
    if not places:
        places = workspace.add_value(f"{values}:places", Value(values, DType.INT64, scope.shape(values))).name
    settings: dict[str, Setting] = {"axis": axis, "largest": bool(read_integer(node, "largest", 1))}
    calls = [Call("rank", (x.name,), scope.value(places), settings, absorbed=node.origin)]
    if values:
        axis_setting: dict[str, Setting] = {"axis": axis}
        elements = Call("gather_elements", (x.name, places), scope.value(values), axis_setting, absorbed=node.origin)
        calls.append(elements)
    return calls
