"""Transposed convolutions as kernel calls, and their filters as native kernels take them.

Along an axis `y[o] = sum over i of x[i] * w[k]` with `o + begin = i * stride + k * dilation`.  The results at places
`o + begin` with one remainder by the stride are a phase: a convolution of x with those taps alone that meet pixels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from autofusion.ir import Node, Shape
from autofusion.lowering.constants import read_integer, read_integers, read_text
from autofusion.lowering.packing import pack_conv_weight
from autofusion.lowering.products import refuse_operands
from autofusion.lowering.records import NO_EPILOGUE, Call
from autofusion.lowering.workspace import Workspace
from autofusion.plan import Setting

JOINED_FILTERS = 8
"""Filters of which several phases fill panels better than one (AF_JOINED_FILTERS of `csrc/transposed.h`)."""

MOST_PHASES = 1 << 16
"""Phases that the kernel allows (AF_MOST_PHASES there)."""


def open_transposed(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a ConvTranspose with a constant weight, or why no kernel can compute it."""
    scope = workspace.scope
    if reason := refuse_operands(workspace, *node.operands, *node.results):
        return reason
    x, result = scope.value(node.input(0)), scope.value(node.outputs[0])
    weight = scope.constant(node.input(1))
    if weight is None:
        return "the weight is no constant"
    if x.shape is None or result.shape is None or not 3 <= len(x.shape) <= 5:
        return f"transposed convolution of rank {len(x.shape or ())}"
    kernel = weight.shape[2:]
    rank = len(kernel)
    begins = read_integers(node, "pads", [0] * (2 * rank))[:rank]
    is_explicit = read_text(node, "auto_pad", "NOTSET") in ("", "NOTSET") and not node.attributes.get("output_shape")
    if not is_explicit or min(begins) < 0:
        return "padding is not known before the model runs, or negative"
    strides, dilations = (read_integers(node, name, [1] * rank) for name in ("strides", "dilations"))
    spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    settings: dict[str, Setting] = {"kernel": [*kernel], "dilations": [*dilations]}
    settings["group"] = group = read_integer(node, "group", 1)
    ends = _find_ends(x.shape[2:], result.shape[2:], spans, begins) if max(strides) == 1 else None
    if ends is not None:
        pads = [*(span - 1 - begin for span, begin in zip(spans, begins, strict=True)), *ends]
        flipped = workspace.add_constant(f"{node.input(1)}:flipped", _flip_weight(weight, group))
        operands = (x.name, flipped, node.input(2), "")
        settings |= {"strides": [*strides], "pads": [*pads]}
        return [Call("conv", operands, result, settings, NO_EPILOGUE, absorbed=node.origin)]
    # The only pixel of an axis reaches the same results whatever the stride: none overlap with a large one.
    strides = [
        max(stride, span) if extent == 1 else stride
        for stride, span, extent in zip(strides, spans, x.shape[2:], strict=True)
    ]
    if math.prod(strides) > MOST_PHASES:
        return f"strides {strides} are too large"
    settings |= {"strides": [*strides], "pads": [*begins]}
    operands = (x.name, node.input(1), node.input(2))
    return [Call("conv_transpose", operands, result, settings, NO_EPILOGUE, absorbed=node.origin)]


def _find_ends(x: Shape, y: Shape, spans: Sequence[int], begins: Sequence[int]) -> list[int] | None:
    """Pads behind the image with which a convolution one pixel apart gives y; None where there are no such pads."""
    ends: list[int] = []
    for before, after, span, begin in zip(x, y, spans, begins, strict=True):
        end = after - before + begin
        if before == 1 or begin >= span or not isinstance(end, int) or end < 0:
            return None
        ends.append(end)
    return ends


def _flip_weight(weight: np.ndarray, group: int) -> np.ndarray:
    """The filters [M, C/group, *kernel] of the convolution that a transposed one with strides of 1 is."""
    channels, filters, *kernel = weight.shape
    turned = weight.reshape(group, channels // group, filters, *kernel).swapaxes(1, 2)
    flipped = np.flip(turned, tuple(range(3, turned.ndim)))
    return np.ascontiguousarray(flipped).reshape(group * filters, channels // group, *kernel)


def pack_transposed_weight(
    weight: np.ndarray, group: int, strides: Sequence[int], dilations: Sequence[int]
) -> np.ndarray:
    """Panels of the filters [C, M/group, *kernel], flat: those of every class as a convolution.

    A class is a phase, or where filters are few or windows do not overlap those next to it with as many taps, side by
    side as filters.
    """
    channels, filters = weight.shape[0], weight.shape[1]
    is_depthwise = channels == group and (group > 1 or filters == 1)
    overlaps = any(extent > stride for extent, stride in zip(weight.shape[2:], strides, strict=True))
    joins = group == 1 and not is_depthwise and max(dilations) == 1 and (filters <= JOINED_FILTERS or not overlaps)
    axes = [
        _find_classes(extent, stride, dilation, joins)
        for extent, stride, dilation in zip(weight.shape[2:], strides, dilations, strict=True)
    ]
    classes = (_split_class(weight, group, places) for places in itertools.product(*axes))
    panels = [pack_conv_weight(part, group) for part in classes if part.size]
    return np.concatenate(panels) if panels else np.zeros(0, weight.dtype)


def _find_classes(kernel: int, stride: int, dilation: int, joins: bool) -> list[np.ndarray]:
    """Along one axis the places in the filter of each class: [phases, taps], the taps from the first pixel on."""
    phases: list[list[int]] = []
    for phase in range(stride):
        phases.append([tap for tap in reversed(range(kernel)) if tap * dilation % stride == phase])
    if not joins:
        return [np.array([taps], np.intp) for taps in phases]
    border = kernel % stride
    return [np.array(part, np.intp) for part in (phases[:border], phases[border:]) if part]


def _split_class(weight: np.ndarray, group: int, places: Sequence[np.ndarray]) -> np.ndarray:
    """The filters [group * phases * M/group, C/group, *taps] of a class."""
    channels, filters, rank = weight.shape[0] // group, weight.shape[1], len(places)
    split = weight.reshape(group, channels, filters, *weight.shape[2:])
    for axis, chosen in enumerate(places):
        split = split.take(chosen, 3 + 2 * axis)
    phases = [3 + 2 * axis for axis in range(rank)]
    order = (0, *phases, 2, 1, *(place + 1 for place in phases))
    taps = [chosen.shape[1] for chosen in places]
    count = group * math.prod(len(chosen) for chosen in places) * filters
    return np.ascontiguousarray(split.transpose(order)).reshape(count, channels, *taps)
