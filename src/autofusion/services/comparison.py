"""Comparison of one tensor with the oracle and with a float64 evaluation, slice by slice along its channel axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autofusion.report.verification import Comparison

LEAST = {"float32": 2.0**-126, "float64": 2.0**-1022}
"""The least normal numbers: those below have few digits, or none."""

FLOORS = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-3, "bfloat16": 1.6e-2}
"""Error, relative to a slice's scale, that every computation in a type is allowed."""

MARGIN = 2.0
"""How many times the oracle's own error against float64 is allowed."""

SMALL_SLICE = 64
"""A slice of fewer elements borrows the oracle's error over the whole tensor, and a share of the tensor's scale:
of its own few elements the oracle may have hit one by luck, and a sum near zero has the rounding of its summands."""

BORROWED_SCALE = 0.1

BORROWED_MARGIN = 4.0
"""How many times a borrowed error is allowed: the largest of many roundings varies more than their mean."""

FEW = 64
"""Where fewer elements carry the errors of a slice, these say little about how large others may be."""

ROUNDING_LIMIT = 2e-3
"""An error beyond this share of a slice's scale is allowed only where the oracle's own in that slice is half of it."""


PEER_MARGIN = 8.0
"""How many times the larger error of two implementations is allowed where rounding alone moves the result far."""

PEER_LIMIT = 0.75
"""Share of a tensor's scale that no allowance reaches past, so that zeros never pass."""


@dataclass(frozen=True)
class Case:
    """Under which generated input a comparison was made."""

    seed: int
    dims: Mapping[str, int]


def compare_tensor(
    name: str, ours: np.ndarray, oracle: np.ndarray, exact: np.ndarray, case: Case, peer: np.ndarray | None = None
) -> Comparison:
    """Judge `ours`, the result under test.

    `oracle` is the unfused model's result in its own precision, `exact` the same in float64.  `peer` is given
    for a model that amplifies rounding: another implementation's result in the model's precision.
    Floats: for the whole and for every slice along the axis of the channels (axis 1 from rank 3 up, the last up to
    rank 3), maximum and RMS error against `exact` stay within max(floor of the type * scale of the slice, MARGIN *
    error of the oracle), or, where that error tells little, within a share of the scale that other errors of the
    oracle show to be rounding.
    All other types, and the places of NaN and infinities, must be equal to the oracle's.
    """
    if ours.shape != oracle.shape:
        return _judged(name, ours, case, reason=f"shape is {ours.shape}, expected {oracle.shape}")
    if ours.dtype != oracle.dtype:
        return _judged(name, ours, case, reason=f"type is {ours.dtype}, expected {oracle.dtype}")
    if str(ours.dtype) not in FLOORS:
        wrong = int(np.count_nonzero(ours != oracle))
        return _judged(name, ours, case, reason=f"{wrong} of {ours.size} elements differ" if wrong else "")
    wide, expected = ours.astype(np.float64), oracle.astype(np.float64)
    regular = np.isfinite(expected)
    if not np.array_equal(np.where(regular, 0.0, expected), np.where(np.isfinite(wide), 0.0, wide), equal_nan=True):
        return _judged(name, ours, case, reason="NaN or infinity where the unfused model has none, or the reverse")
    if not ours.size:
        return _judged(name, ours, case)
    return _compare_floats(name, ours, wide, expected, np.asarray(exact, np.float64), regular, case, peer)


def _compare_floats(
    name: str,
    ours: np.ndarray,
    wide: np.ndarray,
    expected: np.ndarray,
    exact: np.ndarray,
    regular: np.ndarray,
    case: Case,
    peer: np.ndarray | None,
) -> Comparison:
    counted = regular & np.isfinite(exact)
    wide, expected, exact = (np.where(counted, array, 0.0) for array in (wide, expected, exact))
    max_difference = float(np.abs(wide - expected).max())
    wide -= exact
    expected -= exact
    if peer is not None:
        theirs = np.where(counted, peer.astype(np.float64), 0.0) - exact
        theirs = np.fmax(np.abs(expected), np.abs(theirs)) * (PEER_MARGIN / MARGIN)
        expected = np.minimum(theirs, PEER_LIMIT / MARGIN * np.abs(exact).max())
    error, own, size = (np.abs(array, out=array) for array in (wide, expected, exact))
    error[error < LEAST.get(str(ours.dtype), 0.0)] = 0.0
    floor = FLOORS[str(ours.dtype)]
    whole = _Strain.measure(error.reshape(1, -1), own.reshape(1, -1), size.reshape(1, -1), floor)
    strains = [
        _strain_slices(_slices(error, axis), _slices(own, axis), _slices(size, axis), floor)
        for axis in _channel_axes(ours.ndim)
    ]
    worst = max((whole, *strains), key=_strain_value)
    return Comparison(
        name,
        str(ours.dtype),
        ours.shape,
        case.seed,
        case.dims,
        max_difference=max_difference,
        error=worst.error,
        allowed=worst.allowed,
        where="" if worst is whole else f"channel {worst.slice}",
    )


