"""The near misses of a report as diagnostics."""

from __future__ import annotations

from collections.abc import Iterable

from autofusion.diagnostics import Diagnostic, Severity, Span
from autofusion.report.records import FusionReport, MissedNode


def explain_misses(report: FusionReport) -> tuple[Diagnostic, ...]:
    """One note (AF301 to AF304) for each miss, in the order of the report."""
    return tuple(map(explain_miss, report.misses))


def explain_miss(miss: MissedNode) -> Diagnostic:
    """The miss as a note, AF301 to AF304."""
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


def group_misses(misses: Iterable[MissedNode]) -> list[list[MissedNode]]:
    """Misses of one fusion with the same code at the same statement together, the most frequent ones first."""
    groups: dict[tuple[str, str, str], list[MissedNode]] = {}
    for miss in misses:
        groups.setdefault((miss.pattern, miss.code, miss.place), []).append(miss)
    return [group for _, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))]
