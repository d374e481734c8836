"""Fusion reports as JSON and back."""

from __future__ import annotations

import json

import pytest

from autofusion.report.json import parse_json, render_json
from autofusion.report.records import FusionReport
from report.samples import ARTICLE, FULL, STORED, TUNED

KEYS = [
    "operators_before",
    "operators_after",
    "steps",
    "host_steps",
    "patterns",
    "normalized",
    "fused",
    "misses",
    "host",
    "by_type_before",
    "by_type_after",
    "estimated_speedup",
    "precision",
    "weights",
    "carried",
    "halves",
    "limits",
    "gears",
    "layers",
    "bank",
]


@pytest.mark.parametrize("report", [ARTICLE, FULL, STORED, TUNED])
def test_comes_back_from_json(report: FusionReport) -> None:
    assert report == parse_json(render_json(report))


def test_has_stable_keys_and_a_measured_speedup_only_where_measured() -> None:
    data = json.loads(render_json(FULL))
    assert list(data) == KEYS
    assert data["host_steps"] == 2
    assert [row["measured_speedup"] for row in data["patterns"]] == [None, 1.62, None]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": "7"}, "'steps' is '7', not a whole number"),
        ({"steps": True}, "'steps' is True, not a whole number"),
        ({"patterns": {}}, "'patterns' is no list"),
        ({"patterns": [1]}, "row 0 of 'patterns' is no table"),
        ({"normalized": [{"name": "a", "matched": 1}]}, "row 0 of 'normalized': key 'op' is missing"),
        (
            {"normalized": [{"name": "a", "op": "A", "matched": 1, "sources": 1}]},
            "row 0 of 'normalized': 'sources' is no table",
        ),
        ({"by_type_after": {"Conv": 1.5}}, "'Conv' is 1.5, not a whole number"),
        ({"bank": {"name": "b"}}, "key 'target' is missing"),
        (
            {"layers": [{"nodes": [], "section": "op"}]},
            "row 0 of 'layers': 'section' is 'op', not one of operators, graph",
        ),
        ({"estimated_speedup": None}, "'estimated_speedup' is None, not a number"),
    ],
)
def test_says_what_is_wrong_with_a_damaged_report(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        FusionReport.from_dict({**FULL.to_dict(), **change})
    assert message == str(caught.value)


@pytest.mark.parametrize(("text", "message"), [("{", "no JSON: "), ("[]", "no JSON object"), ("{}", "key 'operators")])
def test_says_what_is_no_report(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_json(text)
    assert str(caught.value).startswith(message)


def test_counts_matches_by_display_name() -> None:
    assert [FULL.matched("Conv+BN+ReLU"), FULL.matched("Attention")] == [2, 0]


def test_an_older_report_has_no_precision() -> None:
    older = {name: value for name, value in FULL.to_dict().items() if name not in ("precision", "weights", "carried")}
    assert FusionReport.from_dict(older) == FULL
