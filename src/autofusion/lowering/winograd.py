"""Winograd's minimal filtering of 3x3 convolutions: which layers take it, and their transformed weights.

F(m x m, 3 x 3) needs (m + 2)^2 multiplications for m^2 results where the plain product needs 9 m^2, but also
transforms of pixels and products, and weights that are (m + 2)^2 / 9 times as large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autofusion.lowering.records import Draft
from autofusion.plan import Step

VALUE_COST = 14
"""Multiplications that take as long as transforming one pixel or product at one position: measured, x86-64-v4."""

WEIGHT_COST = 16
"""Multiplications that take as long as reading one weight: 4 bytes at 13 GB/s beside 50e9 of them a second."""

LEAST_GAIN = 1.2
"""How many times faster a layer must become by these figures."""

GROWTH = 0.22
"""Share of the constants' bytes by which they may grow."""

LEAST_GROWTH = 5 << 20
"""Bytes by which the constants of any model may grow."""

_POINTS = {2: (0.0, 1.0, -1.0), 4: (0.0, 0.75, -0.75, 1.5, -1.5)}
"""Finite interpolation points by m, those of `runtime/csrc/winograd.h`; infinity is one more."""


@dataclass(frozen=True)
class _Choice:
    """A tile for a layer: multiplications that it saves, and bytes by which its weight grows."""

    tile: int
    saved: float
    growth: int


def choose_tiles(draft: Draft) -> Mapping[int, int]:
    """Results of a tile each way, by index, for the steps of a native draft that Winograd's filtering makes faster.

    The layers that save the most time for a byte of growth come first, each with the tile that saves most of those
    that still fit, until the constants have grown as much as they may.  Layers with an image that only the run tells
    keep the plain product.
    """
    found = {index: choices for index, step in enumerate(draft.steps) if (choices := _find_choices(draft, step))}
    left = max(int(GROWTH * sum(array.nbytes for array in draft.constants.values())), LEAST_GROWTH)
    tiles: dict[int, int] = {}
    for index, choices in sorted(found.items(), key=lambda item: (-item[1][0].saved / item[1][0].growth, item[0])):
        fitting = [choice for choice in choices if choice.growth <= left]
        if fitting:
            tiles[index] = fitting[0].tile
            left -= fitting[0].growth
    return tiles


def transform_weight(weight: np.ndarray, tile: int) -> np.ndarray:
    """The filters [M, C, 3, 3] at the (tile + 2)^2 positions of a transformed tile: [positions, M, C], float32."""
    matrix = _build_matrix(tile)
    wide = np.einsum("ij,mcjk,lk->ilmc", matrix, weight.astype(np.float64), matrix, optimize=True)
    return wide.reshape(-1, *weight.shape[:2]).astype(np.float32)


def _find_choices(draft: Draft, step: Step) -> list[_Choice]:
    """The tiles that make a step fast enough, the fastest first."""
    settings = step.attributes
    if step.kernel not in ("conv", "conv_pool") or step.inputs[1] not in draft.constants:
        return []
    weight = draft.constants[step.inputs[1]]
    shape, pads = draft.buffers[step.inputs[0]].shape or (), settings["pads"]
    if weight.shape[2:] != (3, 3) or len(shape) != 4 or not isinstance(pads, list):
        return []
    if settings["group"] != 1 or settings["strides"] != [1, 1] or settings["dilations"] != [1, 1]:
        return []
    top, left, bottom, right = (int(str(pad)) for pad in pads)
    if not isinstance(shape[2], int) or not isinstance(shape[3], int):
        return []
    lines, columns = shape[2] + top + bottom - 2, shape[3] + left + right - 2
    filters, channels = weight.shape[:2]
    plain = 9 * filters * channels * (lines * columns + WEIGHT_COST)
    choices: list[_Choice] = []
    for tile in _POINTS:
        positions, tiles = (tile + 2) ** 2, math.ceil(lines / tile) * math.ceil(columns / tile)
        products = positions * filters * channels * (tiles + WEIGHT_COST)
        cost = products + positions * tiles * (filters + channels) * VALUE_COST
        if cost * LEAST_GAIN <= plain:
            choices.append(_Choice(tile, plain - cost, 4 * (positions - 9) * filters * channels))
    return sorted(choices, key=lambda choice: -choice.saved)


def _build_matrix(tile: int) -> np.ndarray:
    """Values of a filter's polynomial at the points, each over the product of its distances to the others."""
    points = np.array(_POINTS[tile])
    distances = points[:, np.newaxis] - points
    np.fill_diagonal(distances, 1.0)
    finite = points[:, np.newaxis] ** np.arange(3) / distances.prod(axis=1, keepdims=True)
    return np.vstack([finite, [0.0, 0.0, 1.0]])
