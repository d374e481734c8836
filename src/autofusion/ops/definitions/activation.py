"""The activations that kernels apply to their result; formulas as in `plan.kernels.ACTIVATIONS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autofusion.ops.special import erf


def activate(x: np.ndarray, attributes: Mapping[str, Any]) -> np.ndarray:
    """`x` under the epilogue attributes `activation`, `alpha` and `beta`, in x's own type.

    Raises KeyError for a name that is no activation.
    """
    name = str(attributes.get("activation", ""))
    if not name:
        return x
    return apply_activation(name, x, float(attributes.get("alpha") or 0.0), float(attributes.get("beta") or 0.0))


def apply_activation(name: str, x: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """Activation `name` of `x`, a float32 or float64 array, in x's own type; NaN stays NaN."""
    with np.errstate(all="ignore"):
        return ACTIVATION[name](x, x.dtype.type(alpha), x.dtype.type(beta)).astype(x.dtype, copy=False)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def _hard_sigmoid(x: np.ndarray, slope: Any, offset: Any) -> np.ndarray:
    return np.minimum(np.maximum(slope * x + offset, 0), 1)


def _gelu(x: np.ndarray, _alpha: Any, _beta: Any) -> np.ndarray:
    wide = x.astype(np.float64)
    return wide * (1 + erf(wide / math.sqrt(2))) / 2


def _gelu_tanh(x: np.ndarray, _alpha: Any, _beta: Any) -> np.ndarray:
    wide = x.astype(np.float64)
    return 0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))


ACTIVATION: Mapping[str, Callable[[np.ndarray, Any, Any], np.ndarray]] = {
    "Relu": lambda x, _alpha, _beta: np.maximum(x, 0),
    "LeakyRelu": lambda x, alpha, _beta: np.where(x < 0, alpha * x, x),
    "Clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "Sigmoid": lambda x, _alpha, _beta: sigmoid(x),
    "Tanh": lambda x, _alpha, _beta: np.tanh(x),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda x, _alpha, _beta: x * np.minimum(np.maximum(x / 6 + 0.5, 0), 1),
    "SiLU": lambda x, alpha, _beta: x * sigmoid(alpha * x),
    "Gelu": _gelu,
    "GeluTanh": _gelu_tanh,
    "Elu": lambda x, alpha, _beta: np.where(x < 0, alpha * np.expm1(x), x),
}
