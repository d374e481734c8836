"""`autofusion compile`: from a model to an artifact and its reports."""

from __future__ import annotations

from pathlib import Path

import click

from autofusion.cli.compile_options import compile_options, read_options
from autofusion.cli.environment import wants_report
from autofusion.cli.errors import Command
from autofusion.cli.guarding import compile_checked, guard_options, show_json
from autofusion.cli.options import format_option, why_option
from autofusion.cli.output import show_data, show_misses


@click.command(cls=Command, name="compile")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Where the artifact goes.")
@compile_options
@guard_options
@why_option
@click.option(
    "--write-bank",
    "--write_bank",
    "written",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a tuning bank: add what computes each layer to those that the file has.",
)
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    model: Path,
    output: Path,
    verify: bool,
    auto_disable: bool,
    why: bool,
    written: Path | None,
    format: str,  # noqa: A002 - the option is called so
) -> None:
    """Compile a model to an artifact.

    The fusion reports are written beside it. Ends with 1, and writes nothing, where --verify finds a difference.
    """
    from autofusion.compiler import save_compilation
    from autofusion.report.text import render_text, summarize
    from autofusion.services.tuning import extend_bank, open_bank

    options = read_options(ctx)
    bank = None if written is None else open_bank(written)
    compilation, found = compile_checked(
        model, options, verify=verify, auto_disable=auto_disable, as_json=format == "json"
    )
    artifact = save_compilation(compilation, output)
    if written is not None and bank is not None:
        extend_bank(written, bank, compilation.report.layers, "any" if options.bank is None else options.bank.target)
    if format == "json":
        show_json({"artifact": str(artifact), "report": compilation.report.to_dict(), **found})
        return
    if why:
        show_misses(compilation.report)
    if wants_report():
        show_data(render_text(compilation.report))
    show_data(f"{artifact}: {summarize(compilation.report)}\n")
