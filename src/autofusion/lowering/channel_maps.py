"""Copies of images that only choose channels: Slice, Split and channel shuffles as lists of channels."""

from __future__ import annotations

import numpy as np

from autofusion.ir.dims import floor_divide, modulo, product
from autofusion.lowering.layout_data import read_view
from autofusion.lowering.pixels import BATCH, CHANNELS, PIXELS, find_axes, read_dims
from autofusion.ops.strided import whole
from autofusion.plan import Buffer, Step


def find_channels(step: Step, source: Buffer, result: Buffer) -> np.ndarray | None:
    """The channel of `source` that each channel of `result` is, where a strided step does nothing but choose them.

    Both are images in layout `nhwc`.  None where the step does anything else, or perhaps.
    """
    if step.kernel != "strided" or source.layout != "nhwc" or result.layout != "nhwc":
        return None
    shape, given = read_dims(source.shape or ()), read_dims(result.shape or ())
    pixels = product(shape[2:])
    if shape[0] != given[0] or pixels != product(given[2:]):
        return None
    view = read_view(step)
    kinds = find_axes(view, shape)
    if kinds is None or kinds != find_axes(whole(view.shape), given):
        return None
    offset = floor_divide(view.offset, pixels)
    if not isinstance(offset, int) or modulo(view.offset, pixels) != 0:
        return None
    channels = np.array(offset)
    for extent, stride, own, kind in zip(view.shape, view.strides, whole(view.shape).strides, kinds, strict=True):
        if extent == 1:
            continue
        if kind == PIXELS and stride != own:
            return None
        if kind == BATCH and floor_divide(stride, product(shape[1:])) != floor_divide(own, product(given[1:])):
            return None
        if kind == CHANNELS:
            step_size = floor_divide(stride, pixels)
            if not isinstance(extent, int) or not isinstance(step_size, int):
                return None
            channels = np.add.outer(channels, np.arange(extent) * step_size)
    return channels.reshape(-1)


def count_channels(buffer: Buffer) -> int:
    """The channels of images, 0 for anything else and where their number is an expression."""
    if buffer.shape is None or not 3 <= len(buffer.shape) <= 5:
        return 0
    channels = buffer.shape[1]
    return channels if isinstance(channels, int) else 0
