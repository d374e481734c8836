"""Definitions of kernels `scatter_elements` and `scatter_blocks`: a copy with updates at places that indices name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.gather import locate, resolve
from autofusion.ops.definitions.precision import required

COMBINATIONS: Mapping[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def scatter_elements(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """x with every update put at its own place, but for `axis`, where the index names it."""
    x, indices, updates = (required(inputs, index) for index in range(3))
    return _put(x, locate(x.shape, indices, int(attributes["axis"])), updates, attributes, out_shape)


def scatter_blocks(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """x with the updates put at x[indices], the last axis of the indices naming one axis each."""
    x, indices, updates = (required(inputs, index) for index in range(3))
    axes = tuple(resolve(indices[..., axis], x.shape[axis]) for axis in range(indices.shape[-1]))
    return _put(x, axes, updates, attributes, out_shape)


def _put(
    x: np.ndarray,
    places: tuple[np.ndarray, ...],
    updates: np.ndarray,
    attributes: Mapping[str, Any],
    out_shape: tuple[int, ...],
) -> np.ndarray:
    """Put, or combine by `reduction` ("none": the last one at a place stays)."""
    result = x.reshape(out_shape).copy()
    combine: Callable[..., None] | None = getattr(COMBINATIONS.get(str(attributes["reduction"])), "at", None)
    with np.errstate(all="ignore"):
        if combine is None:
            result[places] = updates
        else:
            combine(result, places, updates)
    return result
