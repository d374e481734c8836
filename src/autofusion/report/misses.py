"""The near misses of a report as diagnostics."""

from __future__ import annotations

from autofusion.diagnostics import Diagnostic, Severity, Span
from autofusion.report.records import FusionReport, MissedNode


def explain_misses(report: FusionReport) -> tuple[Diagnostic, ...]:
    """One note (AF301 to AF304) for each miss, in the order of the report."""
    return tuple(map(_explain, report.misses))


def _explain(miss: MissedNode) -> Diagnostic:
    path, _, line = miss.place.rpartition(":")
    bound = ", ".join(f"{name} -> {node}" for name, node in miss.bound.items())
    return Diagnostic(
        miss.number,
        miss.sentence or miss.message,
        help=miss.help,
        notes=tuple(note for note in (miss.text, bound and f"bound: {bound}", miss.message) if note),
        span=Span(path, int(line)) if path and line.isdecimal() else None,
        severity=Severity.NOTE,
    )
