"""`autofusion report`: show the fusion report that an artifact carries."""

from __future__ import annotations

from pathlib import Path

import click

from autofusion.cli.errors import Command
from autofusion.cli.options import format_option
from autofusion.cli.output import show_data


@click.command(cls=Command, name="report")
@click.argument("artifact", type=click.Path(path_type=Path))
@format_option
def command(artifact: Path, format: str) -> None:  # noqa: A002 - the option is called so
    """Show what was fused, what not, and why."""
    from autofusion.report.json import render_json
    from autofusion.report.text import render_text
    from autofusion.services.reports import read_report

    report = read_report(artifact)
    show_data(render_json(report) if format == "json" else render_text(report))
