"""Fusion: matching patterns against a graph, judging legality, choosing, rewriting, and saying what did not apply."""

from autofusion.fusion.controls import ALL, Controls, check_node_names, find_nodes, find_patterns
from autofusion.fusion.fuse import Fusion, FusionResult, fuse
from autofusion.fusion.manual.resolve import resolve_rules
from autofusion.fusion.manual.rule_file import RuleSource, read_rules
from autofusion.fusion.manual.rules import Rule
from autofusion.fusion.misses import Miss, rank_miss
from autofusion.fusion.reasons import AUTO_DISABLE, Code, Reason

__all__ = [
    "ALL",
    "AUTO_DISABLE",
    "Code",
    "Controls",
    "Fusion",
    "FusionResult",
    "Miss",
    "Reason",
    "Rule",
    "RuleSource",
    "check_node_names",
    "find_nodes",
    "find_patterns",
    "fuse",
    "rank_miss",
    "read_rules",
    "resolve_rules",
]
