"""Rows of `generated.SAMPLES` for attention: queries of 3, keys of 4 and of size 4, six samples of two heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

ATTENTION_ROWS: Mapping[str, tuple[Any, ...]] = {
    "attention": (
        {
            "q": (6, 2, 3, 4),
            "k": (6, 2, 4, 4),
            "v": (6, 2, 4, 5),
            "bias": (1, 2, 1, 4),
            "mask": (2, 3, 4),
            "keep": np.random.default_rng(3).random((6, 1, 3, 4)) > 0.2,
        },
        {
            "q_factor": np.float32(0.6),
            "k_factor": np.float32(0.7),
            "factor": np.float32(1.3),
            "fill": np.float32(-2.5),
            "split_shape": np.array([2, 3, 2, 3, 4]),
            "joined_shape": np.array([6, 2, 3, 4]),
        },
        {"Transpose": {"perm": [0, 1, 3, 2]}},
    ),
    "nan_guard": ({"p": np.array([[0.5, np.nan], [-np.inf, 1]], np.float32)}, {}),
}
