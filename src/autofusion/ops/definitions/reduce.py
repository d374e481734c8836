"""Definition of kernel `reduce`: sums, products, extremes and norms over any axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required

_Reduce = Callable[[np.ndarray, tuple[int, ...]], np.ndarray]


def _extreme(function: Any, largest: bool) -> _Reduce:
    def reduce(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        if x.dtype.kind == "b":
            start: Any = not largest
        elif x.dtype.kind in "iu":
            start = np.iinfo(x.dtype).min if largest else np.iinfo(x.dtype).max
        else:
            start = -np.inf if largest else np.inf
        return function(x, axis=axes, initial=start)

    return reduce


REDUCTIONS: Mapping[str, _Reduce] = {
    "sum": lambda x, axes: x.sum(axes, dtype=x.dtype),
    "mean": lambda x, axes: x.sum(axes, dtype=x.dtype) / math.prod(x.shape[axis] for axis in axes),
    "max": _extreme(np.max, True),
    "min": _extreme(np.min, False),
    "prod": lambda x, axes: x.prod(axes, dtype=x.dtype),
    "sum_square": lambda x, axes: (x * x).sum(axes, dtype=x.dtype),
    "l1": lambda x, axes: np.abs(x).sum(axes, dtype=x.dtype),
    "l2": lambda x, axes: np.sqrt((x * x).sum(axes, dtype=x.dtype)),
}


def reduce(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """`kind` over all indices of `axes`, the other axes in their order; floats narrower than float64 by way of it."""
    x = required(inputs, 0)
    wide = x if x.dtype.kind in "biu" else x.astype(np.float64)
    axes = tuple(int(axis) for axis in attributes["axes"])
    with np.errstate(all="ignore"):
        return REDUCTIONS[str(attributes["kind"])](wide, axes).astype(x.dtype).reshape(out_shape)
