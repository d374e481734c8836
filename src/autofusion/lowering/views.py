"""Operators that give the same elements another shape, and those whose result follows from shapes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from autofusion.ir import DType, Node, Value
from autofusion.lowering.records import Call
from autofusion.lowering.workspace import Owner, Workspace
from autofusion.ops.strided import reshape
from autofusion.plan import Setting

VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"})


def open_view(node: Node, workspace: Workspace) -> list[Call] | str:
    """The alias that a reshaping operator, an Identity or an inference Dropout is, or why it is none."""
    scope = workspace.scope
    if node.op == "Dropout" and not _is_inactive(node, workspace):
        return "training mode, or a mask that is read"
    source, result = scope.value(node.input(0)), scope.value(node.outputs[0])
    if source.shape is None or result.shape is None or source.dtype != result.dtype:
        return "shapes are not known before the model runs"
    if source.dtype is DType.STRING:
        return "element type string"
    root, view = workspace.find_view(source.name)
    reshaped = reshape(view, result.shape)
    if reshaped is not None:
        workspace.note_view(result.name, root, reshaped)
    return [Call("alias", (source.name,), result, {}, absorbed=node.origin)]


def emit_content(owner: Owner, node: Node, workspace: Workspace) -> bool:
    """Give the results of `node` without running it where all their elements follow from the shapes of the inputs.

    Returns False, and does nothing, where some do not.
    """
    values = [workspace.scope.value(name) for name in node.results]
    if not values or any(not _has_content(value) for value in values):
        return False
    for value in values:
        content = value.content or ()
        numbers = [dim for dim in content if isinstance(dim, int)]
        if len(numbers) == len(content):
            workspace.scope.define_constant(value.name, _array(value, numbers))
            continue
        texts: list[Setting] = [dim if isinstance(dim, int) else str(dim) for dim in content]
        workspace.emit(owner, "extents", (), (value.name,), {"values": texts}, node.origin)
    return True


def _has_content(value: Value) -> bool:
    if value.content is None or not value.is_static or value.dtype is None or len(value.shape or ()) > 1:
        return False
    is_symbolic = not all(isinstance(dim, int) for dim in value.content)
    return value.dtype in (DType.INT64, DType.INT32) or (value.dtype is DType.BOOL and not is_symbolic)


def _array(value: Value, numbers: Sequence[int]) -> np.ndarray:
    dtype = (value.dtype or DType.INT64).numpy
    shape = tuple(dim for dim in value.shape or () if isinstance(dim, int))
    return np.array(numbers, dtype).reshape(shape)


def _is_inactive(node: Node, workspace: Workspace) -> bool:
    if any(node.outputs[1:]):
        return False
    training = node.input(2)
    if not training:
        return True
    mode = workspace.scope.constant(training)
    return mode is not None and math.prod(mode.shape) == 1 and not bool(mode.reshape(()))
