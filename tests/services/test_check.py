"""What a build demands of a report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autofusion.diagnostics import Severity
from autofusion.services.check import Demands, check_report
from report.samples import ARTICLE, FULL


def lines(demands: Demands) -> list[str]:
    return [f"{found.severity.value}[{found.code}]: {found.message}" for found in check_report(FULL, demands)]


@pytest.mark.parametrize(
    "demands",
    [
        Demands(),
        Demands(minimums={"Conv+BN+ReLU": 2, "ConvBNReluPoolFusionOp": 1, "Gelu": 3}),
        Demands(minimums={"conv_bn_act": 2, "conv_pool": 1, "gelu_erf": 2, "gelu_tanh": 1}),
        Demands(max_operators=6, max_host_steps=2),
        Demands(baseline=FULL),
    ],
)
def test_finds_nothing_where_all_is_as_demanded(demands: Demands) -> None:
    assert lines(demands) == []


@pytest.mark.parametrize(
    ("demands", "line"),
    [
        (Demands(minimums={"Conv+BN+ReLU": 3}), "[AF611]: Conv+BN+ReLU matched 2 times, at least 3 are demanded"),
        (Demands(max_operators=5), "[AF612]: 6 operators are left, at most 5 are allowed"),
        (Demands(max_host_steps=1), "[AF613]: 2 steps run on the host, at most 1 are allowed"),
        (
            Demands(baseline=replace(FULL, operators_after=5)),
            "[AF614]: changed: operators after fusion 6, 5 before",
        ),
    ],
)
def test_says_what_is_not_as_demanded(demands: Demands, line: str) -> None:
    assert lines(demands) == [f"error{line}"]


def test_says_why_a_fusion_is_missing() -> None:
    (found,) = check_report(FULL, Demands(minimums={"Conv+BN+ReLU": 5}))
    assert found.notes[0] == "not fused at conv3: value 'y' is also read by Add_17 [MULTI_READER]"


def test_says_how_many_host_steps_are_not_shown() -> None:
    report = replace(FULL, host=tuple(replace(FULL.host[0], node=f"n{place}") for place in range(7)))
    (found,) = check_report(report, Demands(max_host_steps=0))
    assert found.notes == (*(f"n{place}: Resize" for place in range(5)), "and 2 more")


def test_says_how_a_change_is_accepted() -> None:
    before = replace(FULL, operators_after=5, steps=9)
    found = check_report(FULL, Demands(baseline=before, acceptance="write it"))
    assert [change.help for change in found] == ["write it", ""]


def test_demands_nothing() -> None:
    assert Demands().is_empty
    assert not Demands(max_host_steps=0).is_empty


def test_suggests_the_name_that_was_meant() -> None:
    (found,) = check_report(FULL, Demands(minimums={"Conv+BN+Relu": 1}))
    assert found.help == "the report has Conv+BN+ReLU"
    (found,) = check_report(FULL, Demands(minimums={"conv_bn_akt": 1}))
    assert found.help == "the report has conv_bn_act"


def test_changes_to_the_better_are_notes() -> None:
    before = replace(FULL, operators_after=9, patterns=FULL.patterns[:1])
    found = check_report(FULL, Demands(baseline=before))
    assert [change.severity for change in found] == [Severity.NOTE, Severity.NOTE]


def test_shows_some_of_many_lost_nodes() -> None:
    before = replace(FULL, fused=tuple(replace(FULL.fused[2], origin=(f"n{i}",)) for i in range(9)))
    before = replace(before, patterns=(replace(FULL.patterns[0], matched=9), *FULL.patterns[1:]))
    (found,) = check_report(FULL, Demands(baseline=before))
    assert len(found.notes) == 6
    assert found.notes[-1] == "and 4 more"


def test_a_different_report_is_no_baseline_for_the_article() -> None:
    assert any(found.severity is Severity.ERROR for found in check_report(ARTICLE, Demands(baseline=FULL)))
