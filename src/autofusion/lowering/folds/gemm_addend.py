"""The fold of Gemm's third operand and its factor."""

from __future__ import annotations

import numpy as np


def fold_gemm_addend(addend: np.ndarray, beta: float, shape: tuple[int, ...]) -> np.ndarray:
    """`beta * addend` broadcast to `shape`: [N] for a bias, [M, N] for a whole addend."""
    return np.broadcast_to(addend * beta, shape).copy()
