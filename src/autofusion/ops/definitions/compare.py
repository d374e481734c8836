"""Definition of kernel `compare`: truth values out of two broadcast operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required

COMPARISONS: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "Equal": np.equal,
    "NotEqual": np.not_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
}


def compare(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """op(a, b) under ONNX broadcasting; NaN equals nothing and is in no order."""
    result = COMPARISONS[str(attributes["op"])](required(inputs, 0), required(inputs, 1))
    return np.asarray(result, np.bool_).reshape(out_shape)
