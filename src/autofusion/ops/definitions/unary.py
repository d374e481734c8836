"""Definition of kernel `unary`: one function of every element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ir import DType
from autofusion.ops.definitions.activation import ACTIVATION, apply_activation
from autofusion.ops.definitions.precision import required, widen
from autofusion.ops.special import erf

FUNCTIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "Abs": np.abs,
    "Neg": np.negative,
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Reciprocal": lambda x: 1 / x,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Erf": erf,
    "Sin": np.sin,
    "Cos": np.cos,
    "Round": np.rint,
    "Sign": np.sign,
    "ToFloat16": lambda x: x.astype(np.float16).astype(x.dtype),
    "ToBfloat16": lambda x: x.astype(DType.BFLOAT16.numpy).astype(x.dtype),
}


def unary(inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]) -> np.ndarray:
    """f(x) for the function or activation `op`; raises KeyError for an unknown one."""
    x = required(inputs, 0)
    name = str(attributes["op"])
    with np.errstate(all="ignore"):
        if name in ACTIVATION:
            alpha, beta = float(attributes.get("alpha") or 0.0), float(attributes.get("beta") or 0.0)
            result = apply_activation(name, widen(x), alpha, beta)
        else:
            result = FUNCTIONS[name](widen(x))
        return result.reshape(out_shape).astype(x.dtype, copy=False)
