"""Definition of kernel `filter`: the filters of a 3x3 convolution as Winograd's minimal filtering takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PANEL = 16
"""Filters that lie side by side."""

POINTS = {2: (0.0, 1.0, -1.0), 4: (0.0, 0.75, -0.75, 1.5, -1.5)}
"""Finite interpolation points by results of a tile each way, as in `runtime/csrc/winograd.h`; infinity is one more."""


def filter_tiles(
    operands: Sequence[np.ndarray | None], attributes: Mapping[str, Any], shape: tuple[int, ...]
) -> np.ndarray:
    """The filters [M, C, 3, 3] at every position of a tile: [positions, ceil(M / 16), C, 16], filled up with zeros."""
    x = operands[0]
    assert x is not None
    moved = transform_filters(x, int(attributes["tile"]))
    positions, filters, channels = moved.shape
    padded = np.zeros((positions, -(-filters // PANEL) * PANEL, channels), x.dtype)
    padded[:, :filters] = moved
    return padded.reshape(positions, -1, PANEL, channels).transpose(0, 1, 3, 2).reshape(shape)


def transform_filters(weight: np.ndarray, tile: int) -> np.ndarray:
    """The filters [M, C, 3, 3] at the (tile + 2)^2 positions of a transformed tile: [positions, M, C], in float64."""
    matrix = build_matrix(tile)
    wide = np.einsum("ij,mcjk,lk->ilmc", matrix, weight.astype(np.float64), matrix, optimize=True)
    return wide.reshape(-1, *weight.shape[:2])


def build_matrix(tile: int) -> np.ndarray:
    """Values of a filter's polynomial at the points, each over the product of its distances to the others."""
    points = np.array(POINTS[tile])
    distances = points[:, np.newaxis] - points
    np.fill_diagonal(distances, 1.0)
    finite = points[:, np.newaxis] ** np.arange(3) / distances.prod(axis=1, keepdims=True)
    return np.vstack([finite, [0.0, 0.0, 1.0]])
