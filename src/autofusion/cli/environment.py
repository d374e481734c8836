"""The environment variables that the commands read."""

from __future__ import annotations

import os
import re


def disabled_fusions() -> tuple[str, ...]:
    """Names in GE_FUSION_DISABLE_LIST, separated by commas, semicolons or blanks."""
    return tuple(name for name in re.split(r"[,;\s]+", os.environ.get("GE_FUSION_DISABLE_LIST", "")) if name)


def wants_report() -> bool:
    """True where GE_GRAPH_FUSION_LOG=1 or ASCEND_GLOBAL_LOG_LEVEL (0 debug, 1 info) asks for the fusion report."""
    if os.environ.get("GE_GRAPH_FUSION_LOG", "").strip() == "1":
        return True
    return os.environ.get("ASCEND_GLOBAL_LOG_LEVEL", "").strip() in ("0", "1")
