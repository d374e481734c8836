"""The report in the form of CANN's `fusion_result.json`: passes and how often each changed the graph."""

from __future__ import annotations

import json
from collections import Counter

from autofusion.cann_passes import pass_name
from autofusion.report.records import FusionReport


def render_cann(report: FusionReport) -> str:
    """JSON text with a final line break: counts are strings, keys sorted, passes without effect left out.

    Pattern counts of all fusions that belong to one CANN pass are added up.
    """
    counts: Counter[str] = Counter()
    for row in report.patterns:
        counts[pass_name(row.name, row.fused_op)] += row.matched
    for row in report.normalized:
        counts[pass_name(row.name, row.op)] += row.matched
    passes = {name: {"effect_times": str(count), "match_times": str(count)} for name, count in counts.items() if count}
    result = {"session_and_graph_id_0_0": {"graph_fusion": passes, "ub_fusion": {}}}
    return json.dumps(result, indent=4, sort_keys=True, ensure_ascii=False) + "\n"
