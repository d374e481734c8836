"""`autofusion report`: show the fusion report that an artifact carries, or each near miss of it."""

from __future__ import annotations

from pathlib import Path

import click

from autofusion.cli.errors import Command
from autofusion.cli.options import format_option, why_option
from autofusion.cli.output import show_data, show_misses


@click.command(cls=Command, name="report")
@click.argument("source", metavar="ARTIFACT|REPORT", type=click.Path(path_type=Path))
@why_option
@click.option("--layers", is_flag=True, help="Show what computes each convolution, what else there was, and why.")
@format_option
def command(
    source: Path,
    why: bool,
    layers: bool,
    format: str,  # noqa: A002 - the option is called so
) -> None:
    """Show what was fused, what not, and why.

    The report is the one inside an artifact, or a .fusion.json file.
    """
    from autofusion.report.json import render_json
    from autofusion.report.layers_text import render_layers
    from autofusion.report.text import render_text
    from autofusion.services.reports import read_report

    report = read_report(source)
    if why:
        show_misses(report, as_json=format == "json")
    elif layers and format == "text":
        show_data("".join(f"{line}\n" for line in render_layers(report.layers)))
    else:
        show_data(render_json(report) if format == "json" else render_text(report))
