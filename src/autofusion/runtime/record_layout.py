"""Writing of records, as bytes in the order of `records.RECORD`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import itemgetter

from autofusion.runtime.records import FLOATS, FURTHER, INTS, OPERANDS, Place

_PLACE = "2i2q"
_FRONTS = [struct.Struct(f"<2i{_PLACE * (1 + operands)}") for operands in range(FURTHER)]
"""Kernel, first result and operands, by the number of operands."""

_ONE_PLACE = struct.Struct(f"<{_PLACE}")
_ALL_FLOATS = struct.Struct(f"<{FLOATS}d")
_PLACES_AT = 8
_INTS_AT = _PLACES_AT + OPERANDS * _ONE_PLACE.size
_FLOATS_AT = _INTS_AT + 8 * INTS

_flatten = itemgetter(0, 3, 1, 2)
"""Space, slot, offset and bytes of a place."""


def write_record(
    data: memoryview,
    at: int,
    kernel: int,
    dtype: int,
    operands: Sequence[Place],
    results: Sequence[Place],
    scratch: Place,
    ints: Sequence[int],
    floats: Sequence[float],
) -> None:
    """Write a record to the bytes of `data` from `at` on, which are zeros; what is left out stays 0.  `dtype` is the
    code of the type of the kernel's floating elements.

    Raises ValueError where there are too many places or numbers, or one of them is none.
    """
    if len(operands) >= FURTHER or not 1 <= len(results) <= OPERANDS - FURTHER:
        raise ValueError(f"it has {len(operands)} operands and {len(results)} results")
    if len(ints) > INTS:
        raise ValueError(f"it has {len(ints)} numbers, more than {INTS}")
    places = [*_flatten(results[0])]
    for operand in operands:
        places += _flatten(operand)
    try:
        # A few calls of struct take a tenth of the time of numpy's assignments.
        _FRONTS[len(operands)].pack_into(data, at, kernel, dtype, *places)
        for index, result in enumerate(results[1:], FURTHER):
            _write_place(data, at, index, result)
        if scratch.space:
            _write_place(data, at, OPERANDS - 1, scratch)
        struct.pack_into(f"<{len(ints)}q", data, at + _INTS_AT, *ints)
        _ALL_FLOATS.pack_into(data, at + _FLOATS_AT, *floats)
    except struct.error as error:
        raise ValueError("a number is too large for its record") from error


def _write_place(data: memoryview, at: int, index: int, place: Place) -> None:
    _ONE_PLACE.pack_into(data, at + _PLACES_AT + _ONE_PLACE.size * index, *_flatten(place))
