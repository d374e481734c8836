"""The fields of a TOML document, read one by one; what is wrong with them is collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar, cast

from autofusion.diagnostics import Diagnostic
from autofusion.errors import PatternError
from autofusion.patternlang.document import Document, KeyPath
from autofusion.patternlang.lexer import Source

T = TypeVar("T")

_TYPE_NAMES: Mapping[type, str] = {
    int: "an integer",
    str: "a string",
    list: "an array",
    dict: "a table",
}


class FieldReader:
    """Reads one document and collects what is wrong instead of stopping at the first fault."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.findings: list[Diagnostic] = []

    def report(self, message: str, *path: str | int, advice: str = "") -> None:
        """Add the finding AF402 at the key `path`."""
        self.findings.append(Diagnostic("AF402", message, help=advice, span=self.document.span(*path)))

    def check_fields(self, path: KeyPath, table: Mapping[str, object], known: Mapping[str, type]) -> None:
        """Report the keys of the table at `path` that are not `known` or whose values are of another type."""
        for key, value in table.items():
            if key not in known:
                self.report(f"unknown field {key!r}", *path, key, advice=f"known are {', '.join(known)}")
            elif type(value) is not known[key]:
                self.report(f"{key} must be {_TYPE_NAMES[known[key]]}", *path, key)

    def require(self, *keys: str) -> None:
        """Report those of the top-level `keys` that are missing."""
        for key in keys:
            if key not in self.document.data:
                self.report(f"field {key!r} is missing", key)

    def field(self, key: str, kind: type[T], fallback: T) -> T:
        """The top-level value `key`, `fallback` where it is missing or of another type."""
        value = self.document.data.get(key)
        return value if isinstance(value, kind) else fallback

    def text(self, key: str) -> str:
        """The string `key`, "" where there is none."""
        return self.field(key, str, "")

    def number(self, key: str, fallback: int) -> int:
        """The integer `key`."""
        return self.field(key, int, fallback)

    def choice(self, key: str, choices: tuple[int, ...]) -> int:
        """The integer `key`, by default the first of `choices`; another one than those is reported."""
        value = self.number(key, choices[0])
        if value not in choices:
            self.report(f"{key} is {value}, not {' or '.join(map(str, choices))}", key)
        return value

    def strings(self, *path: str) -> list[Source]:
        """The strings of an array, which is at the top or in the table [emit]."""
        *tables, last = path
        table = self.document.data
        for key in tables:
            inner = table.get(key)
            table = cast(dict[str, object], inner) if isinstance(inner, dict) else {}
        found = table.get(last, [])
        sources: list[Source] = []
        for place, item in enumerate(cast(list[object], found) if isinstance(found, list) else []):
            if isinstance(item, str):
                sources.append(self.document.item_source(place, item, *path))
            else:
                self.report(f"{path[-1]} must hold strings", *path)
        return sources

    def collect(self, parse: Callable[[], T]) -> Iterator[T]:
        """What `parse` gives, or nothing and one more finding."""
        try:
            yield parse()
        except PatternError as error:
            self.findings.append(error.diagnostic)
