"""Canonical JSON, and typed access to the fields of JSON objects that may be damaged."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from itertools import chain
from typing import TypeVar, cast

from autofusion.plan.records import Size

T = TypeVar("T")

ABSENT = -1
"""The number of an operand that is absent."""

_NONE = type(None)


def format_json(value: object) -> str:
    """Canonical JSON: ASCII, sorted keys, no spaces; raises ValueError for infinite numbers and NaN."""
    return json.dumps(value, allow_nan=False, sort_keys=True, separators=(",", ":"))


def parse_json(text: str | bytes) -> object:
    """The value of a JSON text; raises ValueError also for a key that occurs twice and for nesting past all reason."""
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


class Fields:
    """The fields of one JSON object; `place` says where it stands.

    Raises ValueError, naming the place, where `value` is no object or its keys are not exactly
    `names`; the verbs raise it where a field has another type than they read.
    """

    def __init__(self, place: str, value: object, names: tuple[str, ...]) -> None:
        self.place = place
        self.fields = cast(dict[str, object], _expect(dict, value, place))
        if set(names) != set(self.fields):
            wrong = ", ".join(sorted(set(names) ^ set(self.fields)))
            raise ValueError(f"{place} lacks or should not have: {wrong:.200}")

    def text(self, name: str) -> str:
        """A string."""
        return _expect(str, self.fields[name], f"{self.place}.{name}")

    def optional_text(self, name: str) -> str | None:
        """A string or null."""
        return None if self.fields[name] is None else self.text(name)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of the strings `choices`."""
        text = self.text(name)
        if text not in choices:
            raise ValueError(f"{self.place}.{name} is {text!r:.40}, not one of {', '.join(choices)}")
        return text

    def number(self, name: str) -> int:
        """An integer."""
        return _expect(int, self.fields[name], f"{self.place}.{name}")

    def flag(self, name: str) -> bool:
        """True or false."""
        return _expect(bool, self.fields[name], f"{self.place}.{name}")

    def optional_number(self, name: str) -> int | None:
        """An integer or null."""
        return None if self.fields[name] is None else self.number(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        return tuple(_expect(str, item, f"{self.place}.{name}") for item in self.items(name))

    def numbers(self, name: str) -> tuple[int, ...]:
        """A list of integers."""
        return tuple(_expect(int, item, f"{self.place}.{name}") for item in self.items(name))

    def sizes(self, name: str) -> tuple[Size, ...]:
        """A list of extents: integers and size texts."""
        return tuple(
            item if isinstance(item, str) else _expect(int, item, f"{self.place}.{name}") for item in self.items(name)
        )

    def optional_sizes(self, name: str) -> tuple[Size, ...] | None:
        """A list of extents or null."""
        return None if self.fields[name] is None else self.sizes(name)

    def object(self, name: str) -> dict[str, object]:
        """An object with any keys."""
        return cast(dict[str, object], _expect(dict, self.fields[name], f"{self.place}.{name}"))

    def items(self, name: str) -> list[object]:
        """A list of anything."""
        return cast(list[object], _expect(list, self.fields[name], f"{self.place}.{name}"))

    def size_lists(self, name: str) -> list[tuple[Size, ...]]:
        """A list of lists of extents."""
        lists: list[tuple[Size, ...]] = []
        for index, value in enumerate(self.items(name)):
            items = cast(list[Size], _expect(list, value, f"{self.place}.{name}[{index}]"))
            wrong = next((item for item in items if type(item) not in (int, str)), None)
            if wrong is not None:
                raise _wrong_type(f"{self.place}.{name}[{index}]", wrong, {int, str})
            lists.append(tuple(items))
        return lists

    def objects(self, name: str) -> list[dict[str, object]]:
        """A list of objects with any keys."""
        return [
            cast(dict[str, object], _expect(dict, value, f"{self.place}.{name}[{index}]"))
            for index, value in enumerate(self.items(name))
        ]

    def records(self, name: str, names: tuple[str, ...]) -> list[Fields]:
        """A list of objects that have exactly the keys `names`."""
        return [Fields(f"{self.place}.{name}[{index}]", item, names) for index, item in enumerate(self.items(name))]


class Table:
    """A JSON object of columns: lists of one length under exactly the keys `names`; a plan has thousands of fields.

    `place` says where the object stands.  Raises ValueError, naming the place, as `Fields` does.
    """

    def __init__(self, place: str, value: object, names: tuple[str, ...]) -> None:
        self.place = place
        fields = Fields(place, value, names)
        self._columns = {name: fields.items(name) for name in names}
        self.rows = len(self._columns[names[0]])
        for name, column in self._columns.items():
            if len(column) != self.rows:
                raise ValueError(f"{place}.{name} has {len(column)} items, {place}.{names[0]} has {self.rows}")

    def texts(self, name: str) -> list[str]:
        """A column of strings."""
        return cast(list[str], self._read(name, {str}))

    def choices(self, name: str, choices: Collection[str]) -> list[str]:
        """A column of strings that are in `choices`."""
        column = self.texts(name)
        if not set(column) <= set(choices):
            index, text = next((index, text) for index, text in enumerate(column) if text not in choices)
            raise ValueError(f"{self.place}.{name}[{index}] is {text!r:.40}, not one of {', '.join(choices)}")
        return column

    def numbers(self, name: str) -> list[int]:
        """A column of integers."""
        return cast(list[int], self._read(name, {int}))

    def optional_numbers(self, name: str) -> list[int | None]:
        """A column of integers and nulls."""
        return cast("list[int | None]", self._read(name, {int, _NONE}))

    def tuples(self, name: str, *kinds: type) -> list[tuple[object, ...]]:
        """A column of lists whose items are of one of `kinds`."""
        column = cast(list[list[object]], self._read(name, {list}))
        return [tuple(items) for items in self._check_items(name, column, set(kinds))]

    def entry_lists(self, name: str, texts: list[str]) -> list[tuple[str, ...]]:
        """A column of lists of numbers of `texts`, `ABSENT` for "": the texts."""
        column = cast(list[tuple[int, ...]], self.tuples(name, int))
        allowed = range(ABSENT, len(texts))
        if not all(number in allowed for number in set(chain.from_iterable(column))):
            index, wrong = next(
                (index, item) for index, items in enumerate(column) for item in items if item not in allowed
            )
            raise self._unknown_entry(f"{name}[{index}]", wrong, texts)
        # The last one has the number -1 as well.
        known = [*texts, ""]
        return [tuple([known[number] for number in numbers]) for numbers in column]

    def entries(self, name: str, entries: Sequence[T]) -> list[T]:
        """A column of numbers of `entries`: those."""
        column = self.numbers(name)
        self._check_entries(name, column, entries)
        return [entries[number] for number in column]

    def optional_entries(self, name: str, entries: Sequence[T]) -> list[T | None]:
        """A column of numbers of `entries` and nulls: those."""
        column = self.optional_numbers(name)
        self._check_entries(name, column, entries)
        return [None if number is None else entries[number] for number in column]

    def _check_entries(self, name: str, column: Sequence[int | None], entries: Sequence[object]) -> None:
        allowed = range(len(entries))
        for index, number in enumerate(column):
            if number is not None and number not in allowed:
                raise self._unknown_entry(f"{name}[{index}]", number, entries)

    def _unknown_entry(self, place: str, number: int, entries: Sequence[object]) -> ValueError:
        return ValueError(f"{self.place}.{place} is {number}, and there are {len(entries)} of them")

    def _read(self, name: str, kinds: set[type]) -> list[object]:
        column = self._columns[name]
        if not set(map(type, column)) <= kinds:
            index, value = next((index, value) for index, value in enumerate(column) if type(value) not in kinds)
            raise _wrong_type(f"{self.place}.{name}[{index}]", value, kinds)
        return column

    def _check_items(self, name: str, column: list[list[object]], kinds: set[type]) -> list[list[object]]:
        if not set(map(type, chain.from_iterable(column))) <= kinds:
            index, wrong = next(
                (index, item) for index, items in enumerate(column) for item in items if type(item) not in kinds
            )
            raise _wrong_type(f"{self.place}.{name}[{index}]", wrong, kinds)
        return column


def _wrong_type(place: str, value: object, kinds: set[type]) -> ValueError:
    names = " or ".join(sorted("null" if kind is _NONE else kind.__name__ for kind in kinds))
    return ValueError(f"{place} is {value!r:.40}, not of type {names}")


def _expect(kind: type[T], value: object, place: str) -> T:
    # bool is an int to isinstance, and no extent.
    if type(value) is not kind:
        raise ValueError(f"{place} is {value!r:.40}, not of type {kind.__name__}")
    return cast(T, value)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return record
