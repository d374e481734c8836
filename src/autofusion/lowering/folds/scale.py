"""The fold of a factor per channel."""

from __future__ import annotations

import numpy as np


def fold_scale(
    weight: np.ndarray, bias: np.ndarray | None, axis: int, factor: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Weight and bias [C] of `(product + bias) * factor`, factor [C]."""
    along = [1] * weight.ndim
    along[axis] = -1
    scaled = weight * factor.reshape(along)
    return scaled, None if bias is None else bias * factor
