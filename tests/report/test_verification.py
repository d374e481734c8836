"""The verdict of a verification: records and table."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from autofusion.report.verification import (
    Comparison,
    Culprit,
    NodeComparison,
    StorageCost,
    StoredWeights,
    VerifyReport,
)
from autofusion.report.verification_text import render_verification
from conftest import CheckGolden

GOOD = Comparison("logits", "float32", (2, 1000), 0, {"batch": 2}, 3e-6, 2e-6, 1e-5)
BAD = replace(GOOD, seed=1, error=0.01, where="channel 7")
NODE = NodeComparison("relu1", "ConvBNReluFusionOp", "Conv+BN+ReLU", replace(BAD, name="relu1_out", dims={}))
FAILED = VerifyReport(
    "onnx.reference 1.19",
    "native",
    (GOOD, BAD, replace(GOOD, shape=(), reason="shape is (1,), expected ()")),
    (NODE, replace(NODE, result=GOOD)),
    Culprit("relu1", "Conv+BN+ReLU", "ConvBNReluFusionOp", "--disable ConvBNReluFusionOp"),
    ("2 nodes could not be compared",),
)


def test_says_what_is_wrong_and_how_to_turn_it_off(check_golden: CheckGolden) -> None:
    check_golden("report/verify_failed.txt", render_verification(FAILED))


STORED = StoredWeights(("bfloat16", "float16"), 12, {}, (StorageCost(9e-3, 4e-3, replace(GOOD, error=0.0)),))


@pytest.mark.parametrize(("wrong", "name"), [({}, "stored"), ({"fc.weight": 64}, "stored_wrong")])
def test_says_what_two_bytes_cost(check_golden: CheckGolden, wrong: dict[str, int], name: str) -> None:
    report = VerifyReport("onnx.reference 1.19", "native", (GOOD,), stored=replace(STORED, wrong=wrong))
    assert report.ok == (not wrong)
    check_golden(f"report/verify_{name}.txt", render_verification(report))
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))["stored"]
    assert [data["ok"], data["wrong"], data["outputs"][0]["share"]] == [report.ok, wrong, 4e-3]


def test_weights_that_no_output_shows_are_not_verified() -> None:
    stored = replace(STORED, costs=())
    assert not VerifyReport("onnx.reference 1.19", "native", (GOOD,), stored=stored).ok


def test_says_that_all_is_well(check_golden: CheckGolden) -> None:
    check_golden("report/verify_good.txt", render_verification(VerifyReport("onnx.reference 1.19", "native", (GOOD,))))


@pytest.mark.parametrize(
    ("changes", "ok"),
    [({}, True), ({"error": 1.1e-5}, False), ({"error": float("nan")}, False), ({"reason": "shape differs"}, False)],
)
def test_judges_a_comparison(changes: dict[str, object], ok: bool) -> None:
    assert ok == replace(GOOD, **changes).ok


def test_nothing_compared_is_not_verified() -> None:
    assert not VerifyReport("onnx.reference 1.19", "native", ()).ok


def test_json_has_no_bare_nan() -> None:
    report = VerifyReport("onnx.reference 1.19", "native", (replace(GOOD, error=float("nan")),))
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert [data["ok"], data["outputs"][0]["error"]] == [False, "nan"]
