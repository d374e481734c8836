"""`autofusion run`: run an artifact once and show what came out."""

from __future__ import annotations

import json
from pathlib import Path

import click

from autofusion.cli.errors import Command
from autofusion.cli.options import dim_option, format_option
from autofusion.cli.output import show_data
from autofusion.cli.values import parse_dims
from autofusion.report.tables import render_shape, render_table


@click.command(cls=Command, name="run")
@click.argument("artifact", type=click.Path(path_type=Path))
@click.option(
    "--input",
    "sources",
    multiple=True,
    metavar="[NAME=]FILE",
    help="NAME=FILE.npy, .npz or .bin for one input, FILE.npz for several; may be repeated.",
)
@click.option("--seed", default=0, type=click.IntRange(0), help="Seed of the inputs that are generated.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Save the outputs as .npz, or one as .npy.")
@click.option("--threads", type=click.IntRange(1), help="Threads to run with.")
@dim_option
@format_option
def command(
    artifact: Path,
    sources: tuple[str, ...],
    seed: int,
    output: Path | None,
    threads: int | None,
    dims: tuple[str, ...],
    format: str,  # noqa: A002 - the option is called so
) -> None:
    """Run an artifact and show its outputs.

    Inputs that no file gives are generated; extents that neither a file nor --dim gives are small.
    """
    from autofusion.services.run_artifact import run_artifact
    from autofusion.services.run_outputs import save_outputs
    from autofusion.services.tensor_summary import TensorSummary, summarize_tensor

    run = run_artifact(artifact, sources, seed=seed, dims=parse_dims(dims), threads=threads, output=output)
    if output is not None:
        save_outputs(output, run.outputs)
    inputs = [summarize_tensor(name, array) for name, array in run.inputs.items()]
    results = [summarize_tensor(name, array) for name, array in run.outputs.items()]
    if format == "json":
        data = {"inputs": [row.to_dict() for row in inputs], "outputs": [row.to_dict() for row in results]}
        show_data(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return

    def cells(role: str, row: TensorSummary) -> list[str]:
        numbers = (row.minimum, row.maximum, row.mean)
        shown = ["-" if number is None else f"{number:.6g}" for number in numbers]
        return [role, row.name, row.dtype, render_shape(row.shape), *shown]

    header = ["", "name", "type", "shape", "min", "max", "mean"]
    rows = [*(cells("input", row) for row in inputs), *(cells("output", row) for row in results)]
    show_data(render_table([header, *rows]))
