"""Float32 arrays whose numbers all fit into two bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.ir import DType


def find_half(array: np.ndarray, types: Sequence[DType]) -> np.ndarray | None:
    """The float32 numbers in the first of `types`, of two bytes each, that holds them without any change."""
    for dtype in types:
        with np.errstate(over="ignore", invalid="ignore"):
            small = array.astype(dtype.numpy)
        if np.array_equal(small.astype(np.float32), array):
            return small
    return None


def count_bytes(array: np.ndarray, types: Sequence[DType]) -> int:
    """Bytes of an array that is stored in one of `types` where that changes nothing."""
    is_half = array.dtype == np.float32 and find_half(array, types) is not None
    return array.nbytes // 2 if is_half else array.nbytes
