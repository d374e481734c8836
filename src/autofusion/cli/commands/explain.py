"""`autofusion explain`: why a model is not fused further, or what became of a node or a pattern."""

from __future__ import annotations

import json
from pathlib import Path

import click

from autofusion.cli.compile_options import compile_options, read_options
from autofusion.cli.errors import Command
from autofusion.cli.options import format_option
from autofusion.cli.output import show_data


@click.command(cls=Command, name="explain")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--node", default="", metavar="NAME", help="What became of this node, by ONNX name or glob, and why.")
@click.option("--pattern", default="", metavar="NAME", help="Where this pattern applies and where not, and why.")
@click.option("--all", "everything", is_flag=True, help="Every attempt, not a screen of them.")
@compile_options
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    model: Path,
    node: str,
    pattern: str,
    everything: bool,
    format: str,  # noqa: A002 - the option is called so
) -> None:
    """Explain why a model is not fused further.

    For each place where a fusion could begin: how far a pattern came, the one condition that failed, the node and
    value at fault, and what to do. The options of compile say what is allowed.
    """
    from autofusion.report.explanation_text import render_explanation
    from autofusion.services.explain import explain_model

    explanation = explain_model(model, read_options(ctx), node=node, pattern=pattern)
    if format == "json":
        show_data(json.dumps(explanation.to_dict(), indent=2, ensure_ascii=False) + "\n")
    else:
        show_data(render_explanation(explanation, everything=everything))
