"""TOML document -> Pattern: types and ranges of the header fields, and the texts inside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import cast

from autofusion.diagnostics import Diagnostic
from autofusion.patternlang.clauses import parse_clause, parse_source
from autofusion.patternlang.document import Document
from autofusion.patternlang.fields import FieldReader
from autofusion.patternlang.findings import report_unknown
from autofusion.patternlang.graphtext import read_form
from autofusion.patternlang.lexer import Source
from autofusion.patternlang.model import (
    Clause,
    Emission,
    Form,
    Pattern,
    Reference,
    Scalar,
    Statement,
    Subject,
    Template,
)
from autofusion.patternlang.templates import parse_template
from autofusion.patternlang.vocabulary import KERNELS, PASSES

SCHEMA = 1
"""The version of the file format."""

LEVELS = (1, 2, 3)
STAGES = (1, 2)

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
    "pass": str,
    "wraps": list,
    "form": list,
    "spelling": dict,
    "emit": dict,
}
_EMIT_FIELDS: Mapping[str, type] = {"op": str, "inputs": list, "attrs": dict, "ones": list, "flat": list}


@dataclass(frozen=True)
class Reading:
    """What reading a file gave: the pattern, as far as it could be read, and what is wrong with the file.

    With `has_forms` every form was read, so that names which none of them binds are known for certain; `broken` are
    the statements that could be read of the forms with others that could not.
    """

    pattern: Pattern | None
    findings: tuple[Diagnostic, ...]
    has_forms: bool = False
    broken: tuple[Statement, ...] = ()


def read_pattern(document: Document) -> Reading:
    """The pattern that `document` describes, with every header and syntax fault (AF402, AF403, AF408)."""
    reader = _HeaderReader(document)
    pattern = reader.read()
    return Reading(pattern, tuple(reader.findings), reader.has_forms, tuple(reader.broken))


class _HeaderReader(FieldReader):
    """Reads one pattern."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self.has_forms = False
        self.broken: list[Statement] = []

    def read(self) -> Pattern:
        self.check_fields((), self.document.data, FIELDS)
        is_normal, is_pass = "emit" in self.document.data, "pass" in self.document.data
        if self.number("schema", SCHEMA) != SCHEMA:
            self.report(f"schema is {self.number('schema', SCHEMA)}, this version reads {SCHEMA}", "schema")
        needed = (
            ("form",) if is_normal else ("display", "op", "kernel") if is_pass else ("form", "display", "op", "kernel")
        )
        self.require("schema", "name", "summary", *needed)
        if is_normal:
            self._forbid("[emit]", "op", "kernel", "stage", "escape", "pass", "wraps")
        elif is_pass:
            self._forbid("a pass", "form", "where", "escape", "spelling")
        else:
            self._forbid("forms", "wraps")
        forms = self._forms()
        names = [name for form in forms for name in (*form.by_name, *form.values)]
        faults = len(self.findings)
        emission = self._emission() if is_normal else None
        fallback = emission.op if emission is not None else ""
        # What a faulty [emit] leaves out would be missed again by every check that follows names.
        emission = emission if len(self.findings) == faults else None
        return Pattern(
            name=self._name(),
            summary=self.text("summary"),
            display=self._template("display", names, fallback),
            op=self._template("op", names, fallback),
            kernel=self._kernel(forms),
            level=self.choice("level", LEVELS),
            benefit=self._benefit(),
            stage=0 if is_normal else self.choice("stage", STAGES),
            where=self._clauses(),
            escape=self._escape(),
            forms=forms,
            spelling=self._spelling(),
            span=self.document.span("name"),
            emission=emission,
            path=self.document.path,
            pass_name=self._pass(),
            wraps=tuple(Reference(source.text, False, source.start) for source in self.strings("wraps")),
        )

    def _forbid(self, kind: str, *keys: str) -> None:
        for key in keys:
            if key in self.document.data:
                path = (key, 0) if key == "form" else (key,)
                self.report(f"a pattern with {kind} has no field {key!r}", *path)

    def _pass(self) -> str:
        """The pass, which must be one that is known; such a file has all its forms."""
        name = self.text("pass")
        if "pass" not in self.document.data:
            return ""
        self.has_forms = True
        if name not in PASSES:
            self.findings.append(
                report_unknown("AF402", f"unknown pass {name!r}", name, PASSES, self.document.span("pass"))
            )
        return name

    def _benefit(self) -> int:
        value = self.number("benefit", 0)
        if value < 0:
            self.report(f"benefit is {value}, it cannot be negative", "benefit")
        return value

    def _name(self) -> str:
        name, stem = self.text("name"), PurePath(self.document.path).stem
        if "name" in self.document.data and not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            self.report(f"name {name!r} is not in snake case", "name")
        elif name and name != stem:
            self.report(f"name {name!r} differs from the file's name {stem!r}", "name")
        return name

    def _kernel(self, forms: Sequence[Form]) -> str:
        """The kernel word, which must be one that is known and able to compute what every form begins with."""
        kernel = self.text("kernel")
        if not kernel and "kernel" not in self.document.data:
            return kernel
        if kernel not in KERNELS:
            known = report_unknown("AF402", f"unknown kernel {kernel!r}", kernel, KERNELS, self.document.span("kernel"))
            self.findings.append(known._replace(help=f"{known.help} known are {', '.join(KERNELS)}".strip()))
            return kernel
        beginnings = KERNELS[kernel]
        for key in (key for form in forms for key in form.anchor.keys):
            if beginnings and key not in beginnings:
                fitting = next((word for word, operators in KERNELS.items() if key in operators), "chain")
                message = f"kernel {kernel!r} computes {', '.join(beginnings)}, the form begins with {key}"
                self.report(message, "kernel", advice=f'write kernel = "{fitting}"')
                break
        return kernel

    def _forms(self) -> tuple[Form, ...]:
        forms: list[Form] = []
        faults = len(self.findings)
        tables = self.field("form", cast(type[list[object]], list), [])
        if "form" in self.document.data and not tables:
            self.report("a pattern needs at least one [[form]]", "form")
        for place, table in enumerate(tables):
            if not isinstance(table, dict):
                self.report("a form is a table: [[form]]", "form")
                continue
            fields = cast(dict[str, object], table)
            self.check_fields(("form", place), fields, {"match": str})
            text = fields.get("match")
            if not isinstance(text, str):
                if "match" not in fields:
                    self.report("field 'match' is missing", "form", place)
            elif not self.document.is_block("form", place, "match"):
                self.report("match must be written as a ''' block", "form", place, "match")
            else:
                form, found = read_form(self.document.source(text, "form", place, "match"))
                self.findings += found
                if found:
                    self.broken += form.statements
                else:
                    forms.append(form)
        self.has_forms = bool(forms) and len(self.findings) == faults
        return tuple(forms)

    def _template(self, key: str, names: list[str], fallback: str) -> Template:
        text = self.text(key)
        source = self.document.source(text, key) if text else Source(fallback, self.document.span("emit", "op"))
        found = [*self.collect(lambda: parse_template(source, names))]
        return found[0] if found else Template(text, (), self.document.span(key))

    def _clauses(self) -> tuple[Clause, ...]:
        sources = self.strings("where")
        return tuple(clause for source in sources for clause in self.collect(lambda s=source: parse_clause(s)))

    def _escape(self) -> tuple[Reference, ...]:
        return tuple(Reference(source.text, False, source.start) for source in self.strings("escape"))

    def _spelling(self) -> Mapping[str, str]:
        table = self.field("spelling", cast(type[dict[str, object]], dict), {})
        for key, value in table.items():
            if not isinstance(value, str):
                self.report(f"the spelling of {key} must be a string", "spelling", key)
        return {key: value for key, value in table.items() if isinstance(value, str)}

    def _emission(self) -> Emission:
        table = self.field("emit", cast(type[dict[str, object]], dict), {})
        self.check_fields(("emit",), table, _EMIT_FIELDS)
        for key in ("op", "inputs"):
            if key not in table:
                self.report(f"field {key!r} of [emit] is missing", "emit")
        op = table.get("op")
        attributes: dict[str, Subject | Scalar] = {}
        raw = table.get("attrs")
        for key, value in cast(dict[str, object], raw).items() if isinstance(raw, dict) else ():
            if isinstance(value, str):
                source = self.document.source(value, "emit", "attrs", key)
                attributes.update((key, found) for found in self.collect(lambda s=source: parse_source(s)))
            elif isinstance(value, int | float) and not isinstance(value, bool):
                attributes[key] = value
            else:
                self.report(f'attribute {key} must be a number or a string such as "bn.epsilon"', "emit", "attrs", key)
        inputs, ones, flat = (
            tuple(source.text for source in self.strings("emit", key)) for key in ("inputs", "ones", "flat")
        )
        span = self.document.span("emit")
        return Emission(op if isinstance(op, str) else "", inputs, attributes, span, frozenset(ones), frozenset(flat))
