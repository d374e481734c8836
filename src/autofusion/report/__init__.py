"""Reports as plain records, and their renderings."""

from autofusion.report.records import (
    FusedNode,
    FusionReport,
    HostStep,
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
    "HostStep",
    "MissedNode",
    "NodeComparison",
    "NormalizedCount",
    "PatternCount",
    "VerifyReport",
]
