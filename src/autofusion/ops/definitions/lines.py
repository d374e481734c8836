"""Definitions of kernels `argument`, `cumulate` and `rank`: what follows the elements of a line along one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required, widen


def argument(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """The place of the `kind` ("max" or "min") along `axis`: the first, or with `last` the last one; NaN before all."""
    x, axis = required(inputs, 0), int(attributes["axis"])
    find = np.argmax if attributes["kind"] == "max" else np.argmin
    if attributes["last"]:
        return (x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis)).astype(np.int64).reshape(out_shape)
    return find(x, axis=axis).astype(np.int64).reshape(out_shape)


def cumulate(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """Sums along `axis` up to every element, or before it where `exclusive`, from the end where `reverse`."""
    x, axis = required(inputs, 0), int(attributes["axis"])
    wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x
    turned = np.flip(wide, axis) if attributes["reverse"] else wide
    with np.errstate(all="ignore"):
        sums = np.cumsum(turned, axis, dtype=wide.dtype)
        if attributes["exclusive"]:
            before = [(int(place == axis), 0) for place in range(x.ndim)]
            sums = np.pad(sums, before).take(range(x.shape[axis]), axis)
        return (np.flip(sums, axis) if attributes["reverse"] else sums).astype(x.dtype).reshape(out_shape)


def rank(inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]) -> np.ndarray:
    """The places along `axis` of as many elements as `out_shape` has there, in order, the `largest` or smallest first.

    Of equal elements the one that comes first is first; NaN is before all.
    """
    x, axis = required(inputs, 0), int(attributes["axis"])
    moved = np.moveaxis(widen(x) if x.dtype.kind not in "iub" else x, axis, -1)
    keys = _order_keys(moved, bool(attributes["largest"]))
    places = np.argsort(keys, axis=-1, kind="stable")[..., : out_shape[axis]]
    return np.moveaxis(places, -1, axis).astype(np.int64).reshape(out_shape)


def _order_keys(x: np.ndarray, largest: bool) -> np.ndarray:
    """Numbers that ascend in the order wanted: the rank of each element among the distinct ones."""
    ranks = np.unique(x, return_inverse=True, equal_nan=True)[1].reshape(x.shape).astype(np.int64)
    if largest:
        ranks = -ranks
    if x.dtype.kind == "f":
        ranks = np.where(np.isnan(x), np.iinfo(np.int64).min, ranks)
    return ranks
