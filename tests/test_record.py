"""Records are named tuples, as `typing.NamedTuple` makes them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from autofusion.record import Record


class Place(Record):
    """Where something lies."""

    row: int
    column: int = 2
    name: str = ""

    def __str__(self) -> str:
        return f"{self.row}:{self.column}"

    @property
    def area(self) -> int:
        """Both, multiplied."""
        return self.row * self.column


class Twin(NamedTuple):
    row: int
    column: int = 2
    name: str = ""


def test_records_are_named_tuples() -> None:
    assert Place._fields == Twin._fields == ("row", "column", "name")
    assert Place._field_defaults == Twin._field_defaults
    assert Place(3) == Twin(3) == (3, 2, "")
    assert Place(3)._replace(column=5)._asdict() == {"row": 3, "column": 5, "name": ""}
    assert repr(Place(3)) == "Place(row=3, column=2, name='')"
    assert Place._make((1, 2, "a")).name == "a"


def test_records_keep_what_their_class_has() -> None:
    assert Place.__doc__ == "Where something lies."
    assert (Place.__module__, Place.__qualname__) == (__name__, "Place")
    assert str(Place(3)) == "3:2"
    assert Place(3).area == 6
    with pytest.raises(AttributeError):
        Place(3).row = 4
    with pytest.raises(TypeError):
        Place()
