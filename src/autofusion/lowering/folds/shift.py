"""The fold of an addend per channel."""

from __future__ import annotations

import numpy as np


def fold_shift(bias: np.ndarray | None, shift: np.ndarray) -> np.ndarray:
    """The bias [C] of `product + bias + shift`, shift [C]."""
    return shift if bias is None else bias + shift
