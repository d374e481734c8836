"""A TOML file with the places of its keys and strings, which `tomllib` does not tell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from autofusion.diagnostics import Diagnostic, Span
from autofusion.errors import PatternError
from autofusion.patternlang.lexer import Source

KeyPath = tuple[str | int, ...]
"""Keys from the top of the file; a number is the place in an array of tables."""

_HEADER = re.compile(r"[ \t]*(?P<open>\[\[?)[ \t]*(?P<name>[\w.-]+)[ \t]*\]\]?")
_KEY = re.compile(r"[ \t]*(?P<quote>[\"']?)(?P<name>[\w-]+)(?P=quote)[ \t]*=[ \t]*")
_STRING = re.compile(r"(?P<comment>#[^\n]*)|\"(?P<basic>(?:[^\"\\\n]|\\.)*)\"|'(?P<literal>[^'\n]*)'")
_DECODE_PLACE = re.compile(r" ?\(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True)
class Document:
    """The parsed `data` of a file and where its keys and values stand in the `text`."""

    path: str
    text: str
    data: Mapping[str, object]
    _keys: Mapping[KeyPath, tuple[int, int, int]] = field(repr=False)

    def span(self, *path: str | int) -> Span:
        """The place of the key at `path`, of the nearest table around it, or of the file's first line."""
        while path:
            if path in self._keys:
                return self._place(self._keys[path][0])
            path = path[:-1]
        return Span(self.path, 1, 1)

    def is_block(self, *path: str | int) -> bool:
        """True where the value at `path` is written as a ''' block."""
        return path in self._keys and self.text.startswith("'''", self._keys[path][1])

    def source(self, text: str, *path: str | int) -> Source:
        """The string value `text` at `path` with the place of its first character."""
        if path not in self._keys:
            return Source(text, self.span(*path))
        start = self._keys[path][1]
        if self.text.startswith(("'''", '"""'), start):
            start += 3
            # TOML drops the line break right after the opening marks.
            start += len(re.compile(r"\r?\n|").match(self.text, start).group())  # pyright: ignore[reportOptionalMemberAccess]
            return Source(text, self._place(start))
        return Source(text, self._place(start + 1))

    def item_source(self, index: int, text: str, *path: str | int) -> Source:
        """The string `text` that is item `index` of the array at `path`, with the place of its first character."""
        if path not in self._keys:
            return Source(text, self.span(*path))
        _, start, end = self._keys[path]
        found = [match for match in _STRING.finditer(self.text, start, end) if match["comment"] is None]
        if index >= len(found):
            return Source(text, self.span(*path))
        return Source(text, self._place(found[index].start() + 1))

    def _place(self, offset: int) -> Span:
        line = self.text.count("\n", 0, offset) + 1
        return Span(self.path, line, offset - self.text.rfind("\n", 0, offset))


def read_document(text: str, path: str) -> Document:
    """`text` as TOML; raises PatternError AF401 with line and column where it is none."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _DECODE_PLACE.search(message)
        lines = text.split("\n")
        end = (len(lines), len(lines[-1]) + 1)
        span = Span(path, *(map(int, place.groups()) if place is not None and place[1] else end))
        clean = _DECODE_PLACE.sub("", message)
        raise PatternError(Diagnostic("AF401", f"no valid TOML: {clean[:1].lower()}{clean[1:]}", span=span)) from error
    return Document(path, text, data, dict(_find_keys(text)))


def _find_keys(text: str) -> Iterator[tuple[KeyPath, tuple[int, int, int]]]:
    """Every key path with the offsets of key, value and the value's end."""
    table: KeyPath = ()
    counts: dict[str, int] = {}
    open_key: tuple[KeyPath, int, int] | None = None
    offset = 0
    while offset < len(text):
        line_end = text.find("\n", offset) + 1 or len(text)
        header = _HEADER.match(text, offset, line_end)
        key = _KEY.match(text, offset, line_end)
        if (header is not None or key is not None) and open_key is not None:
            yield open_key[0], (open_key[1], open_key[2], offset)
            open_key = None
        if header is not None:
            name = header["name"]
            table = tuple(name.split("."))
            if header["open"] == "[[":
                counts[name] = counts.get(name, -1) + 1
                table = (*table, counts[name])
            yield table, (header.start("open"), header.end(), line_end)
        elif key is not None:
            path = (*table, key["name"])
            open_key = path, key.start("name"), key.end()
            yield from _inline_keys(text, path, key.end(), line_end)
            marks = text[key.end() : key.end() + 3]
            if marks in ("'''", '"""'):
                closing = text.find(marks, key.end() + 3)
                line_end = text.find("\n", closing) + 1 or len(text)
        offset = line_end
    if open_key is not None:
        yield open_key[0], (open_key[1], open_key[2], len(text))


def _inline_keys(text: str, path: KeyPath, start: int, end: int) -> Iterator[tuple[KeyPath, tuple[int, int, int]]]:
    """The keys of an inline table that is written on one line."""
    if not text.startswith("{", start):
        return
    for match in re.compile(r"[{,][ \t]*([\w-]+)[ \t]*=[ \t]*").finditer(text, start, end):
        yield (*path, match.group(1)), (match.start(1), match.end(), end)
