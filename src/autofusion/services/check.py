"""What a build demands of a fusion report: a baseline, least counts of fusions, most operators and host steps."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autofusion.artifact import SUFFIX
from autofusion.compiler import compile_model
from autofusion.diagnostics import Diagnostic, Severity
from autofusion.options import CompileOptions
from autofusion.report.baseline import compare_reports
from autofusion.report.records import FusionReport
from autofusion.services.reports import read_report


@dataclass(frozen=True)
class Demands:
    """What is demanded; `minimums` counts fusions by the display or operator name of their pattern."""

    baseline: FusionReport | None = None
    minimums: Mapping[str, int] = field(default_factory=dict[str, int])
    max_operators: int | None = None
    max_host_steps: int | None = None


def obtain_report(source: Path, options: CompileOptions | None = None) -> FusionReport:
    """The report inside an artifact, or of a model, which is compiled for it."""
    return read_report(source) if source.suffix == SUFFIX else compile_model(source, options).report


def check_report(report: FusionReport, demands: Demands) -> tuple[Diagnostic, ...]:
    """The findings: errors for demands that are not met, notes for changes to the better."""
    return (
        *_check_minimums(report, demands.minimums),
        *_check_limits(report, demands),
        *_check_baseline(report, demands),
    )


def _check_minimums(report: FusionReport, minimums: Mapping[str, int]) -> Iterator[Diagnostic]:
    for name, minimum in minimums.items():
        found = _count(report, name)
        if found >= minimum:
            continue
        message = f"{name} matched {found} times, at least {minimum} are demanded"
        misses = [miss for miss in report.misses if miss.pattern == name][:_SHOWN]
        notes = tuple(f"not fused at {miss.node}: {miss.message} [{miss.code}]" for miss in misses)
        yield Diagnostic("AF611", message, notes=notes, help="" if found else _suggest(report, name))


def _check_limits(report: FusionReport, demands: Demands) -> Iterator[Diagnostic]:
    if demands.max_operators is not None and report.operators_after > demands.max_operators:
        message = f"{report.operators_after} operators are left, at most {demands.max_operators} are allowed"
        yield Diagnostic("AF612", message)
    if demands.max_host_steps is not None and report.host_steps > demands.max_host_steps:
        message = f"{report.host_steps} steps run on the host, at most {demands.max_host_steps} are allowed"
        shown = tuple(
            f"{step.node}: {step.op}" + (f", {step.reason}" if step.reason else "") for step in report.host[:_SHOWN]
        )
        yield Diagnostic("AF613", message, notes=shown)


def _check_baseline(report: FusionReport, demands: Demands) -> Iterator[Diagnostic]:
    if demands.baseline is None:
        return
    for change in compare_reports(demands.baseline, report):
        severity = Severity.ERROR if change.worse else Severity.NOTE
        rest = len(change.details) - _SHOWN
        notes = change.details[:_SHOWN] + ((f"{rest} more",) if rest > 0 else ())
        yield Diagnostic("AF614", change.line, notes=notes, severity=severity)


_SHOWN = 5


def _count(report: FusionReport, name: str) -> int:
    fused = sum(row.matched for row in report.patterns if name in (row.name, row.fused_op))
    return fused + sum(row.matched for row in report.normalized if name in (row.name, row.op))


def _suggest(report: FusionReport, name: str) -> str:
    names = {row.name for row in report.patterns} | {row.name for row in report.normalized}
    close = difflib.get_close_matches(name, sorted(names - {name}), n=1)
    return f"the report has {close[0]}" if close else ""
