"""What an artifact tells of itself: near misses, and what became of nodes and patterns of its model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autofusion.artifact import read_artifact
from autofusion.fusion import find_nodes, find_patterns
from autofusion.patternlang import find_builtin_patterns, load_patterns
from autofusion.report.explanation import Explanation, NodeStory, PatternStory, Rewrite
from autofusion.report.records import FusedNode, FusionReport, MissedNode
from autofusion.services.explain_lowered import Made, open_plan, tell_lowered
from autofusion.services.reports import read_report


def explain_artifact(path: Path, *, node: str = "", pattern: str = "") -> Explanation:
    """What the report and the plan inside the artifact `path` say, as `explain_model` says it of a model.

    Near misses alone are known, and of a node that no step computes nothing.  Raises UsageError AF312 for a node that
    the artifact does not know, AF310 for an unknown pattern, ArtifactError for what is no artifact.
    """
    report = read_report(path)
    fused, misses = report.fused, report.misses
    if pattern:
        names = _find_names(report, pattern)
        fused = tuple(row for row in fused if not names.isdisjoint((row.pattern, row.op)))
        misses = tuple(miss for miss in misses if miss.pattern in names)
    if node:
        made = open_plan(read_artifact(path, verify_weights=False).plan, report)
        known = dict.fromkeys(name for step in made.steps for name in step.origin)
        known |= dict.fromkeys(name for row in report.fused for name in row.origin)
        stories = (_tell_node(name, report, fused, misses, made) for name in find_nodes(node, "--node", tuple(known)))
        return Explanation(path.name, tuple(stories))
    if pattern:
        story = PatternStory(pattern, tuple(_rewrite(row, report) for row in fused))
        return Explanation(path.name, pattern=story, misses=misses)
    return Explanation(path.name, misses=misses)


def _find_names(report: FusionReport, pattern: str) -> set[str]:
    """The display names and fused operators in the report that `pattern` means, none for one that made nothing."""
    rows = [row for row in report.patterns if pattern in (row.name, row.fused_op) or pattern in row.sources]
    if not rows and all(miss.pattern != pattern for miss in report.misses):
        find_patterns(pattern, "--pattern", load_patterns([find_builtin_patterns()]))
    return {pattern, *(name for row in rows for name in (row.name, row.fused_op))}


def _tell_node(
    name: str, report: FusionReport, fused: Sequence[FusedNode], misses: Sequence[MissedNode], made: Made
) -> NodeStory:
    rewrites = tuple(_rewrite(row, report) for row in fused if name in row.origin)
    own = tuple(miss for miss in misses if name == miss.node or name in miss.bound.values())
    return NodeStory(name, "", rewrites, own, lowered=tell_lowered(made, name))


def _rewrite(row: FusedNode, report: FusionReport) -> Rewrite:
    sources = [name for count in report.patterns if count.fused_op == row.op for name in count.sources]
    return Rewrite(
        row.node, row.op, " or ".join(dict.fromkeys(sources)), row.pattern, dict.fromkeys(row.origin, ""), False
    )
