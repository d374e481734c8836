"""What goes to which stream: data to stdout, diagnostics to stderr, colours only where they are wanted."""

from __future__ import annotations

import os
import sys

import click

from autofusion.diagnostics import Diagnostic
from autofusion.diagnostics.json import render_json
from autofusion.diagnostics.text import render_text
from autofusion.report.misses import explain_misses
from autofusion.report.records import FusionReport


def show_data(text: str) -> None:
    """Write `text`, which brings its own line breaks, to stdout."""
    click.echo(text, nl=False)


def show_diagnostic(diagnostic: Diagnostic, *, as_json: bool = False, headline: str = "") -> None:
    """Write a diagnostic to stderr."""
    text = render_json(diagnostic) if as_json else render_text(diagnostic, color=_colored(), headline=headline)
    click.echo(text, nl=False, err=True, color=True)


def show_misses(report: FusionReport, *, as_json: bool = False) -> None:
    """Write every near miss of `report` to stdout as a note, in JSON one object a line."""
    notes = explain_misses(report)
    for note in notes:
        show_data(render_json(note) if as_json else f"{render_text(note)}\n")
    if not notes and not as_json:
        show_data("no fusion nearly happened\n")


def _colored() -> bool:
    """True where stderr is a terminal and nobody objects (https://no-color.org)."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
