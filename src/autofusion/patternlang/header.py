"""TOML document -> Pattern: types and ranges of the header fields, and the texts inside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TypeVar, cast

from autofusion.diagnostics import Diagnostic
from autofusion.errors import PatternError
from autofusion.patternlang.clauses import parse_clause, parse_source
from autofusion.patternlang.document import Document, KeyPath
from autofusion.patternlang.findings import report_unknown
from autofusion.patternlang.graphtext import parse_form
from autofusion.patternlang.lexer import Source
from autofusion.patternlang.model import Clause, Emission, Form, Pattern, Reference, Scalar, Subject, Template
from autofusion.patternlang.templates import parse_template
from autofusion.patternlang.vocabulary import KERNELS

SCHEMA = 1
"""The version of the file format."""

LEVELS = (1, 2, 3)
STAGES = (1, 2)

T = TypeVar("T")

FIELDS: Mapping[str, type] = {
    "schema": int,
    "name": str,
    "summary": str,
    "display": str,
    "op": str,
    "kernel": str,
    "level": int,
    "benefit": int,
    "stage": int,
    "where": list,
    "escape": list,
    "form": list,
    "spelling": dict,
    "emit": dict,
}
_EMIT_FIELDS: Mapping[str, type] = {"op": str, "inputs": list, "attrs": dict, "ones": list, "flat": list}
_TYPE_NAMES: Mapping[type, str] = {
    int: "an integer",
    str: "a string",
    list: "an array",
    dict: "a table",
}


@dataclass(frozen=True)
class Reading:
    """What reading a file gave: the pattern unless there are findings."""

    pattern: Pattern | None
    findings: tuple[Diagnostic, ...]


def read_pattern(document: Document) -> Reading:
    """The pattern that `document` describes, or every header and syntax fault (AF402, AF403, AF408)."""
    reader = _HeaderReader(document)
    pattern = reader.read()
    return Reading(None if reader.findings else pattern, tuple(reader.findings))


class _HeaderReader:
    """Reads one document and collects what is wrong instead of stopping at the first fault."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.findings: list[Diagnostic] = []

    def read(self) -> Pattern:
        self._check_fields((), self._document.data, FIELDS)
        is_normal = "emit" in self._document.data
        if self._number("schema", SCHEMA) != SCHEMA:
            self._report(f"schema is {self._number('schema', SCHEMA)}, this version reads {SCHEMA}", "schema")
        self._require("schema", "name", "summary", "form", *(() if is_normal else ("display", "op", "kernel")))
        if is_normal:
            self._forbid("op", "kernel", "stage", "escape")
        forms = self._forms()
        names = [name for form in forms for name in (*form.by_name, *form.values)]
        emission = self._emission() if is_normal else None
        fallback = emission.op if emission is not None else ""
        return Pattern(
            name=self._name(),
            summary=self._text("summary"),
            display=self._template("display", names, fallback),
            op=self._template("op", names, fallback),
            kernel=self._kernel(forms),
            level=self._choice("level", LEVELS),
            benefit=self._benefit(),
            stage=0 if is_normal else self._choice("stage", STAGES),
            where=self._clauses(),
            escape=self._escape(),
            forms=forms,
            spelling=self._spelling(),
            span=self._document.span("name"),
            emission=emission,
            path=self._document.path,
        )

    def _report(self, message: str, *path: str | int, advice: str = "") -> None:
        self.findings.append(Diagnostic("AF402", message, help=advice, span=self._document.span(*path)))

    def _check_fields(self, path: KeyPath, table: Mapping[str, object], known: Mapping[str, type]) -> None:
        for key, value in table.items():
            if key not in known:
                self._report(f"unknown field {key!r}", *path, key, advice=f"known are {', '.join(known)}")
            elif type(value) is not known[key]:
                self._report(f"{key} must be {_TYPE_NAMES[known[key]]}", *path, key)

    def _require(self, *keys: str) -> None:
        for key in keys:
            if key not in self._document.data:
                self._report(f"field {key!r} is missing", key)

    def _forbid(self, *keys: str) -> None:
        for key in keys:
            if key in self._document.data:
                self._report(f"a pattern with [emit] has no field {key!r}", key)

    def _field(self, key: str, kind: type[T], fallback: T) -> T:
        value = self._document.data.get(key)
        return value if isinstance(value, kind) else fallback

    def _text(self, key: str) -> str:
        return self._field(key, str, "")

    def _number(self, key: str, fallback: int) -> int:
        return self._field(key, int, fallback)

    def _choice(self, key: str, choices: tuple[int, ...]) -> int:
        value = self._number(key, choices[0])
        if value not in choices:
            self._report(f"{key} is {value}, not {' or '.join(map(str, choices))}", key)
        return value

    def _benefit(self) -> int:
        value = self._number("benefit", 0)
        if value < 0:
            self._report(f"benefit is {value}, it cannot be negative", "benefit")
        return value

    def _name(self) -> str:
        name, stem = self._text("name"), PurePath(self._document.path).stem
        if "name" in self._document.data and not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            self._report(f"name {name!r} is not in snake case", "name")
        elif name and name != stem:
            self._report(f"name {name!r} differs from the file's name {stem!r}", "name")
        return name

    def _kernel(self, forms: Sequence[Form]) -> str:
        """The kernel word, which must be one that is known and able to compute what every form begins with."""
        kernel = self._text("kernel")
        if not kernel and "kernel" not in self._document.data:
            return kernel
        if kernel not in KERNELS:
            known = report_unknown(
                "AF402", f"unknown kernel {kernel!r}", kernel, KERNELS, self._document.span("kernel")
            )
            self.findings.append(replace(known, help=f"{known.help} known are {', '.join(KERNELS)}".strip()))
            return kernel
        beginnings = KERNELS[kernel]
        for key in (key for form in forms for key in form.anchor.keys):
            if beginnings and key not in beginnings:
                fitting = next((word for word, operators in KERNELS.items() if key in operators), "chain")
                message = f"kernel {kernel!r} computes {' and '.join(beginnings)}, the form begins with {key}"
                self._report(message, "kernel", advice=f'write kernel = "{fitting}"')
                break
        return kernel

    def _forms(self) -> tuple[Form, ...]:
        forms: list[Form] = []
        tables = self._field("form", cast(type[list[object]], list), [])
        if "form" in self._document.data and not tables:
            self._report("a pattern needs at least one [[form]]", "form")
        for place, table in enumerate(tables):
            if not isinstance(table, dict):
                self._report("a form is a table: [[form]]", "form")
                continue
            fields = cast(dict[str, object], table)
            self._check_fields(("form", place), fields, {"match": str})
            text = fields.get("match")
            if not isinstance(text, str):
                if "match" not in fields:
                    self._report("field 'match' is missing", "form", place)
            elif not self._document.is_block("form", place, "match"):
                self._report("match must be written as a ''' block", "form", place, "match")
            else:
                source = self._document.source(text, "form", place, "match")
                forms += self._collect(lambda source=source: parse_form(source))
        return tuple(forms)

    def _template(self, key: str, names: list[str], fallback: str) -> Template:
        text = self._text(key)
        source = self._document.source(text, key) if text else Source(fallback, self._document.span("emit", "op"))
        found = [*self._collect(lambda: parse_template(source, names))]
        return found[0] if found else Template(text, (), self._document.span(key))

    def _clauses(self) -> tuple[Clause, ...]:
        sources = self._strings("where")
        return tuple(clause for source in sources for clause in self._collect(lambda s=source: parse_clause(s)))

    def _escape(self) -> tuple[Reference, ...]:
        return tuple(Reference(source.text, False, source.start) for source in self._strings("escape"))

    def _strings(self, *path: str) -> list[Source]:
        """The strings of an array, which is at the top or in the table [emit]."""
        *tables, last = path
        table = self._document.data
        for key in tables:
            inner = table.get(key)
            table = cast(dict[str, object], inner) if isinstance(inner, dict) else {}
        found = table.get(last, [])
        sources: list[Source] = []
        for place, item in enumerate(cast(list[object], found) if isinstance(found, list) else []):
            if isinstance(item, str):
                sources.append(self._document.item_source(place, item, *path))
            else:
                self._report(f"{path[-1]} must hold strings", *path)
        return sources

    def _spelling(self) -> Mapping[str, str]:
        table = self._field("spelling", cast(type[dict[str, object]], dict), {})
        for key, value in table.items():
            if not isinstance(value, str):
                self._report(f"the spelling of {key} must be a string", "spelling", key)
        return {key: value for key, value in table.items() if isinstance(value, str)}

    def _emission(self) -> Emission:
        table = self._field("emit", cast(type[dict[str, object]], dict), {})
        self._check_fields(("emit",), table, _EMIT_FIELDS)
        for key in ("op", "inputs"):
            if key not in table:
                self._report(f"field {key!r} of [emit] is missing", "emit")
        op = table.get("op")
        attributes: dict[str, Subject | Scalar] = {}
        raw = table.get("attrs")
        for key, value in cast(dict[str, object], raw).items() if isinstance(raw, dict) else ():
            if isinstance(value, str):
                source = self._document.source(value, "emit", "attrs", key)
                attributes.update((key, found) for found in self._collect(lambda s=source: parse_source(s)))
            elif isinstance(value, int | float) and not isinstance(value, bool):
                attributes[key] = value
            else:
                self._report(f'attribute {key} must be a number or a string such as "bn.epsilon"', "emit", "attrs", key)
        inputs, ones, flat = (
            tuple(source.text for source in self._strings("emit", key)) for key in ("inputs", "ones", "flat")
        )
        span = self._document.span("emit")
        return Emission(op if isinstance(op, str) else "", inputs, attributes, span, frozenset(ones), frozenset(flat))

    def _collect(self, parse: Callable[[], T]) -> Iterator[T]:
        """What `parse` gives, or nothing and one more finding."""
        try:
            yield parse()
        except PatternError as error:
            self.findings.append(error.diagnostic)
