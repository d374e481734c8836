"""Findings in files: their order, and the one for a name that nothing has, with the names it may be meant for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from autofusion.diagnostics import Diagnostic, Span


def report_unknown(code: str, message: str, name: str, known: Iterable[str], span: Span) -> Diagnostic:
    """A finding at `span` whose help lists the closest of the `known` names."""
    close = difflib.get_close_matches(name, sorted(set(known)), n=3)
    return Diagnostic(code, message, help=f"did you mean {', '.join(close)}?" if close else "", span=span)


def place_of(finding: Diagnostic) -> tuple[int, int]:
    """Line and column of a finding, 0 where it has none."""
    return (finding.span.line, finding.span.column) if finding.span is not None else (0, 0)
