"""Definition of kernel `concat`: tensors joined along one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def concat(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """All operands in order along `axis`."""
    parts = [array for array in inputs if array is not None]
    return np.concatenate(parts, axis=int(attributes["axis"])).reshape(out_shape)
