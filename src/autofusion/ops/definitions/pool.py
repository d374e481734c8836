"""Definition of kernel `pool`: maximum or average over windows or over the whole image."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required, widen


def pool(inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]) -> np.ndarray:
    """x [N, C, *spatial] reduced over windows to `out_shape`, by `kind` "max" or "average".

    `is_global`: one window, the whole image; of no pixels the maximum is minus infinity, the average NaN.
    Else the extents of `out_shape` may be more than the padded image holds (ceil_mode): cells past it never
    count.  Padded cells are minus infinity for the maximum; in the average they count as zeros where
    `include_pad`, else not at all.
    """
    x = required(inputs, 0)
    with np.errstate(all="ignore"):
        wide = widen(x)
        if attributes["is_global"]:
            axes = tuple(range(2, x.ndim))
            is_max = attributes["kind"] == "max"
            result = wide.max(axes, keepdims=True, initial=-np.inf) if is_max else _average_image(wide, axes)
        elif attributes["kind"] == "max":
            result = _max_pool(wide, attributes, out_shape[2:])
        else:
            result = _average_pool(wide, attributes, out_shape[2:])
        return result.reshape(out_shape).astype(x.dtype, copy=False)


def _average_image(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The mean of every channel; NaN of an image without pixels."""
    return x.sum(axes, keepdims=True) / math.prod(x.shape[axis] for axis in axes)


def _max_pool(x: np.ndarray, attributes: Mapping[str, Any], spatial: tuple[int, ...]) -> np.ndarray:
    padded = _pad(x, attributes, spatial, -np.inf)
    cells = _cells(padded, attributes, spatial)
    result = next(cells).copy()
    for cell in cells:
        np.maximum(result, cell, out=result)
    return result


def _average_pool(x: np.ndarray, attributes: Mapping[str, Any], spatial: tuple[int, ...]) -> np.ndarray:
    padded = _pad(x, attributes, spatial, 0)
    result = np.zeros((*x.shape[:2], *spatial), x.dtype)
    for cell in _cells(padded, attributes, spatial):
        result += cell
    return result / _counts(x.shape[2:], attributes, spatial).astype(x.dtype)


def _pad(x: np.ndarray, attributes: Mapping[str, Any], spatial: tuple[int, ...], value: float) -> np.ndarray:
    """The image with its pads, and as far beyond as the last window reaches."""
    rank = len(spatial)
    pads = attributes["pads"]
    widths = [(0, 0), (0, 0)]
    for axis in range(rank):
        reach = (spatial[axis] - 1) * attributes["strides"][axis] + _extent(attributes, axis)
        widths.append((pads[axis], max(pads[rank + axis], reach - pads[axis] - x.shape[2 + axis])))
    return np.pad(x, widths, constant_values=value)


def _cells(padded: np.ndarray, attributes: Mapping[str, Any], spatial: tuple[int, ...]) -> Iterator[np.ndarray]:
    """For each place in the window, the cells of all windows [N, C, *spatial] at that place."""
    strides, dilations = attributes["strides"], attributes["dilations"]
    for place in itertools.product(*(range(size) for size in attributes["kernel"])):
        slices = [slice(None), slice(None)]
        for at, dilation, stride, extent in zip(place, dilations, strides, spatial, strict=True):
            start = at * dilation
            slices.append(slice(start, start + (extent - 1) * stride + 1, stride))
        yield padded[tuple(slices)]


def _counts(image: tuple[int, ...], attributes: Mapping[str, Any], spatial: tuple[int, ...]) -> np.ndarray:
    """How many cells of each window count, [*spatial]."""
    rank = len(spatial)
    pads = attributes["pads"]
    total = np.ones((), np.int64)
    for axis in range(rank):
        first, last = 0, image[axis]
        if attributes["include_pad"]:
            first, last = -pads[axis], image[axis] + pads[rank + axis]
        stride, dilation = int(attributes["strides"][axis]), int(attributes["dilations"][axis])
        starts = np.arange(spatial[axis]) * stride - int(pads[axis])
        places = starts[:, None] + np.arange(int(attributes["kernel"][axis])) * dilation
        inside = np.count_nonzero((places >= first) & (places < last), axis=1)
        total = np.multiply.outer(total, inside)
    return total


def _extent(attributes: Mapping[str, Any], axis: int) -> int:
    return (attributes["kernel"][axis] - 1) * attributes["dilations"][axis] + 1
