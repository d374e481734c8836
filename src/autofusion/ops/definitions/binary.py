"""Definition of kernel `binary`: one function of two broadcast operands, with activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.activation import activate
from autofusion.ops.definitions.precision import required, widen

FUNCTIONS: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "Max": np.maximum,
    "Min": np.minimum,
}


def binary(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """act(op(a, b)) under ONNX broadcasting; NaN in either operand of Max and Min stays NaN."""
    a, b = required(inputs, 0), required(inputs, 1)
    with np.errstate(all="ignore"):
        result = FUNCTIONS[str(attributes["op"])](widen(a), widen(b)).reshape(out_shape)
        return activate(result, attributes).astype(a.dtype, copy=False)
