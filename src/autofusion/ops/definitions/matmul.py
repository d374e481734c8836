"""Definition of kernel `matmul`: matrix product behind a normalization, with scale, bias, residual, activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.activation import activate
from autofusion.ops.definitions.norm import normalize
from autofusion.ops.definitions.precision import operand, required, widen


def matmul(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray | tuple[np.ndarray, ...]:
    """act(scale * n(a) @ b + bias + residual).

    a [..., M, K], b [..., K, N], the last two axes exchanged where `trans_a`, `trans_b` say so;
    batch axes broadcast.  bias [N], residual of the result's shape.  b is never packed here.
    n normalizes the last axis of a by `norm` and `epsilon` (as kernel `norm`), times gamma [K] plus beta [K].
    With `widths` the result is cut along its last axis in parts of those widths, which are the results; with
    `gated` it has an even width, and the result is act(first half) * second half.
    """
    a, b = required(inputs, 0), required(inputs, 1)
    bias, residual, gamma, beta = (operand(inputs, place) for place in range(2, 6))
    left, right = widen(a), widen(b)
    if attributes["trans_a"]:
        left = left.swapaxes(-1, -2)
    if attributes["trans_b"]:
        right = right.swapaxes(-1, -2)
    with np.errstate(all="ignore"):
        left = normalize(left, str(attributes.get("norm", "")), float(attributes.get("epsilon") or 0))
        left = left if gamma is None else left * gamma
        left = left if beta is None else left + beta
        result = np.matmul(left, right)
        if attributes["scale"] != 1:
            result *= result.dtype.type(attributes["scale"])
        if bias is not None:
            result += bias
        if residual is not None:
            result += residual
        if attributes.get("gated"):
            first, second = np.split(result, 2, axis=-1)
            return (activate(first, attributes) * second).astype(a.dtype, copy=False)
        result = activate(result, attributes).astype(a.dtype, copy=False)
    widths = attributes.get("widths")
    if not widths:
        return result.reshape(out_shape)
    return tuple(np.split(result, np.cumsum(widths)[:-1], axis=-1))
