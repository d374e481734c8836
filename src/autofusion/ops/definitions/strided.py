"""Definition of kernel `strided`: elements read through an offset and one stride for each axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required
from autofusion.ops.definitions.views import view


def strided(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """x, row-major, at `view` as `extents`, in `out_shape`; raises ValueError where it reaches past x."""
    x = np.ascontiguousarray(required(inputs, 0))
    return view(x, attributes["extents"], attributes["view"]).reshape(out_shape).copy()
