"""Comparison of two reports."""

from __future__ import annotations

from dataclasses import replace

from autofusion.decisions import HostStep
from autofusion.report.baseline import compare_reports
from autofusion.report.records import FusedNode, FusionReport, MissedNode, PatternCount
from report.samples import FULL


def relu_pattern(matched: int) -> PatternCount:
    return PatternCount("Conv+BN+ReLU", "ConvBNReluFusionOp", 1, matched, 0, 1.35)


def report_of(matched: int, **changes: object) -> FusionReport:
    nodes = tuple(
        FusedNode(f"relu{i}", "Conv+BN+ReLU", "ConvBNReluFusionOp", (f"conv{i}", f"bn{i}", f"relu{i}"))
        for i in range(matched)
    )
    return replace(FULL, patterns=(relu_pattern(matched),), fused=nodes, misses=(), host=(), **changes)


def test_equal_reports_have_no_changes() -> None:
    assert compare_reports(FULL, FULL) == ()


def test_a_lost_match_names_its_node_what_became_of_it_and_why() -> None:
    now = report_of(2)
    missed = MissedNode("relu2", "Conv+BN+ReLU", "CONSUMER", "value 'y' is also read by Add_17")
    smaller = FusedNode("bn2", "Conv+BN", "ConvBNFusionOp", ("conv2", "bn2"))
    now = replace(now, misses=(missed,), fused=(*now.fused, smaller))
    (change,) = compare_reports(report_of(3), now)
    assert change.line == "changed: Conv+BN+ReLU matched 2 times, 3 before"
    assert change.worse
    assert change.details == ("relu2: now Conv+BN, value 'y' is also read by Add_17 [CONSUMER]",)


def test_lost_and_gained_patterns() -> None:
    (lost,) = compare_reports(report_of(1), report_of(0))
    (gained,) = compare_reports(report_of(0), report_of(1))
    assert (lost.kind, lost.worse, lost.details) == ("lost", True, ("relu0: not fused now",))
    assert lost.line == "lost: Conv+BN+ReLU matched 1 time before, never now"
    assert (gained.kind, gained.worse, gained.details) == ("gained", False, ())


def test_more_left_to_run_is_worse_and_less_is_better() -> None:
    now = replace(report_of(1), operators_after=7, steps=6, host=(HostStep("Resize_1", "Resize", "mode cubic"),))
    changes = {change.subject: change for change in compare_reports(report_of(1), now)}
    assert {subject: change.worse for subject, change in changes.items()} == {
        "operators after fusion": True,
        "steps": False,
        "host steps": True,
    }
    assert changes["host steps"].details == ("Resize_1: Resize runs on the host, mode cubic",)


def test_another_model_alone_is_not_worse() -> None:
    (change,) = compare_reports(report_of(1), report_of(1, operators_before=13))
    assert (change.line, change.worse) == ("changed: operators before fusion 13, 12 before", False)
