"""The error about a plan that does not hang together at the dims of a run."""

from __future__ import annotations

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ArtifactError


def damaged_plan(finding: str) -> ArtifactError:
    """Error AF514 that says `finding`."""
    return ArtifactError(Diagnostic("AF514", f"the plan is damaged: {finding}", help="compile the model again"))
