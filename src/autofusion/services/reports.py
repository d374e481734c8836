"""Fusion reports from wherever they are: an artifact or a report file."""

from __future__ import annotations

from pathlib import Path

from autofusion.artifact import SUFFIX, read_artifact
from autofusion.diagnostics import Diagnostic
from autofusion.errors import ArtifactError, UsageError
from autofusion.report.json import parse_json
from autofusion.report.records import FusionReport


def read_report(artifact: Path) -> FusionReport:
    """The report inside an artifact; raises ArtifactError AF544 where it is none."""
    text = read_artifact(artifact, verify_weights=False).report
    try:
        return parse_json(text)
    except ValueError as error:
        message = f"the report in {str(artifact)!r} cannot be read: {error}"
        raise ArtifactError(Diagnostic("AF544", message, help="compile the model again")) from error


def read_baseline(path: Path) -> FusionReport:
    """The report in a `.fusion.json` file, or inside an artifact; raises UsageError AF610 where there is none."""
    if path.suffix == SUFFIX:
        return read_report(path)
    try:
        return parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        message = f"cannot read the baseline {str(path)!r}: {reason[:1].lower() + reason[1:]}"
        remedy = "name a .fusion.json file that stood beside an artifact"
        raise UsageError(Diagnostic("AF610", message, help=remedy)) from error
