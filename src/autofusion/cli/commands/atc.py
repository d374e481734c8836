"""`autofusion atc`: the command `atc`, for machines that have CANN's own."""

from __future__ import annotations

import click

from autofusion.cli.atc import run_atc


@click.command(
    name="atc", add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Convert a model as CANN's atc does."""
    ctx.exit(run_atc(arguments))
