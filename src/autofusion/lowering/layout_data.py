"""Layouts that the kernels for elements of any type take, given those that their operands have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from autofusion.ir.dims import product
from autofusion.lowering.pixels import CHANNELS, find_axes, read_dims, store_view
from autofusion.ops.strided import Strided, permute, reshape, whole
from autofusion.plan import FLOATING, Buffer, Layout, Setting, Size, Step

Layouts = tuple[tuple[Layout, ...], Layout]
"""Of each operand, and of the result."""

_FOLLOWING = frozenset({"pad", "resize"})
"""Kernels whose result has the layout of the first operand, whatever that is."""


def choose_data_layouts(step: Step, buffers: Mapping[str, Buffer], is_nhwc: Callable[[str], bool]) -> Layouts | None:
    """The layouts for `step`, None where all are row-major; `is_nhwc` says what is stored with channels innermost."""
    if step.kernel == "strided":
        return _choose_strided(step, buffers) if is_nhwc(step.inputs[0]) else None
    if step.kernel == "reduce":
        return (("nhwc",), "plain") if is_nhwc(step.inputs[0]) else None
    if step.kernel == "softmax":
        return (("nhwc",), "nhwc") if is_nhwc(step.inputs[0]) and step.attributes["axis"] == 1 else None
    if step.kernel in _FOLLOWING:
        return (("nhwc", *_plain(step.inputs[1:])), "nhwc") if is_nhwc(step.inputs[0]) else None
    if step.kernel == "concat":
        parts: tuple[Layout, ...] = ("nhwc",) * len(step.inputs)
        return (parts, "nhwc") if any(map(is_nhwc, step.inputs)) else None
    if step.kernel == "select":
        return _choose_select(step, buffers, is_nhwc)
    return None


def _plain(names: Sequence[str]) -> tuple[Layout, ...]:
    return ("plain",) * len(names)


def _choose_select(step: Step, buffers: Mapping[str, Buffer], is_nhwc: Callable[[str], bool]) -> Layouts | None:
    """Operands of the result's shape follow one another; the condition is always row-major."""
    shape = buffers[step.outputs[0]].shape
    alike = [name for name in step.inputs[1:] if buffers[name].shape == shape]
    if not any(map(is_nhwc, alike)):
        return None
    chosen: list[Layout] = ["nhwc" if name in alike else "plain" for name in step.inputs[1:]]
    return ("plain", *chosen), "nhwc"


def _choose_strided(step: Step, buffers: Mapping[str, Buffer]) -> Layouts | None:
    """Read where it lies what can be; channels that were channels are stored as such."""
    source, result = buffers[step.inputs[0]], buffers[step.outputs[0]]
    view = read_view(step)
    axes = find_axes(view, read_dims(source.shape or ()))
    if axes is None:
        return None
    shape = read_dims(result.shape or ())
    if not 3 <= len(shape) <= 5 or result.dtype not in FLOATING:
        return ("nhwc",), "plain"
    target = find_axes(whole(view.shape), shape)
    walked = [index for index, extent in enumerate(view.shape) if extent != 1 and view.strides[index] != 0]
    keeps = target is not None and all(axes[index] == CHANNELS for index in walked if target[index] == CHANNELS)
    return ("nhwc",), "nhwc" if keeps else "plain"


def read_view(step: Step) -> Strided:
    """The view that a strided step reads."""
    extents = read_dims(cast(Sequence[Setting], step.attributes["extents"]))
    offset, *strides = read_dims(cast(Sequence[Setting], step.attributes["view"]))
    return Strided(extents, tuple(strides), offset)


def is_stored_whole(step: Step, source: tuple[Size, ...]) -> bool:
    """Whether a strided step gives the bytes of images of shape `source`, stored as `nhwc`, one after the other."""
    view, shape = read_view(step), read_dims(source)
    axes = find_axes(view, shape)
    if axes is None:
        return False
    stored = store_view(view, axes, shape)
    return stored.offset == 0 and stored.is_packed and product(view.shape) == product(shape)


def is_turned_whole(step: Step, source: tuple[Size, ...], result: tuple[Size, ...]) -> bool:
    """Whether a strided step gives images of shape `result` that, stored as `nhwc`, have the bytes of its operand."""
    shape = read_dims(result)
    view = reshape(read_view(step), shape)
    if view is None or view.offset != 0 or product(shape) != product(read_dims(source)):
        return False
    return permute(view, [0, *range(2, len(shape)), 1]).is_packed
