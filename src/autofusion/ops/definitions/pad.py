"""Definition of kernel `pad`: a tensor with a border, or cropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required


def pad(inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]) -> np.ndarray:
    """x with `pads` (begins, then ends) more cells on each axis; fewer where they are negative.

    `mode` "constant": the cells hold the one element of the second operand, or 0; "edge", "reflect", "wrap": elements
    of x.
    """
    x, pads = required(inputs, 0), [int(number) for number in attributes["pads"]]
    value = inputs[1] if len(inputs) > 1 else None
    result = x
    for axis in range(x.ndim):
        begin, end = pads[axis], pads[x.ndim + axis]
        places = np.arange(x.shape[axis] + begin + end, dtype=np.int64) - begin
        result = _extend(result, axis, places, str(attributes["mode"]), value)
    return result.reshape(out_shape).copy()


def _extend(x: np.ndarray, axis: int, places: np.ndarray, mode: str, value: np.ndarray | None) -> np.ndarray:
    """x at `places` along `axis`, which may lie outside."""
    extent = int(x.shape[axis])
    if mode == "constant" or extent == 0:
        inside = (places >= 0) & (places < extent)
        shape = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
        result = np.full(shape, 0 if value is None else value.reshape(()), x.dtype)
        target = [slice(None)] * axis
        result[(*target, inside)] = x.take(places[inside], axis)
        return result
    if mode == "edge":
        return x.take(np.clip(places, 0, extent - 1), axis)
    if mode == "wrap" or extent == 1:
        return x.take(places % extent, axis)
    folded = places % (2 * extent - 2)
    return x.take(np.where(folded < extent, folded, 2 * extent - 2 - folded), axis)
