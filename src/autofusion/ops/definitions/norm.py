"""Definition of kernel `norm`: LayerNormalization and RMSNormalization, of a sum where there is a residual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import operand, required, widen


def norm(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """(n(x + residual) * gamma + beta, x + residual), normalized over the last `axes` axes.

    residual has x's shape; gamma and beta have the extents of those axes.
    """
    x = required(inputs, 0)
    gamma, beta, residual = operand(inputs, 1), operand(inputs, 2), operand(inputs, 3)
    total = widen(x)
    with np.errstate(all="ignore"):
        if residual is not None:
            total = total + residual
        count = int(attributes["axes"])
        result = normalize(total, str(attributes["kind"]), float(attributes["epsilon"]), count)
        if gamma is not None:
            result = result * gamma
        if beta is not None:
            result = result + beta
    return result.reshape(out_shape).astype(x.dtype, copy=False), total.astype(x.dtype, copy=False)


def normalize(x: np.ndarray, kind: str, epsilon: float, axes: int = 1) -> np.ndarray:
    """`x` over its last `axes` axes: "layer" takes the mean away and divides by the root of variance + epsilon,
    "rms" divides by the root of the mean square + epsilon, "" leaves it alone.

    Formulas: ONNX LayerNormalization-17 and RMSNormalization-23.  Raises ValueError for another kind.
    """
    if not kind:
        return x
    if kind not in ("layer", "rms"):
        raise ValueError(f"no normalization is called {kind!r}")
    last = tuple(range(x.ndim - axes, x.ndim))
    if kind == "layer":
        x = x - x.mean(last, keepdims=True)
    return x / np.sqrt(np.square(x).mean(last, keepdims=True) + x.dtype.type(epsilon))
