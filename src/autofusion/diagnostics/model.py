"""Diagnostics as values: what went wrong, where, and what to do; rendering lives in the sibling modules."""

from __future__ import annotations

from enum import Enum

from autofusion.record import Record


class Severity(Enum):
    """How much a diagnostic weighs; `ERROR` alone ends the work."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Span(Record):
    """A place in a text file; `line` and `column` count from 1, 0 means unknown."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.path, *(str(n) for n in (self.line, self.column) if n)])


class Diagnostic(Record):
    """One finding: a code from `diagnostics.codes`, a lower-case sentence, notes and a remedy.

    `message` names the node and the value at fault and ends without a full stop.
    """

    code: str
    message: str
    help: str = ""
    notes: tuple[str, ...] = ()
    span: Span | None = None
    severity: Severity = Severity.ERROR
