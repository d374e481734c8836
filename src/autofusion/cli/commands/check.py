"""`autofusion check`: hold the fusions of a model against what is demanded of them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from autofusion.cli.compile_options import compile_options, read_options
from autofusion.cli.errors import EXIT_NO, Command
from autofusion.cli.options import format_option
from autofusion.cli.output import show_data
from autofusion.cli.values import parse_minimums
from autofusion.diagnostics import Diagnostic, Severity
from autofusion.diagnostics.codes import with_remedy
from autofusion.diagnostics.json import describe
from autofusion.diagnostics.text import render_text
from autofusion.errors import UsageError


@click.command(cls=Command, name="check")
@click.argument("source", metavar="MODEL|ARTIFACT|REPORT", type=click.Path(path_type=Path))
@click.option("--baseline", type=click.Path(path_type=Path), help="An earlier report (.fusion.json) or artifact.")
@click.option("--min", "minimums", multiple=True, metavar="NAME=COUNT", help="Least matches of a fusion; repeatable.")
@click.option("--max-operators", type=click.IntRange(0), help="Most operators after fusion.")
@click.option("--max-host-steps", type=click.IntRange(0), help="Most steps without native kernel.")
@click.option("--write-baseline", "written", type=click.Path(path_type=Path), help="Write the report to this file.")
@compile_options
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    source: Path,
    baseline: Path | None,
    minimums: tuple[str, ...],
    max_operators: int | None,
    max_host_steps: int | None,
    written: Path | None,
    format: str,  # noqa: A002 - the option is called so
) -> None:
    """Hold fusions against a baseline or limits.

    The report of a model, an artifact or a report file is compared with an earlier one and with the limits
    given; a model is compiled for it without keeping the artifact. Ends with 0 where all is as demanded, with
    1 where it is not; every line says what is demanded and what was found. --write-baseline accepts what is.
    """
    from autofusion.report.text import summarize
    from autofusion.services.check import Demands, check_names, check_report, obtain_report
    from autofusion.services.reports import read_baseline, write_baseline

    demands = Demands(
        baseline=None if baseline is None else read_baseline(baseline),
        acceptance="" if baseline is None else _accept_change(baseline),
        minimums=parse_minimums(minimums),
        max_operators=max_operators,
        max_host_steps=max_host_steps,
    )
    if demands.is_empty and written is None:
        remedy = "pass --baseline, --min, --max-operators or --max-host-steps, or --write-baseline to make a baseline"
        raise UsageError(Diagnostic("AF207", "nothing is demanded of the report", help=remedy))
    options = read_options(ctx)
    report = obtain_report(source, options)
    check_names(report, demands.minimums, options.pattern_directories)
    findings = tuple(
        with_remedy(finding) if finding.severity is Severity.ERROR else finding
        for finding in check_report(report, demands)
    )
    failed = sum(finding.severity is Severity.ERROR for finding in findings)
    if written is not None:
        write_baseline(written, report)
    if format == "json":
        data = {"source": str(source), "ok": not failed, "findings": list(map(describe, findings))}
        show_data(json.dumps({**data, "report": report.to_dict()}, indent=2, ensure_ascii=False) + "\n")
    else:
        for finding in findings:
            show_data(render_text(finding))
        verdict = f"not as demanded (errors: {failed})" if failed else "as demanded"
        verdict = "baseline written" if demands.is_empty else verdict
        show_data(f"{source}: {verdict}: {summarize(report)}\n")
    if failed:
        ctx.exit(EXIT_NO)


def _accept_change(baseline: Path) -> str:
    target = baseline.with_suffix(".fusion.json") if baseline.suffix == ".om" else baseline
    again = ", and pass that as --baseline from then on" if target != baseline else ""
    return f"where the change is meant, run the check again with --write-baseline {target}{again}"
