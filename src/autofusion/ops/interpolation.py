"""Resize in numpy: along one axis after the other, as a product with the weights of the source cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autofusion.ir import Node
from autofusion.ops.operands import integer, integers, number, text
from autofusion.ops.precision import is_float, optional, required, widen_halves
from autofusion.ops.reference import evaluate_by_reference


@dataclass(frozen=True)
class _Axis:
    """One resized axis: extents before and after, and the scale between them as the model gives it."""

    source: int
    target: int
    scale: float


def evaluate_resize(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    """Nearest, linear and cubic interpolation; cropping, antialiasing and kept proportions by the reference."""
    x = required(operands, 0)
    mode = text(node, "mode", "nearest")
    transformation = text(node, "coordinate_transformation_mode", "half_pixel")
    stretched = text(node, "keep_aspect_ratio_policy", "stretch") == "stretch"
    plain = stretched and not integer(node, "antialias") and transformation != "tf_crop_and_resize"
    if not plain or (mode != "nearest" and not is_float(x.dtype)):
        return evaluate_by_reference(node, operands)
    resized = widen_halves(x)
    for place, axis in _read_axes(node, x.shape, optional(operands, 2), optional(operands, 3)).items():
        if axis.source == axis.target and axis.scale == 1:
            continue
        points = _find_points(transformation, axis)
        if mode == "nearest":
            resized = resized.take(_round(points, text(node, "nearest_mode"), axis.source), place)
            continue
        weights = _weigh_linear(points, axis.source) if mode == "linear" else _weigh_cubic(node, points, axis.source)
        resized = np.moveaxis(np.moveaxis(resized, place, -1) @ weights.T.astype(resized.dtype), -1, place)
    return [resized.astype(x.dtype, copy=False)]


def _read_axes(
    node: Node, shape: tuple[int, ...], scales: np.ndarray | None, sizes: np.ndarray | None
) -> dict[int, _Axis]:
    places = [axis % len(shape) for axis in integers(node, "axes") or range(len(shape))]
    if sizes is not None:
        targets = [int(size) for size in sizes]
        return {
            place: _Axis(shape[place], target, target / shape[place])
            for place, target in zip(places, targets, strict=True)
        }
    factors = [float(scale) for scale in scales] if scales is not None else []
    return {
        place: _Axis(shape[place], math.floor(shape[place] * factor), factor)
        for place, factor in zip(places, factors, strict=True)
    }


def _find_points(transformation: str, axis: _Axis) -> np.ndarray:
    """Where each result cell lies on the source axis, whose cell centres are at 0, 1, 2, ..."""
    cells = np.arange(axis.target, dtype=np.float64)
    match transformation:
        case "asymmetric":
            return cells / axis.scale
        case "align_corners":
            return cells * ((axis.source - 1) / (axis.target - 1)) if axis.target > 1 else cells * 0
        case "pytorch_half_pixel":
            return (cells + 0.5) / axis.scale - 0.5 if axis.target > 1 else cells * 0
        case "half_pixel":
            return (cells + 0.5) / axis.scale - 0.5
        case "half_pixel_symmetric":
            share = axis.target / (axis.source * axis.scale)
            return axis.source / 2 * (1 - share) + (cells + 0.5) / axis.scale - 0.5
        case _:
            raise ValueError(f"coordinate_transformation_mode {transformation!r} is unknown")


def _round(points: np.ndarray, mode: str, extent: int) -> np.ndarray:
    match mode:
        case "floor":
            cells = np.floor(points)
        case "ceil":
            cells = np.ceil(points)
        case "round_prefer_ceil":
            cells = np.floor(points + 0.5)
        case _:
            cells = np.ceil(points - 0.5)
    return np.clip(cells, 0, extent - 1).astype(np.int64)


def _weigh_linear(points: np.ndarray, extent: int) -> np.ndarray:
    """Weights [target, source] of the two cells round each point; beyond the border the border cell counts."""
    first = np.floor(points)
    share = points - first
    return _collect(first, [1 - share, share], extent)


def _weigh_cubic(node: Node, points: np.ndarray, extent: int) -> np.ndarray:
    """Weights of the four cells round each point by the cubic convolution kernel with parameter `cubic_coeff_a`."""
    a = number(node, "cubic_coeff_a", -0.75)
    first = np.floor(points) - 1
    parts: list[np.ndarray] = []
    for offset in range(4):
        distance = np.abs(points - (first + offset))
        near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        part = np.where(distance <= 1, near, far)
        inside = (first + offset >= 0) & (first + offset < extent)
        parts.append(np.where(inside, part, 0) if integer(node, "exclude_outside") else part)
    weights = _collect(first, parts, extent)
    return weights / weights.sum(1, keepdims=True)


def _collect(first: np.ndarray, parts: Sequence[np.ndarray], extent: int) -> np.ndarray:
    """Weights by target and source cell, for parts that belong to cells `first`, `first + 1`, ..."""
    weights = np.zeros((len(first), extent))
    rows = np.arange(len(first))
    for offset, part in enumerate(parts):
        np.add.at(weights, (rows, np.clip(first + offset, 0, extent - 1).astype(np.int64)), part)
    return weights
