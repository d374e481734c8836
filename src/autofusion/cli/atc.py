"""`atc`: conversion of a model with the options, the output and the order of messages of CANN's tool."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from autofusion.cli.atc_flags import parse_flags, render_help
from autofusion.cli.atc_settings import Check, Conversion, Export, Inspection, find_warnings, read_settings
from autofusion.cli.environment import wants_report
from autofusion.cli.errors import EXIT_INTERRUPTED, explain_error
from autofusion.cli.main import restore_pipe_signal
from autofusion.cli.output import show_data, show_diagnostic
from autofusion.diagnostics.codes import cann_code
from autofusion.errors import UsageError

START = "ATC start working now, please wait for a moment."
SUCCESS = "ATC run success, welcome to the next use."
FAILURE = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"


def main() -> None:
    """Entry point of `atc`."""
    restore_pipe_signal()
    sys.exit(run_atc(sys.argv[1:]))


def run_atc(arguments: Sequence[str]) -> int:
    """Do what the command line says; returns the exit code: 0 done, 2 usage or bad input, 70 our own fault."""
    try:
        flags = parse_flags(arguments)
    except UsageError as error:
        show_diagnostic(error.diagnostic, headline="ERROR")
        return error.exit_code
    if "help" in flags:
        show_data(render_help())
        return 0
    show_data(f"{START}\n")
    try:
        _execute(flags)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - an exception becomes the failure line and an exit code
        return _fail(error, debug="debug" in flags)
    show_data(f"{SUCCESS}\n")
    return 0


def _execute(flags: Mapping[str, str]) -> None:
    settings = read_settings(flags)
    for warning in find_warnings(flags):
        show_diagnostic(warning)
    match settings:
        case Conversion():
            _convert(settings)
        case Export():
            _export(settings)
        case Check():
            _check(settings)
        case Inspection():
            _inspect(settings.artifact)


def _convert(settings: Conversion) -> None:
    from autofusion.cli.atc_conversion import check_open_extents, make_options
    from autofusion.cli.guarding import compile_checked
    from autofusion.compiler import save_compilation
    from autofusion.report.text import render_text, summarize

    options = make_options(settings.choices)
    compilation, _ = compile_checked(
        settings.model, options, verify=settings.verify, auto_disable=settings.auto_disable
    )
    check_open_extents(compilation.model, settings.choices.shapes)
    artifact = save_compilation(compilation, settings.output)
    show_data("...\n")
    if settings.show_report or wants_report():
        show_data(render_text(compilation.report))
    else:
        show_data(f"{artifact}: {summarize(compilation.report)}\n")
    if settings.show_info:
        _inspect(artifact)


def _export(settings: Export) -> None:
    from autofusion.services.model_json import write_artifact_json, write_model_json

    if settings.is_model:
        operators = write_model_json(
            settings.source,
            settings.json,
            settings.shapes,
            infer=settings.infer,
            pattern_directories=settings.pattern_directories,
        )
    else:
        operators = write_artifact_json(settings.source, settings.json)
    show_data(f"...\n{settings.json}: operators {operators}\n")


def _check(settings: Check) -> None:
    from autofusion.cli.atc_conversion import check_open_extents, make_options
    from autofusion.services.model_check import check_model, save_check, summarize_check

    options = make_options(settings.choices)
    checked = check_model(settings.model, options)
    if checked.model is not None:
        check_open_extents(checked.model, settings.choices.shapes)
    save_check(settings.report, checked)
    show_data(f"{settings.report}: {summarize_check(checked)}\n")
    if checked.error is not None:
        raise checked.error
    show_data("...\n")


def _inspect(artifact: Path) -> None:
    from autofusion.services.model_info import describe_artifact

    show_data(describe_artifact(artifact))


def _fail(error: BaseException, *, debug: bool) -> int:
    show_data(f"...\n{FAILURE}\n")
    sys.stdout.flush()
    if isinstance(error, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    if debug:
        traceback.print_exception(error)
    diagnostic, exit_code = explain_error(error)
    code = cann_code(diagnostic.code)
    show_diagnostic(diagnostic, headline=f"{code} ({diagnostic.code})" if code else diagnostic.code)
    return exit_code
