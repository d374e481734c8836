"""Definitions of kernels `gather`, `gather_elements` and `gather_blocks`: elements at places that indices name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required


def gather(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """x[.., indices, ..] along `axis`; negative indices count from the end.  Raises IndexError outside of the axis."""
    x, axis = required(inputs, 0), int(attributes["axis"])
    return np.take(x, resolve(required(inputs, 1), x.shape[axis]), axis=axis).reshape(out_shape)


def gather_elements(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """For every index the element of x in the same place, but for `axis`, where the index names it."""
    x, axis = required(inputs, 0), int(attributes["axis"])
    return x[locate(x.shape, required(inputs, 1), axis)].reshape(out_shape)


def gather_blocks(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """x[batch][indices], the last axis of the indices naming one axis each, for every index of `batch_dims` axes."""
    x, indices, batch = required(inputs, 0), required(inputs, 1), int(attributes["batch_dims"])
    axes = [resolve(indices[..., axis], x.shape[batch + axis]) for axis in range(indices.shape[-1])]
    grid = list(np.indices(indices.shape[:-1], sparse=True))[:batch]
    return x[(*grid, *axes)].reshape(out_shape)


def locate(shape: tuple[int, ...], indices: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The places in a tensor of `shape` that `indices` name along `axis`, one array for every axis."""
    grid: Sequence[np.ndarray] = np.indices(indices.shape, sparse=True)
    return (*grid[:axis], resolve(indices, shape[axis]), *grid[axis + 1 :])


def resolve(indices: np.ndarray, extent: int) -> np.ndarray:
    """Indices as they count from the front; raises IndexError where one names no place of `extent`."""
    if indices.size and (indices.min() < -extent or indices.max() >= extent):
        raise IndexError(f"an index is outside of an axis of {extent}")
    return np.where(indices < 0, indices + extent, indices)
