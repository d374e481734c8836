"""Operand access and working precision shared by the definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def widen(array: np.ndarray) -> np.ndarray:
    """`array` as computed with: two-byte floats become float32, wider ones stay."""
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array


def operand(inputs: Sequence[np.ndarray | None], index: int) -> np.ndarray | None:
    """The widened operand at `index`, None where it is absent or left out at the end."""
    array = inputs[index] if index < len(inputs) else None
    return None if array is None else widen(array)


def required(inputs: Sequence[np.ndarray | None], index: int) -> np.ndarray:
    """The operand at `index` as it is; raises ValueError where it is absent."""
    array = inputs[index]
    if array is None:
        raise ValueError(f"operand {index} is absent")
    return array
