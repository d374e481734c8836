"""Definition of kernel `conv_transpose`: transposed convolution with bias and activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.activation import activate
from autofusion.ops.definitions.precision import operand, required, widen


def conv_transpose(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """act(t(x, weight) + bias): every pixel adds its multiple of the filters to the results that it reaches.

    x [N, C, *spatial], weight [C, M/group, *kernel], bias [M].  Pixel i and tap k reach result
    i * stride + k * dilation - pad, where there is one.
    """
    x, weight, bias = required(inputs, 0), required(inputs, 1), operand(inputs, 2)
    with np.errstate(all="ignore"):
        result = _scatter(widen(x), widen(weight), attributes, out_shape)
        if bias is not None:
            result += bias.reshape(-1, *([1] * (result.ndim - 2)))
        return activate(result, attributes).astype(x.dtype, copy=False)


def _scatter(
    x: np.ndarray, weight: np.ndarray, attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    group, rank = int(attributes["group"]), x.ndim - 2
    result = np.zeros(out_shape, x.dtype)
    pixels = x.reshape(x.shape[0], group, x.shape[1] // group, *x.shape[2:])
    filters = weight.reshape(group, weight.shape[0] // group, *weight.shape[1:])
    steps = list(zip(attributes["strides"], attributes["dilations"], attributes["pads"], strict=True))
    for cell in np.ndindex(*weight.shape[2:]):
        reached = [
            _find_reached(
                x.shape[2 + axis], out_shape[2 + axis], steps[axis][0], cell[axis] * steps[axis][1], steps[axis][2]
            )
            for axis in range(rank)
        ]
        some = pixels[(..., *(source for source, _ in reached))]
        products = np.einsum("gcm,ngc...->ngm...", filters[(..., *cell)], some)
        places = (..., *(target for _, target in reached))
        result[places] += products.reshape(x.shape[0], out_shape[1], *some.shape[3:])
    return result


def _find_reached(extent: int, results: int, stride: int, tap: int, pad: int) -> tuple[slice, slice]:
    """Along one axis the pixels that reach a result with the tap at place `tap`, and those results."""
    first = max(-((tap - pad) // stride), 0)
    last = min((results - 1 + pad - tap) // stride + 1, extent)
    if last <= first:
        return slice(0, 0), slice(0, 0)
    start = first * stride + tap - pad
    return slice(first, last), slice(start, start + (last - first - 1) * stride + 1, stride)
