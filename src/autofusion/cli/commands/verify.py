"""`autofusion verify`: compare an artifact with the unfused model."""

from __future__ import annotations

import json
from pathlib import Path

import click

from autofusion.cli.errors import EXIT_NO, Command
from autofusion.cli.options import format_option, pattern_dir_option, sizes_option
from autofusion.cli.output import show_data
from autofusion.cli.values import parse_seeds, parse_sizes


@click.command(cls=Command, name="verify")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("artifact", type=click.Path(path_type=Path))
@click.option("--seeds", default="0,1,2", metavar="N,N,..", help="Seeds of the generated inputs.")
@click.option("--threads", type=click.IntRange(1), help="Threads to run with.")
@click.option(
    "--bisect/--no-bisect", default=True, help="Where something is wrong, look for the fusion at fault (the default)."
)
@pattern_dir_option
@sizes_option
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    model: Path,
    artifact: Path,
    seeds: str,
    threads: int | None,
    bisect: bool,
    pattern_dir: tuple[Path, ...],
    dims: tuple[str, ...],
    format: str,  # noqa: A002 - the option is called so
) -> None:
    """Compare an artifact with its unfused model.

    Both run on the same generated inputs, at all combinations of the extents that --dim lists; fused nodes are
    compared with what they took the place of as well, at the first of them. Ends with 0 where everything lies within
    its limits. Ends with 1 where something does not, and names the first fusion at fault and the option that turns it
    off; for that the model is compiled several times.
    """
    from autofusion.report.verification_text import render_verification
    from autofusion.services.verify import verify_artifact

    verdict = verify_artifact(
        model,
        artifact,
        seeds=parse_seeds(seeds),
        sizes=parse_sizes(dims),
        threads=threads,
        pattern_directories=pattern_dir,
        bisect=bisect,
    )
    if format == "json":
        show_data(json.dumps(verdict.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        show_data(render_verification(verdict))
    if not verdict.ok:
        ctx.exit(EXIT_NO)
