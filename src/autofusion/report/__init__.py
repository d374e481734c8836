"""Reports as plain records, and their renderings."""

from autofusion.report.records import (
    FusedNode,
    FusionReport,
    MissedNode,
    NormalizedCount,
    PatternCount,
)
from autofusion.report.verification import Comparison, Culprit, NodeComparison, VerifyReport

__all__ = [
    "Comparison",
    "Culprit",
    "FusedNode",
    "FusionReport",
    "MissedNode",
    "NodeComparison",
    "NormalizedCount",
    "PatternCount",
    "VerifyReport",
]
