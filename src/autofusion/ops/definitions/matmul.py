"""Definition of kernel `matmul`: matrix product with scale, bias, residual and activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.activation import activate
from autofusion.ops.definitions.precision import operand, required, widen


def matmul(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """act(scale * a @ b + bias + residual).

    a [..., M, K], b [..., K, N], the last two axes exchanged where `trans_a`, `trans_b` say so;
    batch axes broadcast.  bias [N], residual of `out_shape`.  b is never packed here.
    """
    a, b = required(inputs, 0), required(inputs, 1)
    bias, residual = operand(inputs, 2), operand(inputs, 3)
    left, right = widen(a), widen(b)
    if attributes["trans_a"]:
        left = left.swapaxes(-1, -2)
    if attributes["trans_b"]:
        right = right.swapaxes(-1, -2)
    with np.errstate(all="ignore"):
        result = np.matmul(left, right).reshape(out_shape)
        if attributes["scale"] != 1:
            result *= result.dtype.type(attributes["scale"])
        if bias is not None:
            result += bias
        if residual is not None:
            result += residual
        return activate(result, attributes).astype(a.dtype, copy=False)
