"""The report in the form of CANN's `fusion_result.json`: passes and how often each changed the graph."""

from __future__ import annotations

import json
import re
from collections import Counter

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


def pass_name(display: str, op: str) -> str:
    """The CANN pass of the same purpose, else the operator's name in CANN's manner (`SiluFusionPass`)."""
    for prefix, name in _PREFIXES:
        if prefix in (display, op) or display.startswith(f"{prefix}+"):
            return name
    words = re.split(r"[^0-9A-Za-z]+", op.removesuffix("FusionOp"))
    return "".join(word[:1].upper() + word[1:] for word in words) + "FusionPass"


_PREFIXES = (
    ("Conv+BN", "ConvBatchnormFusionPass"),
    ("ConvTranspose+BN", "Conv2DTransposeBatchnormFusionPass"),
    ("Conv+Mul", "AConv2dMulFusion"),
    ("Pad+Conv", "PadConv2dFusionPass"),
    ("MatMul+BiasAdd", "MatMulBiasAddFusionPass"),
    ("Add+LayerNorm", "AddLayerNormFusionPass"),
    ("LayerNorm", "LayerNormFusionPass"),
    ("LayerNormalization", "LayerNormFusionPass"),
    ("Gelu", "GeluFusionPass"),
    ("RotaryEmbedding", "RotaryMul2RotaryPositionEmbeddingFusionPass"),
)
