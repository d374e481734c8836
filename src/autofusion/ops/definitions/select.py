"""Definition of kernel `select`: elements of one tensor or of another, as truth values say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required


def select(
    inputs: Sequence[np.ndarray | None], _attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """a where the condition holds, else b, under ONNX broadcasting."""
    a, b = required(inputs, 1), required(inputs, 2)
    return np.where(required(inputs, 0).astype(bool), a, b).astype(a.dtype, copy=False).reshape(out_shape)
