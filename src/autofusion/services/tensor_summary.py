"""Arrays in a few numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TensorSummary:
    """One array; the three numbers are None where the array is empty or holds no numbers, NaN where it holds one."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    minimum: float | None
    maximum: float | None
    mean: float | None

    def to_dict(self) -> dict[str, object]:
        """The summary as plain JSON values; a number that JSON lacks is spelled out."""
        numbers = {"min": self.minimum, "max": self.maximum, "mean": self.mean}
        spelled = {
            key: value if value is None or math.isfinite(value) else str(value) for key, value in numbers.items()
        }
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape), **spelled}


def summarize_tensor(name: str, array: np.ndarray) -> TensorSummary:
    """The summary of `array`, computed in float64."""
    dtype = "string" if array.dtype.kind in "OSU" else str(array.dtype)
    if not array.size or array.dtype.kind in "OSUc":
        return TensorSummary(name, dtype, array.shape, None, None, None)
    wide = array.astype(np.float64)
    return TensorSummary(name, dtype, array.shape, float(wide.min()), float(wide.max()), float(wide.mean()))
