"""Normalizations of the last axes, of groups of channels and of single channels, each as one kernel call."""

from __future__ import annotations

import numpy as np

from autofusion.ir import Node, Shape
from autofusion.lowering.constants import read_float, read_integer
from autofusion.lowering.products import refuse_operands
from autofusion.lowering.records import Call
from autofusion.lowering.workspace import Workspace
from autofusion.plan import Setting

_KINDS = {"LayerNormalization": "layer", "RMSNormalization": "rms"}


def open_row_norm(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a LayerNormalization or RMSNormalization, or why no kernel can compute it."""
    if reason := refuse_operands(workspace, *node.operands, node.outputs[0]):
        return reason
    if any(workspace.is_read(name) for name in node.outputs[1:]):
        return "the mean or the deviation is read"
    scope = workspace.scope
    x, result = scope.value(node.input(0)), scope.value(node.outputs[0])
    if not x.shape:
        return "a tensor without axes"
    axes = len(x.shape) - read_integer(node, "axis", -1) % len(x.shape)
    vectors = [_fit_block(name, x.shape[-axes:], workspace) for name in (node.input(1), node.input(2))]
    gamma, beta = vectors
    if gamma is None or beta is None:
        return "scale or shift have not the extents of the normalized axes"
    settings: dict[str, Setting] = {
        "kind": _KINDS[node.op],
        "epsilon": read_float(node, "epsilon", 1e-5),
        "axes": axes,
    }
    return [Call("norm", (x.name, gamma, beta, ""), result, settings, absorbed=node.origin)]


def open_channel_norm(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a GroupNormalization or InstanceNormalization, or why no kernel can compute it."""
    if reason := refuse_operands(workspace, *node.operands, node.outputs[0]):
        return reason
    scope = workspace.scope
    x = scope.value(node.input(0))
    channels = x.shape[1] if x.shape is not None and len(x.shape) > 1 else None
    if not isinstance(channels, int):
        return "the number of channels is not known"
    groups = channels if node.op == "InstanceNormalization" else read_integer(node, "num_groups", 1)
    if groups < 1 or channels % groups or any(scope.shape(name) != (channels,) for name in node.inputs[1:3]):
        return "scale or shift have not one element a channel"
    settings: dict[str, Setting] = {"groups": groups, "epsilon": read_float(node, "epsilon", 1e-5)}
    return [Call("group_norm", node.inputs[:3], scope.value(node.outputs[0]), settings, absorbed=node.origin)]


def _fit_block(name: str, block: Shape, workspace: Workspace) -> str | None:
    """The operand that holds `name` in the shape of the normalized axes, "" where absent; None where it does not fit.

    ONNX lets scale and shift broadcast to the operand, the kernel does not.
    """
    if not name or workspace.scope.shape(name) == block:
        return name
    array = workspace.scope.constant(name)
    extents = tuple(extent for extent in block if isinstance(extent, int))
    if array is None or len(extents) != len(block):
        return None
    while array.ndim > len(block) and array.shape[0] == 1:
        array = array[0]
    try:
        return workspace.add_constant(f"{name}:block", np.broadcast_to(array, extents))
    except ValueError:
        return None
