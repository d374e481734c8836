"""`autofusion explain`: why a model is not fused further, or what became of a node, a pattern or element types."""

from __future__ import annotations

import json
from pathlib import Path

import click

from autofusion.cli.compile_options import compile_options, read_options
from autofusion.cli.errors import Command
from autofusion.cli.options import format_option
from autofusion.cli.output import show_data
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError


@click.command(cls=Command, name="explain")
@click.argument("source", metavar="MODEL|ARTIFACT", type=click.Path(path_type=Path))
@click.option("--node", default="", metavar="NAME", help="What became of this node, by ONNX name or glob, and why.")
@click.option("--pattern", default="", metavar="NAME", help="Where this pattern applies and where not, and why.")
@click.option("--precision", is_flag=True, help="What is stored in two bytes, what stays float32, and why.")
@click.option("--all", "everything", is_flag=True, help="Every attempt, not a screen of them.")
@compile_options
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    source: Path,
    node: str,
    pattern: str,
    precision: bool,
    everything: bool,
    format: str,  # noqa: A002 - the option is called so
) -> None:
    """Explain why a model is not fused further.

    For each place where a fusion could begin: how far a pattern came, the one condition that failed, the node and
    value at fault, and what to do. Of a node also the steps that compute it, the algorithms that they could take, and
    how its weights are stored. The options of compile say what is allowed; an artifact tells what it was made with.
    """
    from autofusion.report.explanation_text import render_explanation
    from autofusion.services.explain import explain_model
    from autofusion.services.explain_artifact import explain_artifact
    from autofusion.services.explain_lowered import explain_precision

    if precision and (node or pattern):
        remedy = "ask for one of them; --node tells how the weights of the node are stored"
        raise UsageError(
            Diagnostic("AF219", "--precision is about the whole model, --node and --pattern are not", help=remedy)
        )
    options = read_options(ctx)
    if precision:
        explanation = explain_precision(source, options)
    elif source.suffix == ".om":
        explanation = explain_artifact(source, node=node, pattern=pattern)
    else:
        explanation = explain_model(source, options, node=node, pattern=pattern)
    if format == "json":
        show_data(json.dumps(explanation.to_dict(), indent=2, ensure_ascii=False) + "\n")
    else:
        show_data(render_explanation(explanation, everything=everything))
