"""Rows of `generated.SAMPLES` for the fusions of convolutions, products and what surrounds them.

A row is the inputs, the constants, the attributes of operators, and what stands for `...` by statement and operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

FACTOR = np.array([0.7, -1.5, 2.0, 0.3], np.float32)
LIMITS = {"lo": np.float32(-0.4), "hi": np.float32(0.9)}
NORMALIZATION = {"scale": (4,), "beta": (4,), "mean": (4,), "var": (4,)}
IMAGE_PADS = np.array([0, 0, 1, 0, 0, 0, 0, 2])
SIXTH = {"HardSigmoid": {"alpha": 1 / 6, "beta": 0.5}}

FOLD_ROWS: Mapping[str, tuple[Any, ...]] = {
    "conv_bn_act": (
        {"x": (2, 3, 7, 5), "residual": (2, 4, 4, 3)},
        {
            "w": (4, 3, 3, 3),
            "b": (4,),
            "factor": np.array([0.5, -1.5, 2, 0.7], np.float32).reshape(4, 1, 1),
            "offset": (1, 4, 1, 1),
            "slope": (4, 1, 1),
            # Shifts the windows; their number stays, so that the residual fits with and without it.
            "pads": np.array([0, 0, 1, 1, 0, 0, 0, 0]),
            **NORMALIZATION,
            **LIMITS,
        },
        {"Conv": {"pads": [1, 1, 1, 1], "strides": [2, 2]}},
        {"pad:Pad": ("pads",)},
    ),
    "conv_transpose_bn_act": (
        {"x": (2, 4, 3, 5)},
        {"w": (4, 4, 3, 3), "b": (4,), **NORMALIZATION, **LIMITS},
        {"ConvTranspose": {"strides": [2, 1]}},
    ),
    "matmul_bias_act": (
        {"x": (5, 3), "residual": (5, 4)},
        {"w": (3, 4), "bias": (4,), "factor": FACTOR, "slope": (4,), **NORMALIZATION, **LIMITS},
    ),
    # Square matrices: every transposition fits, and a wrong one shows in the values.
    "matmul_scale": (
        {"a": (4, 4), "b": (4, 4)},
        {"left_factor": np.float32(0.5), "right_factor": np.full(1, -1.5, np.float32), "factor": np.float32(0.7)},
        {"Transpose": {"perm": [1, 0]}},
    ),
    "bn_act": ({"x": (2, 4, 5, 3)}, {**NORMALIZATION, **LIMITS}),
    "pad_pool": (
        {"x": (2, 3, 7, 5)},
        {"pads": IMAGE_PADS},
        {"AveragePool": {"kernel_shape": [3, 3], "strides": [2, 1]}},
        {"pad:Pad": ("pads",)},
    ),
    "squeeze_excite": (
        {"x": (2, 4, 5, 3)},
        {
            "axes": np.array([2, 3]),
            "shape": np.array([0, -1]),
            "dropped": np.array([2, 3]),
            "whole": np.array([0, 0, 1, 1]),
            "added": np.array([2, 3]),
            "reducing": (2, 4, 1, 1),
            "widening": (4, 2, 1, 1),
            "down": (4, 2),
            "up": (2, 4),
        },
        {},
        {
            "reduced:conv_bn_act": ("reducing",),
            "gate:conv_bn_act": ("widening",),
            "reduced:matmul_bias_act": ("down",),
            "weights:matmul_bias_act": ("up",),
        },
    ),
    "channel_shuffle": (
        {"x": (2, 6, 5, 3)},
        {"shape": np.array([2, 3, 2, 5, 3]), "flat": np.array([2, 6, 5, 3])},
        {"Transpose": {"perm": [0, 2, 1, 3, 4]}},
    ),
    "hard_swish": ({"x": (2, 3)}, {}, SIXTH),
    "clip": ({"x": (2, 3)}, LIMITS),
}
