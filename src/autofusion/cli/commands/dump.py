"""`autofusion dump`: the text of one stage of the compilation."""

from __future__ import annotations

from pathlib import Path

import click

from autofusion.cli.compile_options import compile_options, read_options
from autofusion.cli.errors import Command
from autofusion.cli.options import format_option
from autofusion.cli.output import show_data


@click.command(cls=Command, name="dump")
@click.argument("source", metavar="MODEL|ARTIFACT", type=click.Path(path_type=Path))
@click.option("--after", "stage", metavar="STAGE", help="frontend, passes, fusion (for models the default) or plan.")
@compile_options
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    source: Path,
    stage: str | None,
    format: str,  # noqa: A002 - the option is called so
) -> None:
    """Show what a stage made of a model.

    A plan is shown as text or, as an artifact holds it, as JSON; the other stages have a text alone.
    """
    from autofusion.services.dump import dump_stage

    text = dump_stage(source, stage, read_options(ctx), as_json=format == "json")
    show_data(text if text.endswith("\n") else f"{text}\n")
