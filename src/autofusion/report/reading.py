"""Values of a report's JSON, each of the kind that is expected; all raise ValueError naming a key that is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

Json = Mapping[str, object]

Row = TypeVar("Row")


def _entry(data: Json, key: str) -> object:
    if key not in data:
        raise ValueError(f"key {key!r} is missing")
    return data[key]


def read_number(data: Json, key: str) -> int:
    """The whole number under `key`."""
    value = _entry(data, key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key!r} is {value!r}, not a whole number")
    return value


def read_ratio(data: Json, key: str) -> float:
    """The number under `key`."""
    value = _entry(data, key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{key!r} is {value!r}, not a number")
    return float(value)


def read_text(data: Json, key: str) -> str:
    """The text under `key`."""
    value = _entry(data, key)
    if not isinstance(value, str):
        raise ValueError(f"{key!r} is {value!r}, not text")
    return value


def read_list(data: Json, key: str) -> Sequence[object]:
    """The list under `key`."""
    value = _entry(data, key)
    if not isinstance(value, list):
        raise ValueError(f"{key!r} is no list")
    return cast("list[object]", value)


def read_counts(data: Json, key: str) -> dict[str, int]:
    """The whole numbers by name under `key`."""
    counts = read_table(data, key)
    return {name: read_number(counts, name) for name in counts}


def read_table(data: Json, key: str) -> dict[str, object]:
    """The table under `key`."""
    value = _entry(data, key)
    if not isinstance(value, dict):
        raise ValueError(f"{key!r} is no table")
    return cast("dict[str, object]", value)


def read_rows(data: Json, key: str, read: Callable[[Json], Row]) -> tuple[Row, ...]:
    """Each table of the list under `key`, read by `read`; an error names the row."""
    rows: list[Row] = []
    for number, row in enumerate(read_list(data, key)):
        if not isinstance(row, dict):
            raise ValueError(f"row {number} of {key!r} is no table")
        try:
            rows.append(read(cast("dict[str, object]", row)))
        except ValueError as error:
            raise ValueError(f"row {number} of {key!r}: {error}") from error
    return tuple(rows)
