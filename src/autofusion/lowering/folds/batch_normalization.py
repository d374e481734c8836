"""The fold of an inference BatchNormalization."""

from __future__ import annotations

import numpy as np

from autofusion.lowering.folds import scale as scales
from autofusion.lowering.folds import shift as shifts


def normalization_factors(
    gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, variance: np.ndarray, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Scale and shift [C] with `x * scale + shift == (x - mean) / sqrt(variance + epsilon) * gamma + beta`."""
    scale = gamma / np.sqrt(variance + epsilon)
    return scale, beta - mean * scale


def fold_batch_normalization(
    weight: np.ndarray, bias: np.ndarray | None, axis: int, scale: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weight and bias [C] of the normalised product, scale and shift by `normalization_factors`."""
    scaled, moved = scales.fold_scale(weight, bias, axis, scale)
    return scaled, shifts.fold_shift(moved, shift)
