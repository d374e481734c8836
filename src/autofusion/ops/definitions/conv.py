"""Definition of kernel `conv`: convolution with folded weights, bias, residual and activation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.activation import activate
from autofusion.ops.definitions.pool import pool
from autofusion.ops.definitions.precision import operand, required, widen


def conv(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """act(conv(x * gate, weight) + bias + residual), and its mean over the image axes, which stay with extent 1.

    x [N, C, *spatial], gate [N, C, ...1], weight [M, C/group, *kernel], bias [M], residual of `out_shape`.
    `strides` and `dilations` have one number per spatial axis, `pads` the begins, then the ends.
    """
    x, weight = required(inputs, 0), required(inputs, 1)
    bias, residual, gate = operand(inputs, 2), operand(inputs, 3), operand(inputs, 4)
    with np.errstate(all="ignore"):
        gated = widen(x) if gate is None else widen(x) * widen(gate)
        result = convolve(gated, widen(weight), attributes).reshape(out_shape)
        if bias is not None:
            result += bias.reshape(-1, *([1] * (result.ndim - 2)))
        if residual is not None:
            result += residual
        result = activate(result, attributes)
        mean = np.divide(result.sum(axis=_image_axes(result), keepdims=True), math.prod(out_shape[2:]))
        return result.astype(x.dtype, copy=False), mean.astype(x.dtype, copy=False)


def _image_axes(x: np.ndarray) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def convolve(x: np.ndarray, weight: np.ndarray, attributes: Mapping[str, Any]) -> np.ndarray:
    """The plain convolution [N, M, *out], sample by sample as a product with the unfolded image."""
    group = int(attributes["group"])
    kernel = weight.shape[2:]
    windows = _windows(x, kernel, attributes)
    spatial = windows.shape[2 : 2 + len(kernel)]
    matrices = weight.reshape(group, weight.shape[0] // group, math.prod(weight.shape[1:]))
    result = np.empty((x.shape[0], weight.shape[0], *spatial), x.dtype)
    for sample in range(x.shape[0]):
        columns = _unfold(windows[sample], len(kernel)).reshape(group, matrices.shape[2], math.prod(spatial))
        result[sample] = np.matmul(matrices, columns).reshape(result.shape[1:])
    return result


def _windows(x: np.ndarray, kernel: tuple[int, ...], attributes: Mapping[str, Any]) -> np.ndarray:
    """View [N, C, *out, *kernel] of the padded image."""
    rank = len(kernel)
    pads, strides, dilations = attributes["pads"], attributes["strides"], attributes["dilations"]
    if any(pads):
        x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
    extents = tuple((size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True))
    if any(size < extent for size, extent in zip(x.shape[2:], extents, strict=True)):
        places = zip(x.shape[2:], extents, strides, strict=True)
        counts = (max((size - extent) // step + 1, 0) for size, extent, step in places)
        return np.empty((*x.shape[:2], *counts, *kernel), x.dtype)
    views = np.lib.stride_tricks.sliding_window_view(x, extents, axis=tuple(range(2, 2 + rank)))
    steps = [slice(None, None, step) for step in (*strides, *dilations)]
    return views[(slice(None), slice(None), *steps)]


def _unfold(windows: np.ndarray, rank: int) -> np.ndarray:
    """[C, *out, *kernel] -> [C, *kernel, *out]."""
    return windows.transpose(0, *range(1 + rank, 1 + 2 * rank), *range(1, 1 + rank))


def conv_depthwise(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """act(conv(inner_act(conv(x, weight) + bias), depth_weight) + depth_bias), and its mean as `conv` gives it.

    x [N, C, *spatial], weight [M, C, *kernel], depth_weight [M, 1, *depth_kernel], biases [M].  The image between the
    two is rounded to the type of x where that has two bytes, as two steps round it.
    """
    x, weight, depth_weight = required(inputs, 0), required(inputs, 1), required(inputs, 3)
    window = ("strides", "pads", "dilations")
    first = {name: attributes[name] for name in window} | {"group": 1}
    first |= {name: attributes[f"inner_{name}"] for name in ("activation", "alpha", "beta")}
    second = {name: attributes[f"depth_{name}"] for name in window} | {"group": weight.shape[0]}
    second |= {name: attributes[name] for name in ("activation", "alpha", "beta")}
    inner, _ = conv([x, weight, operand(inputs, 2)], first, _find_shape(x, weight, first))
    return conv([inner, depth_weight, operand(inputs, 4)], second, out_shape)


def conv_pool(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """pool(act(conv(x, weight) + bias + residual)): what `conv` and then `pool` give.

    Operands as in `conv`, the residual in the shape of the image between the two.  The attributes of the pool have the
    prefix `pool_`.
    """
    x, weight = required(inputs, 0), required(inputs, 1)
    settings = {name.removeprefix("pool_"): value for name, value in attributes.items() if name.startswith("pool_")}
    image, _ = conv(inputs, attributes, _find_shape(x, weight, attributes))
    return pool([image], settings, out_shape)


def _find_shape(x: np.ndarray, weight: np.ndarray, attributes: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of the convolution of x."""
    spatial = zip(x.shape[2:], weight.shape[2:], *_split_window(attributes, x.ndim - 2), strict=True)
    extents = (
        (extent + begin + end - (size - 1) * dilation - 1) // stride + 1
        for extent, size, stride, begin, end, dilation in spatial
    )
    return (x.shape[0], weight.shape[0], *extents)


def _split_window(attributes: Mapping[str, Any], rank: int) -> tuple[Sequence[int], ...]:
    """Strides, begins, ends and dilations."""
    pads = attributes["pads"]
    return attributes["strides"], pads[:rank], pads[rank:], attributes["dilations"]
