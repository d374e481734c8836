"""The full fusion report as JSON text, and back."""

from __future__ import annotations

import json
from typing import cast

from autofusion.report.records import FusionReport


def render_json(report: FusionReport) -> str:
    """The report as JSON with a final line break; the same report gives the same bytes."""
    return json.dumps(report.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def parse_json(text: str) -> FusionReport:
    """The report that `render_json` wrote; raises ValueError saying what is wrong with it."""
    try:
        data: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at line {error.lineno}") from error
    if not isinstance(data, dict):
        raise ValueError("no JSON object")
    return FusionReport.from_dict(cast("dict[str, object]", data))
