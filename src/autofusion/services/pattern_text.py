"""Patterns and declared operators as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from autofusion.services.patterns import LEVELS, OperatorRow, PatternList, PatternRow

SHOWN = 12
"""Names of one pattern that are listed before the rest is only counted."""


def render_list(patterns: PatternList) -> str:
    """The levels, then two or three lines for each pattern and each declared operator."""
    lines = [f"level {level}: {text}" for level, text in LEVELS.items()]
    for kind in dict.fromkeys(row.kind for row in patterns.patterns):
        rows = [row for row in patterns.patterns if row.kind == kind]
        lines += ["", f"{_PLURALS.get(kind, kind)} ({len(rows)})"]
        for row in rows:
            lines += [f"  {_head(row)}", f"      {row.summary}"]
            lines += [f"      CANN: {', '.join(row.cann)}"] if row.cann else []
            lines += [f"      not in CANN, called {row.own_passes[0]}"] if len(row.own_passes) == 1 else []
    if patterns.operators:
        lines += ["", f"declared operators ({len(patterns.operators)})"]
        for operator in patterns.operators:
            lines += [f"  {_signature(operator)}", f"      {operator.summary}"]
    return "\n".join(lines) + "\n"


def render_row(row: PatternRow) -> str:
    """Everything about one pattern."""
    lines = [
        _head(row),
        f"  {row.summary}",
        f"  {row.kind}, level {row.level}: {LEVELS[row.level]}",
        f"  file: {row.path}",
    ]
    lines += _wrap("names in reports", row.displays)
    lines += _wrap("operators", row.ops)
    lines += _wrap("passes of CANN", row.cann)
    lines += _wrap("not in CANN, called", row.own_passes)
    return "\n".join(lines) + "\n"


_PLURALS = {"normal form": "normal forms", "fusion, stage 1": "fusions, stage 1", "fusion, stage 2": "fusions, stage 2"}


def _head(row: PatternRow) -> str:
    """Name, level, and what it makes."""
    return f"{row.name}  level {row.level}  {row.display} -> {row.op}"


def _signature(operator: OperatorRow) -> str:
    attributes = f"<{', '.join(operator.attributes)}>" if operator.attributes else ""
    return f"{operator.name} {attributes}({', '.join(operator.inputs)}) by {operator.meaning}, {operator.path}"


def _wrap(label: str, names: tuple[str, ...]) -> Iterator[str]:
    if not names:
        return
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    yield f"  {label}: {', '.join(names[:SHOWN])}{more}"
