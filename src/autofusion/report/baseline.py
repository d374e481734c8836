"""Comparison of a fusion report with an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from autofusion.report.records import FusedNode, FusionReport, MissedNode
from autofusion.report.wording import count


@dataclass(frozen=True)
class Change:
    """One difference between two reports; `worse` where something is gone or more is left to run.

    `details` explain the line: the nodes concerned and what became of them.
    """

    kind: Literal["lost", "gained", "count"]
    subject: str
    line: str
    worse: bool
    details: tuple[str, ...] = ()


def compare_reports(before: FusionReport, now: FusionReport) -> tuple[Change, ...]:
    """What changed from `before` to `now`: patterns by name, then the totals."""
    return (*_pattern_changes(before, now), *_total_changes(before, now))


def _pattern_changes(before: FusionReport, now: FusionReport) -> Iterator[Change]:
    for name in sorted({row.name for row in before.patterns} | {row.name for row in now.patterns}):
        was, is_now = before.matched(name), now.matched(name)
        if was == is_now:
            continue
        details = tuple(_lost_nodes(name, before, now)) if is_now < was else ()
        if not is_now:
            yield Change("lost", name, f"lost: {name} matched {count(was, 'time')} before, never now", True, details)
        elif not was:
            yield Change("gained", name, f"gained: {name} matched {count(is_now, 'time')}, never before", False)
        else:
            line = f"changed: {name} matched {count(is_now, 'time')}, {was} before"
            yield Change("count", name, line, is_now < was, details)


def _total_changes(before: FusionReport, now: FusionReport) -> Iterator[Change]:
    totals = (
        ("operators before fusion", before.operators_before, now.operators_before),
        ("operators after fusion", before.operators_after, now.operators_after),
        ("steps", before.steps, now.steps),
        ("host steps", before.host_steps, now.host_steps),
    )
    for subject, was, is_now in totals:
        if was == is_now:
            continue
        # A model with other operators is another model; what is left of it is judged by the lines below.
        worse = is_now > was and subject != "operators before fusion"
        details = tuple(_new_host_steps(before, now)) if subject == "host steps" and worse else ()
        yield Change("count", subject, f"changed: {subject} {is_now}, {was} before", worse, details)


def _lost_nodes(pattern: str, before: FusionReport, now: FusionReport) -> Iterator[str]:
    """One line for each ONNX node group that `pattern` covered before and covers no longer."""
    covered = {name for node in now.fused if node.pattern == pattern for name in node.origin}
    owners = {name: node for node in now.fused for name in node.origin}
    misses: dict[str, MissedNode] = {}
    for miss in now.misses:
        if miss.pattern == pattern:
            misses.setdefault(miss.node, miss)
    for node in before.fused:
        if node.pattern != pattern or covered.issuperset(node.origin):
            continue
        yield f"{node.node}: {_fate(node, owners, misses)}"


def _fate(node: FusedNode, owners: dict[str, FusedNode], misses: dict[str, MissedNode]) -> str:
    found = [misses[name] for name in (node.node, *node.origin) if name in misses]
    now = next((owners[name].pattern for name in node.origin if name in owners), "")
    parts = [f"now {now}" if now else "not fused now"]
    if found:
        parts.append(f"{found[0].message} [{found[0].code}]")
    return ", ".join(parts)


def _new_host_steps(before: FusionReport, now: FusionReport) -> Iterator[str]:
    known = {(step.node, step.op) for step in before.host}
    for step in now.host:
        if (step.node, step.op) not in known:
            yield f"{step.node}: {step.op} runs on the host" + (f", {step.reason}" if step.reason else "")
