"""Rows of `generated.SAMPLES` for the fusions of products with norms and with each other; columns as in there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

ROWS = {"gamma": (5,), "beta": (5,)}

PRODUCT_ROWS: Mapping[str, tuple[Any, ...]] = {
    "add_layer_norm": (
        {"a": (2, 3, 5), "b": (2, 3, 5)},
        ROWS,
        {"LayerNormalization": {"axis": -1}},
    ),
    "layer_norm_matmul": ({"x": (3, 5)}, {"w": (5, 6), **ROWS}),
    "rms_norm_matmul": ({"x": (3, 5)}, {"w": (5, 6), **ROWS}),
    "embedding": (
        {
            "word_ids": np.array([[6, -1, 0], [2, 2, 3]]),
            "place_ids": np.array([[0, 1, 2]]),
            "kind_ids": np.array([1, 0, -2], np.int32),
        },
        {"words": (7, 5), "places": (3, 5), "kinds": (2, 5), "other": (2, 3, 5), **ROWS},
        {"LayerNormalization": {"axis": -1}},
    ),
    "gated_matmul": ({"x": (3, 5)}, {"w": (5, 6), "v": (5, 6), "gate_bias": (6,), "bias": (1, 6)}),
}
