"""What the values of the normal forms are in generated models: shapes of variables, constants, attributes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

EPSILON = np.float32(1e-5)
ROWS = {"axes": np.array([2]), "axes2": np.array([-1]), "eps": EPSILON, "scale": (6,), "bias": (6,)}

NORM_ROWS: Mapping[str, tuple[Mapping[str, tuple[int, ...]], Mapping[str, tuple[int, ...] | np.ndarray]]] = {
    "gelu": ({"x": (2, 3)}, {}),
    "gelu_tanh": ({"x": (2, 3)}, {}),
    "quick_gelu": ({"x": (2, 3)}, {"alpha": np.float32(1.702)}),
    "swish": ({"x": (2, 3)}, {"alpha": np.float32(0.7)}),
    "mish": ({"x": (2, 3)}, {}),
    "sigmoid": ({"x": (2, 3)}, {}),
    "layer_norm": ({"x": (2, 3, 6)}, ROWS),
    "rms_norm": ({"x": (2, 3, 6)}, ROWS),
}

WIDENING = frozenset({"x32", "d32", "wide"})
"""Names of statements that cast to a wider type; other casts narrow."""
