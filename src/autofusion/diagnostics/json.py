"""A diagnostic as JSON for machines."""

from __future__ import annotations

import json

from autofusion.diagnostics.model import Diagnostic


def render_json(diagnostic: Diagnostic) -> str:
    """The diagnostic as one line of JSON with a final line break."""
    return json.dumps(describe(diagnostic), ensure_ascii=False) + "\n"


def describe(diagnostic: Diagnostic) -> dict[str, object]:
    """The diagnostic as plain JSON values under stable keys; `place` is null where none is known."""
    span = diagnostic.span
    place = None if span is None else {"path": span.path, "line": span.line, "column": span.column}
    return {
        "severity": diagnostic.severity.value,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "place": place,
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
    }
