"""Reading the small files that say what may be fused, and refusing them with the line at fault."""

from __future__ import annotations

from pathlib import Path

from autofusion.diagnostics import Diagnostic, Span
from autofusion.errors import UsageError


def read_control_file(path: Path, kind: str, remedy: str) -> str:
    """The text of the file at `path`; raises UsageError AF218 where it is absent or empty, AF217 for binary."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        message = f"cannot read the {kind} {path.name!r}: {error.strerror}"
        raise UsageError(Diagnostic("AF218", message, help="name a file that exists")) from error
    except UnicodeDecodeError as error:
        raise malformed(path, kind, "it is no text in UTF-8", remedy) from error
    if not text.strip():
        raise UsageError(Diagnostic("AF218", f"the {kind} {path.name!r} is empty", help="name a file with content"))
    return text


def malformed(path: Path, kind: str, reason: str, remedy: str, line: int = 0) -> UsageError:
    """The error to raise for the content of a file, at its `line` where that is known."""
    message = f"the {kind} {path.name!r} cannot be used: {reason}"
    return UsageError(Diagnostic("AF217", message, help=remedy, span=Span(path.name, line) if line else None))
