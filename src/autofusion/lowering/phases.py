"""Transposed convolutions as convolutions: one filter for each place between the cells of the image, then interleaved.

Along an axis `y[o] = sum over i of x[i] * w[o + begin - i * stride]`.  With `o = q * stride + r`, phase r is the
convolution `sum over j of x[q - j] * w[j * stride + r + begin]`, and all phases read the same cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from autofusion.ir import Dim, Node, Shape, Value
from autofusion.ir.dims import multiply
from autofusion.lowering.constants import read_integer, read_integers, read_text
from autofusion.lowering.moves import copy_view
from autofusion.lowering.products import refuse_operands
from autofusion.lowering.records import NO_EPILOGUE, Call
from autofusion.lowering.workspace import Workspace
from autofusion.ops.strided import Strided, permute, reshape, whole
from autofusion.plan import Setting


@dataclass(frozen=True)
class _Axis:
    """Of one axis: the stride, the cells that phases have, pads of the image, and places in the filter.

    `places[r, t]` is what tap t of phase r multiplies by, -1 for nothing.
    """

    stride: int
    cells: Dim
    pads: tuple[int, int]
    places: np.ndarray


def open_transposed(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of a ConvTranspose with a constant weight: a convolution, and the copy that interleaves its phases."""
    scope = workspace.scope
    if reason := refuse_operands(workspace, *node.operands, *node.results):
        return reason
    x, result = scope.value(node.input(0)), scope.value(node.outputs[0])
    weight, bias = scope.constant(node.input(1)), scope.constant(node.input(2)) if node.input(2) else None
    if weight is None or (node.input(2) and bias is None):
        return "the weight or the bias is no constant"
    if x.shape is None or result.shape is None or not 3 <= len(x.shape) <= 5:
        return f"transposed convolution of rank {len(x.shape or ())}"
    axes = _find_axes(node, x.shape, result.shape, weight.shape[2:])
    if axes is None:
        return "padding is not known before the model runs, or crops"
    group, phases = read_integer(node, "group", 1), math.prod(axis.stride for axis in axes)
    filters = workspace.add_constant(f"{node.input(1)}:phases", _split_weight(weight, axes, group))
    shift = "" if bias is None else workspace.add_constant(f"{node.input(2)}:phases", np.repeat(bias, phases))
    shape = (x.shape[0], multiply(result.shape[1], phases), *(axis.cells for axis in axes))
    split = result if phases == 1 else workspace.add_value(f"{result.name}:phases", result, shape)
    ones = [1] * len(axes)
    settings: dict[str, Setting] = {
        "kernel": [axis.places.shape[1] for axis in axes],
        "strides": [*ones],
        "pads": [*(axis.pads[0] for axis in axes), *(axis.pads[1] for axis in axes)],
        "dilations": [*ones],
        "group": group,
    }
    conv = Call("conv", (x.name, filters, shift, ""), split, settings, NO_EPILOGUE, absorbed=node.origin)
    return [conv] if phases == 1 else [conv, *_interleave(node, split, result, axes, workspace)]


def _find_axes(node: Node, x: Shape, y: Shape, kernel: tuple[int, ...]) -> list[_Axis] | None:
    rank = len(kernel)
    if read_text(node, "auto_pad", "NOTSET") not in ("", "NOTSET") or node.attributes.get("output_shape"):
        return None
    ones, zeros = [1] * rank, [0] * (2 * rank)
    strides, dilations = read_integers(node, "strides", ones), read_integers(node, "dilations", ones)
    begins = read_integers(node, "pads", zeros)[:rank]
    found: list[_Axis] = []
    for axis in range(rank):
        surplus = y[2 + axis] - multiply(x[2 + axis], strides[axis])
        made = _find_axis(kernel[axis], strides[axis], dilations[axis], begins[axis], surplus)
        if made is None:
            return None
        places, left, right, more = made
        found.append(_Axis(strides[axis], x[2 + axis] + more, (left, right), places))
    return found


def _find_axis(
    kernel: int, stride: int, dilation: int, begin: int, surplus: Dim
) -> tuple[np.ndarray, int, int, int] | None:
    """Places in the filter, pads before and after, and how many cells more than the image a phase has."""
    span = (kernel - 1) * dilation + 1
    first, last = -((stride - 1 + begin) // stride), (span - 1 - begin) // stride
    if not isinstance(surplus, int) or begin < 0 or last < 0:
        return None
    more = -(-surplus // stride)
    right = more - first
    if right < 0:
        return None
    taps = last - np.arange(last - first + 1)
    places = taps[None, :] * stride + np.arange(stride)[:, None] + begin
    inside = (places >= 0) & (places < span) & (places % dilation == 0)
    return np.where(inside, places // dilation, -1), last, right, more


def _split_weight(weight: np.ndarray, axes: list[_Axis], group: int) -> np.ndarray:
    """The filters [M * phases, C / group, *taps] of all phases, those of one channel one after the other."""
    channels, filters, rank = weight.shape[0] // group, weight.shape[1], len(axes)
    split = weight.reshape(group, channels, filters, *weight.shape[2:])
    for index, axis in enumerate(axes):
        place = 3 + 2 * index
        # A place of nothing takes the zeros behind the last one.
        padded = np.concatenate([split, np.zeros_like(split.take([0], place))], place)
        split = padded.take(axis.places, place)
    phases = [3 + 2 * index for index in range(rank)]
    order = (0, 2, *phases, 1, *(place + 1 for place in phases))
    taps = [axis.places.shape[1] for axis in axes]
    return np.ascontiguousarray(split.transpose(order)).reshape(-1, channels, *taps)


def _interleave(node: Node, split: Value, result: Value, axes: list[_Axis], workspace: Workspace) -> list[Call]:
    """The copy that puts the phases between one another, and the one that takes away what is over."""
    rank, shape = len(axes), result.shape or (0, 0)
    strides, cells = [axis.stride for axis in axes], [axis.cells for axis in axes]
    apart = reshape(whole(split.shape or ()), (shape[0], shape[1], *strides, *cells))
    order = [0, 1, *(place for index in range(rank) for place in (2 + rank + index, 2 + index))]
    if apart is None:
        raise ValueError(f"phases of {split.shape} are no parts of {shape}")
    view = permute(apart, order)
    whole_shape = (*shape[:2], *(multiply(axis.cells, axis.stride) for axis in axes))
    if whole_shape == shape:
        return [copy_view(split.name, view, result, node.origin)]
    full = workspace.add_value(f"{result.name}:whole", result, whole_shape)
    cut = Strided(shape, whole(whole_shape).strides)
    return [copy_view(split.name, view, full, node.origin), copy_view(full.name, cut, result, node.origin)]
