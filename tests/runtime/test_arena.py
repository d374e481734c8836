"""The memory that runs take turns in."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.runtime.executor import allocate_arena


@pytest.mark.parametrize("size", [0, 1, 64, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 5 << 20])
def test_arenas_are_aligned_and_large_enough(size: int) -> None:
    arena = allocate_arena(size)
    assert arena.ctypes.data % 64 == 0
    assert arena.dtype == np.uint8
    assert arena.nbytes >= max(size, 1)
    arena[[0, -1]] = 1


@pytest.mark.parametrize("size", [1 << 46, 1 << 63])
def test_arenas_that_no_machine_has(size: int) -> None:
    with pytest.raises(MemoryError):
        allocate_arena(size)
