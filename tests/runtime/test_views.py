"""Steps that read and write channels of one buffer, beside one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autofusion.errors import ArtifactError
from autofusion.plan import Buffer, Setting, Step
from autofusion.runtime.native import Native
from autofusion.runtime.session import Session
from runtime.cases import draw
from runtime.steps import PLAIN_EPILOGUE, Bench, Case, define
from runtime.test_check_records import refusal, share_memory

MakeSession = Callable[..., Session]

X = draw(2, 3, 4, 5)
WINDOW: dict[str, Any] = {"strides": [1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1]}
POOL = {"kind": "max", "is_global": False, "kernel": [3, 3], "include_pad": False, **WINDOW}
CONV = {"kernel": [3, 3], "group": 1, **WINDOW, **PLAIN_EPILOGUE}
NEGATE: list[Setting] = [["Neg", 0, 0, 0, 0.0, 0.0]]
CASES = {
    "conv": Case("conv", [X, draw(3, 3, 3, 3), None, None], CONV, X.shape),
    "depthwise": Case("conv", [X, draw(3, 1, 3, 3), None, None], {**CONV, "group": 3}, X.shape),
    "pool": Case("pool", [X], POOL, X.shape),
    "affine": Case("affine", [X, draw(3), draw(3)], PLAIN_EPILOGUE, X.shape),
    "unary": Case("unary", [X], {"op": "Abs"}, X.shape),
    "binary": Case("binary", [X, np.float32([2])], {"op": "Mul", **PLAIN_EPILOGUE}, X.shape),
    "pointwise": Case("pointwise", [X], {"program": NEGATE, "reduce": ""}, X.shape),
}


def beside(name: str, pitch: int, channels: int) -> Bench:
    """The case with operand and result in rows of `pitch` floats of one binding, `channels` apart."""
    case = CASES[name]
    case.layouts, case.result_layout = ("nhwc",), "nhwc"
    case.pitches, case.result_pitch = {0: pitch}, pitch
    bench = Bench(case)
    rows, size = 40, pitch * 4
    shared = np.full((rows + 1) * pitch, np.nan, np.float32)
    shared.reshape(rows + 1, pitch)[:rows, :3] = np.moveaxis(X, 1, -1).reshape(rows, 3)
    bench.bindings[-1] = shared
    for place in (0, 1):
        operand = bench.records["operands"][0, place]
        operand["slot"], operand["bytes"] = len(bench.bindings) - 1, rows * size - size + 12
    bench.records["operands"][0, 0]["offset"] = 4 * channels
    return bench


@pytest.mark.parametrize("pitch", [6, 7, 16])
@pytest.mark.parametrize("name", CASES)
def test_a_step_writes_beside_what_it_reads(native: Native, name: str, pitch: int) -> None:
    bench = beside(name, pitch, 3)
    native.check(bench.context())
    native.run(bench.context(), 0, 1)
    rows = bench.bindings[-1].reshape(41, pitch)[:40]
    expected = np.moveaxis(define(CASES[name]), 1, -1).reshape(40, 3)
    np.testing.assert_allclose(rows[:, 3:6], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(rows[:, :3], np.moveaxis(X, 1, -1).reshape(40, 3))
    assert np.isnan(rows[:, 6:]).all()


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("name", CASES)
def test_a_step_that_writes_what_it_reads_is_refused(native: Native, name: str, channels: int) -> None:
    assert "overlaps the result" in refusal(native, beside(name, 6, channels).context())


def test_rows_of_other_pitches_are_refused(native: Native) -> None:
    case = Case("unary", [X], {"op": "Neg"}, X.shape, ("nhwc",), {0: 8}, "nhwc", 9)
    assert "overlaps the result" in refusal(native, share_memory(case, 12).context())


def part(name: str, root: str, offset: int, *shape: int) -> Buffer:
    return Buffer(name, "float", shape, layout="nhwc", pitch=8, alias=root, offset=offset)


STEPS = [
    Step("relayout", "x", "Op", ("x",), ("a",)),
    Step("unary", "b", "Neg", ("a",), ("b",), {"op": "Neg"}),
    Step("unary", "c", "Abs", ("pair",), ("c",), {"op": "Abs"}),
    Step("relayout", "y", "Op", ("c",), ("y",)),
]
BUFFERS = [
    Buffer("x", "float", (2, 3, 4, 5), "input"),
    Buffer("root", "float", (2, 8, 4, 5), layout="nhwc"),
    part("a", "root", 0, 2, 3, 4, 5),
    part("b", "root", 3, 2, 3, 4, 5),
    part("pair", "root", 0, 2, 6, 4, 5),
    Buffer("c", "float", (2, 6, 4, 5), layout="nhwc"),
    Buffer("y", "float", (2, 6, 4, 5), "output"),
]


def test_a_session_shows_a_view_when_all_of_it_is_written(make_session: MakeSession) -> None:
    session = make_session("native", BUFFERS, STEPS)
    both = np.concatenate([X, -X], 1)
    np.testing.assert_array_equal(session.run({"x": X})["y"], np.abs(both))
    traced = session.trace({"x": X})
    assert list(traced) == ["a", "root", "b", "pair", "c", "y"]
    np.testing.assert_array_equal(traced["a"], X)
    np.testing.assert_array_equal(traced["b"], -X)
    np.testing.assert_array_equal(traced["pair"], both)


@pytest.mark.parametrize(
    ("buffer", "reason"),
    [
        (part("b", "root", 2, 2, 3, 4, 5), "writes 'b', which is written already"),
        (part("b", "root", 4, 2, 3, 4, 5), "reads 'pair' before it is written"),
        (part("b", "root", 11, 2, 3, 4, 5), "has elements that 'root' has not"),
        (part("b", "root", 6, 2, 3, 4, 5), "has elements that 'root' has not"),
    ],
)
def test_views_that_meet_are_refused(make_session: MakeSession, buffer: Buffer, reason: str) -> None:
    buffers = [buffer if known.name == "b" else known for known in BUFFERS]
    with pytest.raises((ValueError, ArtifactError), match=reason):
        make_session("native", buffers, STEPS)


def test_a_reference_plan_has_no_views(make_session: MakeSession) -> None:
    with pytest.raises((ValueError, ArtifactError), match="which a reference plan does not have"):
        make_session("reference", BUFFERS, STEPS)
