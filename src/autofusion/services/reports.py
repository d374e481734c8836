"""Fusion reports from wherever they are: an artifact or a report file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import BinaryIO

from autofusion.artifact import SUFFIX, read_artifact
from autofusion.artifact.publish import publish_files
from autofusion.diagnostics import Diagnostic
from autofusion.errors import ArtifactError, UsageError
from autofusion.report.json import parse_json, render_json
from autofusion.report.records import FusionReport

REPORT_SUFFIX = ".json"
"""Suffix of report files, `.fusion.json` in full."""


def read_report(path: Path) -> FusionReport:
    """The report inside an artifact or in a `.fusion.json` file; raises ArtifactError AF544 where there is none."""
    try:
        if path.suffix == REPORT_SUFFIX:
            return parse_json(path.read_text("utf-8"))
        return parse_json(read_artifact(path, verify_weights=False).report)
    except (OSError, ValueError) as error:
        place = repr(str(path)) if path.suffix == REPORT_SUFFIX else f"in {str(path)!r}"
        message = f"the report {place} cannot be read: {_reason(error)}"
        raise ArtifactError(Diagnostic("AF544", message, help="compile the model again")) from error


def read_baseline(path: Path) -> FusionReport:
    """The report in a `.fusion.json` file, or inside an artifact; raises UsageError AF610 where there is none."""
    if path.suffix == SUFFIX:
        return read_report(path)
    try:
        return parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        message = f"cannot read the baseline {str(path)!r}: {_reason(error)}"
        remedy = "name a .fusion.json file that stood beside an artifact, or write one with --write-baseline"
        raise UsageError(Diagnostic("AF610", message, help=remedy)) from error


def write_baseline(path: Path, report: FusionReport) -> None:
    """Write `report` to the file `path`, over an earlier one; raises ArtifactError AF515 or AF516 where it cannot."""
    publish_files({path: partial(_write, render_json(report).encode())})


def _write(data: bytes, file: BinaryIO) -> None:
    file.write(data)


def _reason(error: OSError | ValueError) -> str:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return reason[:1].lower() + reason[1:]
