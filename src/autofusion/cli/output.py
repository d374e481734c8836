"""What goes to which stream: data to stdout, diagnostics to stderr, colours only where they are wanted."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from autofusion.cann_passes import UNMATCHED
from autofusion.diagnostics import Diagnostic, Severity
from autofusion.diagnostics.codes import with_remedy
from autofusion.diagnostics.json import render_json
from autofusion.diagnostics.text import render_text
from autofusion.report.misses import explain_misses
from autofusion.report.records import FusionReport
from autofusion.report.wording import count

if TYPE_CHECKING:
    from autofusion.decisions import LayerChoice
    from autofusion.fusion import Controls
    from autofusion.tuning import Bank


_SHOWN = 5
"""Of the layers of a warning so many are shown."""


def show_data(text: str) -> None:
    """Write `text`, which brings its own line breaks, to stdout."""
    click.echo(text, nl=False)


def show_diagnostic(diagnostic: Diagnostic, *, as_json: bool = False, headline: str = "") -> None:
    """Write a diagnostic to stderr."""
    text = render_json(diagnostic) if as_json else render_text(diagnostic, color=_colored(), headline=headline)
    click.echo(text, nl=False, err=True, color=True)


def warn_of_passes(controls: Controls) -> None:
    """Write a warning to stderr for each pass of CANN without counterpart that `controls` name."""
    given = [*controls.disabled.items(), *(controls.whitelist or {}).items()]
    given += [(name, by) for by, states in controls.switches.items() for name in states]
    for name, by in given:
        if name in UNMATCHED:
            message = f"{by} names {name!r}, a pass of CANN that has no counterpart here"
            remedy = "leave it out, or name a fusion of this compiler"
            show_diagnostic(Diagnostic("AF216", message, help=remedy, severity=Severity.WARNING))


def warn_of_kept_types(mode: str, has_file: bool, option: str) -> None:
    """Write a warning to stderr where nodes are to keep their types and all of them do anyway."""
    if has_file and mode == "must_keep_origin_dtype":
        message = f"{option} has no effect: with precision mode must_keep_origin_dtype every node keeps its type"
        remedy = "choose another precision mode, or leave the file out"
        show_diagnostic(Diagnostic("AF206", message, help=remedy, severity=Severity.WARNING))


def warn_of_target(bank: Bank | None, option: str) -> None:
    """Write a warning to stderr where no choice of a tuning bank is for the instruction set that `option` names."""
    known = sorted({key.target for key in bank.choices}) if bank is not None else []
    if bank is not None and bank.target not in ("any", *known):
        message = f"{option} names {bank.target!r}, for which the tuning bank {bank.name!r} has no choices"
        remedy = f"it has choices for {', '.join(known)}" if known else "it has none at all"
        show_diagnostic(Diagnostic("AF233", message, help=remedy, severity=Severity.WARNING))


def warn_of_bank(report: FusionReport) -> None:
    """Write a warning to stderr for the choices of a tuning bank that were not possible."""
    refused: dict[str, list[LayerChoice]] = {}
    for layer in report.layers:
        if layer.refused:
            refused.setdefault(layer.layer, []).append(layer)
    if report.bank is None or not refused:
        return
    shown = [*refused.values()][:_SHOWN]
    notes = [f"{_spell_nodes(equal)}: {equal[0].refused}" for equal in shown]
    notes += [f"and {len(refused) - _SHOWN} more"] if len(refused) > _SHOWN else []
    message = f"choices of the tuning bank {report.bank.name!r} were not taken: {report.bank.refused}"
    show_diagnostic(with_remedy(Diagnostic("AF233", message, notes=tuple(notes), severity=Severity.WARNING)))


def _spell_nodes(equal: list[LayerChoice]) -> str:
    others = f" and {count(len(equal) - 1, 'equal layer')}" if len(equal) > 1 else ""
    return f"{equal[0].nodes[0]}{others}"


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