@dataclass(frozen=True)
class _Strain:
    """The slice that comes nearest to its limit or lies furthest beyond; both numbers in units of its scale."""

    slice: int
    error: float
    allowed: float
    value: float

    @classmethod
    def measure(
        cls, error: np.ndarray, own: np.ndarray, size: np.ndarray, floor: float, borrowed: _Borrowed | None = None
    ) -> _Strain:
        """The worst of the rows of `error` ([slice, element]); `own` is the oracle's error, `size` the magnitude."""
        scale = size.max(axis=1)
        theirs = np.stack([own.max(axis=1), _rms(own)])
        margin = _margin(np.maximum(_carriers(own), _carriers(error)), own.shape[1])
        if borrowed is not None:
            scale = np.maximum(scale, borrowed.scale)
            theirs = np.full_like(theirs, borrowed.error)
            margin = np.full_like(margin, BORROWED_MARGIN)
        limits = _limit(floor, scale, theirs, margin)
        errors = np.stack([error.max(axis=1), _rms(error)])
        strain = _ratio(errors, limits)
        measure, row = np.unravel_index(int(strain.argmax()), strain.shape)
        unit = scale[row] or 1.0
        place = measure, row
        return cls(int(row), float(errors[place] / unit), float(limits[place] / unit), float(strain[place]))


def _strain_value(strain: _Strain) -> float:
    return strain.value


@dataclass(frozen=True)
class _Borrowed:
    """What slices of few elements take from the whole tensor."""

    scale: float
    error: float


def _strain_slices(error: np.ndarray, own: np.ndarray, size: np.ndarray, floor: float) -> _Strain:
    if size.shape[1] >= SMALL_SLICE:
        return _Strain.measure(error, own, size, floor)
    borrowed = _Borrowed(BORROWED_SCALE * float(np.sqrt(np.mean(np.square(size)))), float(own.max()))
    return _Strain.measure(error, own, size, floor, borrowed)


def _limit(floor: float, scale: np.ndarray, own: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """The largest and the RMS error [2, slice] that each slice may have, for those of the oracle, `own`.

    Every implementation rounds in its own way, and where few elements matter the oracle may have been lucky.  So
    a slice may have `margin` times the oracle's error, or the share of its scale that the oracle's worst slice
    has, both up to ROUNDING_LIMIT.
    """
    shares = np.divide(own, scale, out=np.zeros_like(own), where=scale > 0)
    shared = _margin(_carriers(shares), shares.shape[1]) * shares.max(axis=1)
    rounding = np.minimum(np.maximum(margin * shares, shared[:, None]), ROUNDING_LIMIT)
    return np.maximum(np.maximum(rounding, floor) * scale, MARGIN * own)


def _margin(carriers: np.ndarray, elements: int) -> np.ndarray:
    """How many times the oracle's error is allowed where `carriers` of so many elements carry the errors."""
    return MARGIN * np.maximum(min(FEW, elements) / carriers, 1.0)


def _carriers(errors: np.ndarray) -> np.ndarray:
    """How many elements carry the sum of squares of each row: its square over the sum of fourth powers, at least 1."""
    squares = errors / np.maximum(errors.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    squares *= squares
    fourths = np.einsum("ij,ij->i", squares, squares)
    return np.maximum(np.square(squares.sum(axis=1)) / np.maximum(fourths, np.finfo(np.float64).tiny), 1.0)


def _channel_axes(rank: int) -> tuple[int, ...]:
    """Axes whose slices are judged: that of the channels, which in rank 3 may be the second or the last."""
    return {0: (0,), 1: (0,), 2: (1,), 3: (1, 2)}.get(rank, (1,))


def _slices(array: np.ndarray, axis: int) -> np.ndarray:
    """The array as [slice, element]; a scalar is one slice."""
    if array.ndim == 0:
        return array.reshape(1, 1)
    return np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)


def _rms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1])


def _ratio(error: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """error / limit, where 0 / 0 is fine and anything else over 0 is not."""
    return np.where(error == 0, 0.0, error / np.where(limit == 0, np.finfo(np.float64).tiny, limit))


def _judged(name: str, ours: np.ndarray, case: Case, reason: str = "") -> Comparison:
    return Comparison(name, str(ours.dtype), ours.shape, case.seed, case.dims, 0.0, 0.0, 0.0, reason=reason)
