"""The rewrites of one run as numbered lines, to find the one at fault together with `Controls.stop_after`."""

from __future__ import annotations

from autofusion.fusion.fuse import FusionResult


def render_trace(result: FusionResult) -> str:
    """One line for each rewrite in the order of application, in the numbering that `stop_after` counts."""
    steps = sorted((*result.normalized, *result.fusions), key=lambda step: step.number)
    lines = [
        f"{step.number} {step.pattern}: {step.display} -> {step.op} {step.node}"
        f"{f' in {step.graph}' if step.graph else ''} ({', '.join(step.members)})"
        for step in steps
    ]
    return "".join(line + "\n" for line in lines)
