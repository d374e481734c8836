"""Drawn rounding: a model that amplifies it shows it, one that does not stays near float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autofusion.services.evaluate import evaluate_graph
from autofusion.services.rounding import draw_rounding, measure_distance
from frontend.models import parse, random, read

CANCELLING = """
main (float[4] x) => (float[4] y) <float big = {10000.0}, float small = {1000.0}> {
  far = Add (x, big)
  near = Sub (far, big)
  y = Mul (near, small)
}
"""


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [(CANCELLING, 1e-5, 1e-2), ("main (float[4] x) => (float[4] y) { y = Relu (x) }", 0, 1e-6)],
)
def test_rounding_is_drawn(text: str, least: float, most: float, tmp_path: Path) -> None:
    graph = read(parse(text), tmp_path).graph
    feeds = {"x": random(1, 4)}
    exact = evaluate_graph(graph, feeds, widen=True)
    found = draw_rounding(graph, feeds, exact)["y"]
    assert found.dtype == np.float32
    assert least <= measure_distance(found, exact["y"]) <= most


@pytest.mark.parametrize(
    ("found", "exact", "distance"),
    [
        (np.ones(2, np.float32), np.array([1.0, 2.0]), 0.5),
        (np.ones(3, np.float32), np.ones(2), np.inf),
        (np.array([np.nan, 1], np.float32), np.array([np.nan, 1.0]), 0.0),
        (np.ones(2, np.float32), np.zeros(2), np.inf),
        (np.zeros(2, np.float32), np.zeros(2), 0.0),
        (np.zeros(2, np.int64), np.ones(2), 0.0),
    ],
)
def test_distance_is_a_share_of_the_scale(found: np.ndarray, exact: np.ndarray, distance: float) -> None:
    assert measure_distance(found, exact) == distance
