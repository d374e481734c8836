"""A diagnostic as text for people: headline, place, notes, remedy."""

from __future__ import annotations

from autofusion.diagnostics.model import Diagnostic, Severity


def render_text(diagnostic: Diagnostic, *, color: bool = False, headline: str = "") -> str:
    """The diagnostic with a final line break, with ANSI colours where `color` says so.

    `headline` takes the place of the usual `error[AF101]` before the message.
    """
    paint = _paint if color else _plain
    head = headline or f"{diagnostic.severity.value}[{diagnostic.code}]"
    lines = [f"{paint(head, _COLORS[diagnostic.severity])}{paint(f': {diagnostic.message}', _BOLD)}"]
    if diagnostic.span is not None:
        lines.append(f" {paint('-->', _BLUE)} {diagnostic.span}")
    for note in diagnostic.notes:
        lines.append(_labelled("note", note))
    if diagnostic.help:
        lines.append(_labelled("help", diagnostic.help))
    return "\n".join(lines) + "\n"


def _labelled(label: str, text: str) -> str:
    first, *rest = text.splitlines() or [""]
    indent = " " * len(f"  = {label}: ")
    return "\n".join([f"  = {label}: {first}", *(f"{indent}{line}".rstrip() for line in rest)])


_BOLD, _BLUE = "1", "1;34"
_COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}


def _paint(text: str, color: str) -> str:
    return f"\x1b[{color}m{text}\x1b[0m"


def _plain(text: str, color: str) -> str:
    return text
