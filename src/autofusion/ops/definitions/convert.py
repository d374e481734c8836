"""Definition of kernel `convert`: the same numbers in another element type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required


def convert(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """x in the type `to`, a name of numpy's or of ml_dtypes': cut toward zero, wrapped and rounded as numpy does."""
    with np.errstate(all="ignore"):
        return required(inputs, 0).astype(_find_type(str(attributes["to"]))).reshape(out_shape)


def _find_type(name: str) -> np.dtype[Any]:
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)
