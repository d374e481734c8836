"""Packing of constant weights into the column panels that the C kernels read.

A panel holds `PANEL` columns (filters of a convolution, columns of a matrix) side by side for
every row of the product, so that the kernel walks it from front to back.  The last panel of a
group is padded with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.lowering.winograd import transform_weight

PANEL = 16
"""Columns of a panel: AF_PANEL of `runtime/csrc/record.h`."""


def pack_conv_weight(weight: np.ndarray, group: int, winograd: int = 0) -> np.ndarray:
    """Panels of the convolution weight [M, C/group, *kernel], flat and of its type.

    Layout [group][ceil(M/group / PANEL)][taps][C/group][PANEL], taps in row-major order.  With one
    input channel per group, and several groups, all filters are columns side by side: [ceil(M / PANEL)][taps][PANEL].
    For Winograd's filtering with `winograd` results of a tile each way: [positions][ceil(M / PANEL)][C][PANEL].
    """
    if winograd:
        return _pack_columns(transform_weight(weight, winograd).transpose(0, 2, 1))
    filters, depth = weight.shape[:2]
    if depth == 1 and (group > 1 or filters == 1):
        return _pack_columns(weight.reshape(1, filters, -1).transpose(0, 2, 1))
    taps_first = np.moveaxis(weight, 1, -1).reshape(group, filters // group, -1)
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
