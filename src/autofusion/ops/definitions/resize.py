"""Definition of kernel `resize`: images in other extents, by nearest, linear or cubic interpolation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required, widen


def resize(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """x [N, C, *spatial] in `out_shape`, axis by axis: cells picked, or a product with the weights of source cells.

    `scales`, one number per spatial axis, and `coordinates` say where a result cell lies; `rounding` applies to
    "nearest", the coefficient `cubic` and `exclude_outside` to "cubic".
    """
    x = required(inputs, 0)
    result = widen(x)
    for place, scale in enumerate(attributes["scales"], start=2):
        source, target = x.shape[place], out_shape[place]
        if source == target and scale == 1:
            continue
        points = _find_points(str(attributes["coordinates"]), source, target, float(scale))
        if attributes["mode"] == "nearest":
            cells = _round(points, str(attributes["rounding"])).clip(0, source - 1).astype(np.int64)
            result = result.take(cells, axis=place)
            continue
        weights = _weigh(points, source, attributes).astype(result.dtype)
        result = np.moveaxis(np.moveaxis(result, place, -1) @ weights.T, -1, place)
    return result.reshape(out_shape).astype(x.dtype, copy=False)


def _find_points(coordinates: str, source: int, target: int, scale: float) -> np.ndarray:
    """Where each result cell lies on the source axis, whose cells have their centres at 0, 1, 2, ..."""
    cells = np.arange(target, dtype=np.float64)
    if coordinates == "asymmetric":
        return cells / scale
    if coordinates == "align_corners":
        return cells * ((source - 1) / (target - 1)) if target > 1 else cells * 0
    points = (cells + 0.5) / scale - 0.5
    if coordinates == "half_pixel_symmetric":
        return source / 2 * (1 - target / (source * scale)) + points
    return cells * 0 if coordinates == "pytorch_half_pixel" and target == 1 else points


def _weigh(points: np.ndarray, extent: int, attributes: Mapping[str, Any]) -> np.ndarray:
    """Weights [target, source]; of a cell past the border the weight goes to the border cell."""
    first = np.floor(points)
    if attributes["mode"] == "linear":
        return _collect(first, [1 - (points - first), points - first], extent)
    parts: list[np.ndarray] = []
    for tap in range(4):
        cells = first - 1 + tap
        part = _weigh_cubic(np.abs(points - cells), float(attributes["cubic"]))
        outside = (cells < 0) | (cells >= extent)
        parts.append(np.where(outside, 0, part) if attributes["exclude_outside"] else part)
    weights = _collect(first - 1, parts, extent)
    return weights / weights.sum(1, keepdims=True)


def _round(points: np.ndarray, rounding: str) -> np.ndarray:
    if rounding == "floor":
        return np.floor(points)
    if rounding == "ceil":
        return np.ceil(points)
    return np.floor(points + 0.5) if rounding == "round_prefer_ceil" else np.ceil(points - 0.5)


def _weigh_cubic(distance: np.ndarray, a: float) -> np.ndarray:
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, far)


def _collect(first: np.ndarray, parts: Sequence[np.ndarray], extent: int) -> np.ndarray:
    """Weights by target and source cell, for parts that belong to cells `first`, `first + 1`, ..."""
    weights = np.zeros((len(first), extent))
    rows = np.arange(len(first))
    for tap, part in enumerate(parts):
        np.add.at(weights, (rows, np.clip(first + tap, 0, extent - 1).astype(np.int64)), part)
    return weights
