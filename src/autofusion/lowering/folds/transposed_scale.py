"""The fold of a factor per channel into the weight of a transposed convolution."""

from __future__ import annotations

import numpy as np


def fold_transposed_scale(weight: np.ndarray, group: int, factor: np.ndarray) -> np.ndarray:
    """The weight [inputs, outputs / group, *kernel] of the convolution times factor [outputs].

    Group g reads inputs `g * inputs / group` onwards; its filter j gives output `g * outputs / group + j`.
    """
    inputs, filters = weight.shape[:2]
    parts = weight.reshape(group, inputs // group, filters, -1)
    return (parts * factor.reshape(group, 1, filters, 1)).reshape(weight.shape)
