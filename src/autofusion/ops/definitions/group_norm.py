"""Definition of kernel `group_norm`: GroupNormalization, and InstanceNormalization with a group a channel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.norm import normalize
from autofusion.ops.definitions.precision import required, widen


def group_norm(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """x [N, C, ...] normalized over every group of C / `groups` channels, times scale [C] plus bias [C]."""
    x, scale, bias = required(inputs, 0), widen(required(inputs, 1)), widen(required(inputs, 2))
    groups = int(attributes["groups"])
    parts = widen(x).reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    with np.errstate(all="ignore"):
        result = normalize(parts, "layer", float(attributes["epsilon"])).reshape(out_shape)
        channels = (1, -1, *[1] * (x.ndim - 2))
        result = result * scale.reshape(channels) + bias.reshape(channels)
    return result.astype(x.dtype, copy=False)
