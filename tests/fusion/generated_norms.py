"""What the values of the normal forms are in generated models: shapes of variables, constants, attributes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

EPSILON = np.float32(1e-5)
ROWS: Mapping[str, tuple[int, ...] | np.ndarray | np.generic] = {
    "axes": np.array([2]),
    "axes2": np.array([-1]),
    "eps": EPSILON,
    "scale": (6,),
    "bias": (6,),
}


def _slice(name: str, start: int, end: int, step: int = 1) -> dict[str, np.ndarray]:
    bounds = {"start": start, "end": end, "axis": -1, "step": step}
    return {f"{name}_{key}": np.array([value]) for key, value in bounds.items()}


Shapes = Mapping[str, tuple[int, ...]]
Constants = Mapping[str, tuple[int, ...] | np.ndarray | np.generic]
Attributes = Mapping[str, Mapping[str, object]]

NORM_ROWS: Mapping[str, tuple[Shapes, Constants] | tuple[Shapes, Constants, Attributes]] = {
    "gelu": ({"x": (2, 3)}, {}),
    "gelu_tanh": ({"x": (2, 3)}, {}),
    "quick_gelu": ({"x": (2, 3)}, {"alpha": np.float32(1.702)}),
    "swish": ({"x": (2, 3)}, {"alpha": np.float32(0.7)}),
    "mish": ({"x": (2, 3)}, {}),
    "sigmoid": ({"x": (2, 3)}, {}),
    "layer_norm": ({"x": (2, 3, 6)}, ROWS),
    "layer_norm_scaled": ({"x": (2, 3, 6)}, ROWS),
    "layer_norm_moments": ({"x": (2, 3, 6)}, ROWS),
    "channel_norm": (
        {"x": (2, 4, 3, 5)},
        {"axes": np.array([1]), "axes2": np.array([-3]), "eps": EPSILON, "scale": (4, 1, 1), "bias": (1, 4, 1, 1)},
    ),
    "channel_norm_turned": ({"x": (2, 4, 3, 5)}, {"scale": (4,), "bias": (4,)}),
    "hard_sigmoid": ({"x": (2, 3)}, {}),
    "rms_norm": ({"x": (2, 3, 6)}, ROWS),
    "group_norm": (
        {"x": (2, 4, 3, 5)},
        {
            "groups": np.array([0, 2, -1]),
            "shape": np.array([2, 4, 3, 5]),
            "ones": np.ones(2, np.float32),
            "zeros": np.zeros(2, np.float32),
            "scale": (4, 1, 1),
            "bias": (4, 1, 1),
        },
    ),
    "softmax": ({"x": (2, 3, 6)}, {"axes": np.array([1]), "axes2": np.array([-2])}),
    "rotary": (
        {"x": (2, 3, 4, 6), "cos": (4, 1), "sin": (4, 1)},
        {**_slice("low", 0, 3), **_slice("high", 3, 2**63 - 1), "sizes": np.array([3, 3])},
    ),
    "rotary_pairs": (
        {"x": (2, 3, 4, 6), "cos": (4, 1), "sin": (4, 1)},
        {
            **_slice("even", 0, 6, 2),
            **_slice("odd", 1, 2**63 - 1, 2),
            "even_place": np.array([4]),
            "odd_place": np.array([-1]),
            "shape": np.array([2, 3, 4, 6]),
            "pairing": np.array([2, 3, 4, 3, 2]),
            "sizes": np.array([1, 1]),
            "a_place": np.array([4]),
            "b_place": np.array([-1]),
        },
    ),
    "rotary_part": (
        {"x": (2, 3, 4, 9), "cos": (4, 6), "sin": (4, 6)},
        {**_slice("part", 0, 6), **_slice("rest", 6, 9), "sizes": np.array([6, 3])},
    ),
    "instance_norm": (
        {"x": (2, 4, 3, 5)},
        {"ones": np.ones((3, 5), np.float32), "scale": (4, 1, 1), "bias": (4, 1, 1)},
        {"LayerNormalization": {"axis": 2}},
    ),
    "repeat_kv": ({"x": (2, 3, 4, 5)}, {"extents": np.array([2, 3, 2, 4, 5]), "shape": np.array([2, 6, 4, 5])}),
}

WIDENING = frozenset({"x32", "d32", "wide"})
"""Names of statements that cast to a wider type; other casts narrow."""
