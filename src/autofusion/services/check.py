"""What a build demands of a fusion report: a baseline, least counts of fusions, most operators and host steps."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autofusion.artifact import SUFFIX
from autofusion.compiler import compile_model
from autofusion.diagnostics import Diagnostic, Severity
from autofusion.fusion import find_patterns
from autofusion.options import CompileOptions
from autofusion.patternlang import find_builtin_patterns, load_patterns
from autofusion.report.baseline import compare_reports
from autofusion.report.records import FusionReport
from autofusion.report.wording import count
from autofusion.services.reports import REPORT_SUFFIX, read_report


@dataclass(frozen=True)
class Demands:
    """What is demanded; `minimums` counts fusions by the display name, the operator or the own name of their pattern.

    `acceptance` says how a change against the baseline is accepted.
    """

    baseline: FusionReport | None = None
    acceptance: str = ""
    minimums: Mapping[str, int] = field(default_factory=dict[str, int])
    max_operators: int | None = None
    max_host_steps: int | None = None

    @property
    def is_empty(self) -> bool:
        """True where nothing is demanded."""
        return self.baseline is None and not self.minimums and self.max_operators is self.max_host_steps is None


def obtain_report(source: Path, options: CompileOptions | None = None) -> FusionReport:
    """The report inside an artifact, or of a model, which is compiled for it."""
    return read_report(source) if source.suffix in (SUFFIX, REPORT_SUFFIX) else compile_model(source, options).report


def check_names(report: FusionReport, minimums: Mapping[str, int], pattern_directories: Sequence[Path] = ()) -> None:
    """Raise UsageError AF310 for a name in `minimums` that neither the report has nor any pattern.

    Patterns are the built-in ones and those of `pattern_directories`.
    """
    known = {miss.pattern for miss in report.misses}
    unknown = [name for name in minimums if name not in known and not _count(report, name)]
    if not unknown:
        return
    patterns = load_patterns([find_builtin_patterns(), *pattern_directories])
    for name in unknown:
        find_patterns(name, "--min", patterns)


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
        message = f"{name} matched {count(found, 'time')}, at least {minimum} are demanded"
        misses = [miss for miss in report.misses if miss.pattern == name]
        notes = _some([f"not fused at {miss.node}: {miss.message} [{miss.code}]" for miss in misses])
        yield Diagnostic("AF611", message, notes=notes, help="" if found else _suggest(report, name))


def _check_limits(report: FusionReport, demands: Demands) -> Iterator[Diagnostic]:
    if demands.max_operators is not None and report.operators_after > demands.max_operators:
        message = f"{report.operators_after} operators are left, at most {demands.max_operators} are allowed"
        yield Diagnostic("AF612", message)
    if demands.max_host_steps is not None and report.host_steps > demands.max_host_steps:
        message = f"{report.host_steps} steps run on the host, at most {demands.max_host_steps} are allowed"
        steps = [f"{step.node}: {step.op}" + (f", {step.reason}" if step.reason else "") for step in report.host]
        yield Diagnostic("AF613", message, notes=_some(steps))


def _check_baseline(report: FusionReport, demands: Demands) -> Iterator[Diagnostic]:
    if demands.baseline is None:
        return
    for change in compare_reports(demands.baseline, report):
        severity = Severity.ERROR if change.worse else Severity.NOTE
        advice = demands.acceptance if change.worse else ""
        yield Diagnostic("AF614", change.line, help=advice, notes=_some(change.details), severity=severity)


_SHOWN = 5


def _some(notes: Sequence[str]) -> tuple[str, ...]:
    """The first of the notes, and how many more there are."""
    rest = len(notes) - _SHOWN
    return (*notes[:_SHOWN], *((f"and {rest} more",) if rest > 0 else ()))


def _count(report: FusionReport, name: str) -> int:
    """How often `name` was applied: a display name, an operator, or the own name of a pattern."""
    fused = sum(row.matched for row in report.patterns if name in (row.name, row.fused_op))
    normalized = sum(row.matched for row in report.normalized if name in (row.name, row.op))
    return fused + normalized or sum(row.sources.get(name, 0) for row in (*report.patterns, *report.normalized))


def _suggest(report: FusionReport, name: str) -> str:
    rows = (*report.patterns, *report.normalized)
    names = {row.name for row in rows} | {source for row in rows for source in row.sources}
    close = difflib.get_close_matches(name, sorted(names - {name}), n=1)
    return f"the report has {close[0]}" if close else ""
