"""Definition of kernel `softmax`: exponentials of a line over their sum, or the logarithm of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required, widen


def softmax(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """exp(x - m) / sum(exp(x - m)) along `axis`, m the maximum there; with `log` its logarithm."""
    x, axis = required(inputs, 0), int(attributes["axis"])
    with np.errstate(all="ignore"):
        wide = widen(x)
        shifted = wide - wide.max(axis, keepdims=True, initial=-np.inf)
        powers = np.exp(shifted)
        total = powers.sum(axis, keepdims=True)
        result = shifted - np.log(total) if attributes["log"] else powers / total
        return result.reshape(out_shape).astype(x.dtype, copy=False)
