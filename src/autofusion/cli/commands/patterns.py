"""`autofusion patterns`: list patterns, show one, find the mistakes in pattern files."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from autofusion.cli.errors import EXIT_NO, Command
from autofusion.cli.options import format_option, pattern_dir_option
from autofusion.cli.output import show_data
from autofusion.diagnostics.codes import with_remedy
from autofusion.diagnostics.json import describe
from autofusion.diagnostics.text import render_text


@click.group(name="patterns")
def command() -> None:
    """List fusion patterns, or lint their files."""


@command.command(cls=Command, name="list")
@pattern_dir_option
@click.option("--level", type=click.IntRange(1, 3), help="Patterns of this level alone.")
@format_option
def list_command(pattern_dir: tuple[Path, ...], level: int | None, format: str) -> None:  # noqa: A002
    """List all patterns in the order in which they apply.

    Each with its level, its names, the operator that it makes, the passes of CANN of the same purpose, and a summary.
    """
    from autofusion.services.pattern_text import render_list
    from autofusion.services.patterns import list_patterns

    patterns = list_patterns(pattern_dir, level)
    if format == "json":
        _show_json(patterns.to_dict())
    else:
        show_data(render_list(patterns))


@command.command(cls=Command, name="show")
@click.argument("name")
@pattern_dir_option
@format_option
def show_command(name: str, pattern_dir: tuple[Path, ...], format: str) -> None:  # noqa: A002
    """Show the patterns that a name means.

    NAME is a pattern, a display name such as Conv+BN+ReLU, a fused operator or a pass of CANN.
    """
    from autofusion.services.pattern_text import render_row
    from autofusion.services.patterns import find_rows

    rows = find_rows(name, pattern_dir)
    if format == "json":
        _show_json([asdict(row) for row in rows])
    else:
        show_data("\n".join(render_row(row) for row in rows))


@command.command(cls=Command, name="lint")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@format_option
@click.pass_context
def lint_command(ctx: click.Context, paths: tuple[Path, ...], format: str) -> None:  # noqa: A002
    """Find the mistakes in pattern files.

    PATHS are files or folders; a file in a folder called `operators` declares an operator. Every finding has line and
    column. Ends with 0 where there is none, with 1 where there is one.
    """
    from autofusion.services.patterns import lint_paths

    findings = [with_remedy(finding) for finding in lint_paths(paths)]
    if format == "json":
        _show_json({"ok": not findings, "findings": list(map(describe, findings))})
    else:
        for finding in findings:
            show_data(render_text(finding))
        show_data(f"findings: {len(findings)}\n")
    if findings:
        ctx.exit(EXIT_NO)


def _show_json(data: object) -> None:
    show_data(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
