"""Packing of constant weights into the column panels that the C kernels read.

A panel holds `PANEL` columns (filters of a convolution, columns of a matrix) side by side for
every row of the product, so that the kernel walks it from front to back.  The last panel of a
group is padded with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.lowering.winograd import transform_weight
from autofusion.plan import Step

PANEL = 16
"""Columns of a panel: AF_PANEL of `runtime/csrc/record.h`."""


NARROW_SIZES = (2, 4, 8)
"""Channels of groups that are narrow."""


def is_narrow(step: Step, weight: np.ndarray) -> bool:
    """True for a convolution of small groups, with as many filters as channels, under windows three pixels wide.

    Natively every channel then has a lane of a vector, which holds whole groups or a part of one.
    """
    group = int(str(step.attributes["group"]))
    is_even = group > 1 and weight.shape[1] * group == len(weight)
    return is_even and weight.shape[1] in NARROW_SIZES and weight.shape[-1] == 3


def pack_conv_weight(weight: np.ndarray, group: int, winograd: int = 0, *, narrow: bool = False) -> np.ndarray:
    """Panels of the convolution weight [M, C/group, *kernel], flat and of its type.

    Layout [group][ceil(M/group / PANEL)][taps][C/group][PANEL], taps in row-major order.  Filters of several groups
    of single channels, and of `narrow` ones, are columns side by side: [ceil(M / PANEL)][taps][C/group][PANEL].
    For Winograd's filtering with `winograd` results of a tile each way: [positions][ceil(M / PANEL)][C][PANEL].
    """
    if winograd:
        return _pack_columns(transform_weight(weight, winograd).transpose(0, 2, 1))
    filters, depth = weight.shape[:2]
    parts = 1 if narrow or depth == 1 else group
    taps_first = np.moveaxis(weight, 1, -1).reshape(parts, filters // parts, -1)
    return _pack_columns(taps_first.transpose(0, 2, 1))


def pack_matmul_weight(b: np.ndarray, widths: Sequence[int] = ()) -> np.ndarray:
    """Panels of the matrix b [K, N], flat and of its type: layout [ceil(N / PANEL)][K][PANEL].

    With `widths`, whose sum is N, the columns of each part begin a panel of their own.
    """
    if not widths:
        return _pack_columns(b[np.newaxis])
    parts = np.split(b, np.cumsum(widths)[:-1], axis=1)
    return np.concatenate([_pack_columns(part[np.newaxis]) for part in parts])


def _pack_columns(matrices: np.ndarray) -> np.ndarray:
    """Each of the matrices [count, rows, columns] as panels [count][panel][row][PANEL], one after the other."""
    count, rows, columns = matrices.shape
    panels = -(-columns // PANEL)
    padded = np.zeros((count, panels * PANEL, rows), matrices.dtype)
    padded[:, :columns] = matrices.transpose(0, 2, 1)
    return np.ascontiguousarray(padded.reshape(count, panels, PANEL, rows).transpose(0, 1, 3, 2)).ravel()
