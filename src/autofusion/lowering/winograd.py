"""Winograd's minimal filtering of 3x3 convolutions: what it costs a layer beside plain sums, and its weights.

F(m x m, 3 x 3) needs (m + 2)^2 multiplications for m^2 results where the plain product needs 9 m^2, but also
transforms of pixels and products, and weights that are (m + 2)^2 / 9 times as large.  Those are stored, or made from
the filters whenever the model runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from autofusion.decisions import Option
from autofusion.ir import DType
from autofusion.lowering.halves import count_bytes
from autofusion.lowering.records import Draft
from autofusion.ops.definitions.filter import POINTS, build_matrix, transform_filters
from autofusion.plan import Step

READING_COST: Mapping[int, int] = {2: 7, 4: 14}
"""By tile, multiplications that take as long as transforming one pixel at one position; like those below fitted to the
3x3 layers of ResNet-18, Inception and DenseNet-121, one thread, x86-64-v4, which does 126e9 of them a second."""

WRITING_COST: Mapping[int, int] = {2: 14, 4: 18}
"""By tile, multiplications that take as long as transforming one product at one position back."""

TILE_COST = 250
"""Multiplications that take as long as what each position of a tile takes whatever its channels."""

MAKING_COST: Mapping[int, int] = {2: 19, 4: 38}
"""By tile, multiplications that take as long as making one weight from a filter."""

LEAST_PRODUCTS = 16
"""Multiplications that take as long as reading one weight from memory: a layer with fewer of them for each waits."""

LEAST_FILTERS = 20
"""Filters for which plain sums take as long as for fewer."""


def find_options(draft: Draft, step: Step, halves: Sequence[DType] = ()) -> list[Option]:
    """What may compute a convolution: plain sums, then tiles if it has 3x3 windows one pixel apart over all channels.

    Layers with an image that only the run tells have plain sums alone, and so do doubles, and weights whose transform
    may leave the range of their type.  Plain sums without another option cost 0.  Filters that a type of `halves` holds
    are stored in it, transformed ones are not.
    """
    settings, plain = step.attributes, Option("direct", 0.0)
    weight = draft.constants[step.inputs[1]]
    shape, pads = draft.buffers[step.inputs[0]].shape or (), settings["pads"]
    if weight.shape[2:] != (3, 3) or len(shape) != 4 or not isinstance(pads, list) or draft.is_double(step):
        return [plain]
    if settings["group"] != 1 or settings["strides"] != [1, 1] or settings["dilations"] != [1, 1]:
        return [plain]
    top, left, bottom, right = (int(str(pad)) for pad in pads)
    if not isinstance(shape[2], int) or not isinstance(shape[3], int):
        return [plain]
    lines, columns = shape[2] + top + bottom - 2, shape[3] + left + right - 2
    filters, depth = weight.shape[:2]
    sums = 9 * max(filters, LEAST_FILTERS) * depth * max(lines * columns, LEAST_PRODUCTS)
    options = [Option("direct", float(sums))]
    size = count_bytes(weight, halves)
    for tile in POINTS:
        if not _stays_finite(weight, tile):
            continue
        positions, tiles = (tile + 2) ** 2, math.ceil(lines / tile) * math.ceil(columns / tile)
        products = positions * filters * depth * max(tiles, LEAST_PRODUCTS)
        transforms = positions * tiles * (depth * READING_COST[tile] + filters * WRITING_COST[tile] + TILE_COST)
        making = positions * filters * depth * MAKING_COST[tile]
        cost, growth = float(products + transforms), 4 * positions * filters * depth - size
        options.append(Option("winograd", cost, tile, stored=True, growth=growth))
        options.append(Option("winograd", cost + making, tile))
    return options


def transform_weight(weight: np.ndarray, tile: int) -> np.ndarray:
    """The filters [M, C, 3, 3] at the (tile + 2)^2 positions of a transformed tile: [positions, M, C], float32."""
    return transform_filters(weight, tile).astype(np.float32)


def _stays_finite(weight: np.ndarray, tile: int) -> bool:
    """Whether no transformed weight overflows, whatever the order in which it is summed up."""
    growth = float(np.abs(build_matrix(tile)).sum(axis=1).max()) ** 2
    largest = float(np.abs(weight).max(initial=0.0))
    return largest * growth < float(np.finfo(np.float32).max)
