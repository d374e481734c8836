"""Writing of records, as bytes in the order of `records.RECORD`."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from autofusion.runtime.records import FLOATS, FURTHER, INTS, OPERANDS, Place

_LAYOUT = struct.Struct(f"<2i{'2i2q' * OPERANDS}{INTS}q{FLOATS}d")


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
    """Write a record to the bytes of `data` from `at` on; numbers that are left out are 0.  `dtype` is the code of
    the type of the kernel's floating elements.

    Raises ValueError where there are too many places or numbers, or one of them is none.
    """
    if len(operands) >= FURTHER or not 1 <= len(results) <= OPERANDS - FURTHER:
        raise ValueError(f"it has {len(operands)} operands and {len(results)} results")
    places = [*_flatten(results[0])]
    for operand in operands:
        places += _flatten(operand)
    places += [0] * (4 * FURTHER - len(places))
    for result in results[1:]:
        places += _flatten(result)
    places += [0] * (4 * (OPERANDS - 1) - len(places))
    try:
        # One call of struct takes a tenth of the time of numpy's assignments.
        _LAYOUT.pack_into(
            data, at, kernel, dtype, *places, *_flatten(scratch), *ints, *[0] * (INTS - len(ints)), *floats
        )
    except struct.error as error:
        raise ValueError("a number is too large for its record") from error


def _flatten(place: Place) -> tuple[int, int, int, int]:
    return place.space, place.slot, place.offset, place.bytes
