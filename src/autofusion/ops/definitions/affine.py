"""Definition of kernel `affine`: a scale and a shift per channel, with activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.activation import activate
from autofusion.ops.definitions.precision import required, widen


def affine(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """act(x * scale + shift), scale and shift [C] along axis 1 of x."""
    x = required(inputs, 0)
    along = (-1, *([1] * (x.ndim - 2)))
    scale, shift = (widen(required(inputs, index)).reshape(along) for index in (1, 2))
    with np.errstate(all="ignore"):
        result = (widen(x) * scale + shift).reshape(out_shape)
        return activate(result, attributes).astype(x.dtype, copy=False)
