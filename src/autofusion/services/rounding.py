"""How far rounding alone moves the outputs of a model: several evaluations in the model's own precision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from autofusion.ir import Graph
from autofusion.services.evaluate import evaluate_graph

DRAWS = 5
"""How many evaluations are made: one of the inputs, the others of inputs moved by one unit in the last place."""


def draw_rounding(
    graph: Graph, feeds: Mapping[str, np.ndarray], exact: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Outputs of the unfused `graph` in its own precision: of every element the draw farthest from `exact`."""
    farthest = evaluate_graph(graph, feeds, widen=False)
    for seed in range(1, DRAWS):
        moved = {name: _nudge(array, seed) for name, array in feeds.items()}
        for name, array in evaluate_graph(graph, moved, widen=False).items():
            if array.dtype.kind == "f" and array.shape == exact[name].shape == farthest[name].shape:
                farther = np.abs(array - exact[name]) > np.abs(farthest[name] - exact[name])
                farthest[name] = np.where(farther, array, farthest[name])
    return farthest


def measure_distance(found: np.ndarray, exact: np.ndarray) -> float:
    """The largest difference between two outputs as a share of the scale of `exact`; infinite for other shapes."""
    if found.shape != exact.shape:
        return float("inf")
    if found.dtype.kind not in "fV" or not found.size:
        return 0.0
    wide = found.astype(np.float64)
    regular = np.isfinite(wide) & np.isfinite(exact)
    scale = np.abs(np.where(regular, exact, 0.0)).max()
    difference = np.abs(np.where(regular, wide - exact, 0.0)).max()
    if not difference:
        return 0.0
    return float(difference / scale) if scale else float("inf")


def _nudge(array: np.ndarray, seed: int) -> np.ndarray:
    """Every float, up or down, by one unit in the last place."""
    if array.dtype.kind != "f":
        return array
    signs = np.random.default_rng(seed).integers(0, 2, array.shape) * 2 - 1
    return np.nextafter(array, (signs * np.inf).astype(array.dtype))
