"""The fusion report as the text that `GE_GRAPH_FUSION_LOG=1` prints: every line begins with `[GE]`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from autofusion.decisions import HostStep
from autofusion.report.layers_text import render_bank
from autofusion.report.misses import group_misses
from autofusion.report.records import FusionReport, MissedNode, PatternCount
from autofusion.report.stored import render_carried, render_stored, summarize_stored
from autofusion.report.wording import count

SHOWN_MISSES = 8
SHOWN_NODES = 1


def render_text(report: FusionReport) -> str:
    """The whole report, with a final line break.

    The pattern blocks, the normal forms where there are any, and the three totals come first; types that are carried
    in another, gears or limits of extents, a tuning bank, weights that were to be stored in two bytes, host steps and
    near misses follow only where there are any.
    """
    lines = ["Graph Fusion Report:", "======================"]
    for row in report.patterns:
        if row.matched:
            lines += [*_pattern_lines(row, report), ""]
    if report.normalized:
        lines += [f"Normalized: {_normal_forms(report)}", ""]
    lines += [
        f"Total operators before fusion: {report.operators_before}",
        f"Total operators after fusion: {report.operators_after}",
        f"Overall speedup: {report.estimated_speedup:.2f}x",
    ]
    if report.carried:
        lines += ["", render_carried(report.carried, report.precision)]
    if report.gears:
        lines += ["", f"Gears: {'; '.join(map(_spell_gear, report.gears))}"]
    elif report.limits:
        lines += ["", f"Extents: {', '.join(_spell_limits(*entry) for entry in report.limits.items())}"]
    if report.bank is not None:
        lines += ["", render_bank(report.bank)]
    if report.weights:
        lines += ["", *render_stored(report.weights)]
    if report.host:
        lines += ["", *_host_lines(report.host)]
    if report.misses:
        lines += ["", *_miss_lines(report.misses)]
    return "".join(f"[GE] {line}".rstrip() + "\n" for line in lines)


def summarize(report: FusionReport) -> str:
    """The report in one line, without a line break."""
    applied = sum(row.matched for row in report.patterns)
    parts = [
        f"fused {count(applied, 'time')} by {count(sum(row.matched > 0 for row in report.patterns), 'pattern')}",
        f"operators {report.operators_before} -> {report.operators_after}",
        f"estimated speedup {report.estimated_speedup:.2f}x",
    ]
    if report.normalized:
        parts.insert(1, f"normalized {count(sum(row.matched for row in report.normalized), 'time')}")
    if report.weights:
        parts.append(summarize_stored(report.weights))
    if report.host:
        parts.append(f"host steps {report.host_steps}")
    if report.misses:
        parts.append(f"not fused {len(report.misses)}")
    return ", ".join(parts)


def _pattern_lines(row: PatternCount, report: FusionReport) -> Iterator[str]:
    yield f"Pattern: {row.name}"
    yield f"  Matched: {row.matched} times{_inside(row, report)}"
    yield f"  Fused into: {row.fused_op}"
    yield f"  Estimated speedup: {row.estimated_speedup:.2f}x"
    if row.measured_speedup is not None:
        yield f"  Measured speedup: {row.measured_speedup:.2f}x"


def _inside(row: PatternCount, report: FusionReport) -> str:
    if not row.inside:
        return ""
    outer = Counter(node.inside for node in report.fused if node.inside and node.pattern == row.name)
    places = ", ".join(f"{count} inside {name}" for name, count in sorted(outer.items()))
    return f" ({places or f'{row.inside} inside others'})"


def _host_lines(host: tuple[HostStep, ...]) -> Iterator[str]:
    yield f"Host steps (no native kernel, run by the ONNX reference implementation): {len(host)}"
    groups: dict[tuple[str, str], list[str]] = {}
    for step in host:
        groups.setdefault((step.op, step.reason), []).append(step.node)
    for (op, reason), names in sorted(groups.items()):
        yield f"  {op}: {len(names)} ({_some(names)})" + (f": {reason}" if reason else "")


def _miss_lines(misses: tuple[MissedNode, ...]) -> Iterator[str]:
    yield f"Not fused: {len(misses)}"
    ordered = group_misses(misses)
    for group in ordered[:SHOWN_MISSES]:
        first = group[0]
        yield f"  {first.pattern}: {len(group)} x {first.code} ({_some([miss.node for miss in group])})"
        yield f"    {first.node}: {first.message}" + (f"; fused as {first.instead}" if first.instead else "")
        if first.help:
            yield f"    help: {first.help}"
    if len(ordered) < len(misses):
        yield "  Every one with its reason: autofusion report ARTIFACT --why"


def _spell_gear(gear: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={extent}" for name, extent in gear.items())


def _spell_limits(name: str, limits: tuple[int, int | None]) -> str:
    """A range as `--input_shape` takes it."""
    low, high = limits
    return f"{name} {low}~{-1 if high is None else high}"


def _normal_forms(report: FusionReport) -> str:
    """`SiLU 3, HardSwish 2`: the most frequent ones first."""
    counts: Counter[str] = Counter()
    for row in report.normalized:
        counts[row.name] += row.matched
    return ", ".join(f"{name} {matched}" for name, matched in counts.most_common())


def _some(names: list[str]) -> str:
    rest = len(names) - SHOWN_NODES
    shown = ", ".join(names[:SHOWN_NODES])
    return f"{shown}, {rest} more" if rest > 0 else shown
