"""Models with control flow, sequences and strings, from the file to the values, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import pytest

import autofusion
from autofusion.options import CompileOptions
from frontend.models import assert_same, parse, random, run_runtime, save

Backend = Literal["native", "reference"]
Feeds = Mapping[str, np.ndarray]

LOOP_IN_IF = """
main (float[n, 3] x, int64 turns, bool on) => (float[n, 3] y, float[t, n, 3] steps)
<float[3] k = {1.0, 2.0, 3.0}, float[3] outer = {0.5, 0.25, 0.125}, bool yes = {1}> {
  hidden = Relu(x)
  y, steps = If (on) <
    then_branch = then () => (float[n, 3] last, float[t, n, 3] all) {
      last, all = Loop (turns, yes, x) <
        body = body (int64 turn, bool going, float[n, 3] state) => (bool again, float[n, 3] next, float[n, 3] shown)
        <float[3] inner = {3.0, 2.0, 1.0}> {
          again = Identity (going)
          scaled = Mul (state, inner)
          shifted = Add (scaled, hidden)
          number = Cast <to = 1> (turn)
          summed = Add (shifted, number)
          next = Mul (summed, outer)
          shown = Sub (next, k)
        }
      >
    },
    else_branch = other () => (float[n, 3] plain, float[t, n, 3] one) {
      plain = Neg (hidden)
      axes = Constant <value = int64[1] {0}> ()
      one = Unsqueeze (x, axes)
    }
  >
}
"""
STATELESS_LOOP = """
main (float[n, 3] x, int64 turns) => (float[t, n, 3] all) <bool yes = {1}> {
  all = Loop (turns, yes) <
    body = body (int64 turn, bool going) => (bool again, float[n, 3] shown) {
      again = Identity (going)
      number = Cast <to = 1> (turn)
      shown = Add (x, number)
    }
  >
}
"""
SCAN = """
main (float[s, 2] first, float[s, 2] second, float[2] total, float product)
  => (float[2] total_out, float product_out, float[2, s] sums, float[s] products) {
  total_out, product_out, sums, products = Scan <
    num_scan_inputs = 2, scan_input_directions = [0, 1], scan_output_axes = [1, 0], scan_output_directions = [1, 0],
    body = body (float[2] a, float b, float[2] row, float[2] mirrored)
      => (float[2] a_out, float b_out, float[2] a_shown, float b_shown) {
      both = Mul (row, mirrored)
      a_out = Add (a, both)
      largest = ReduceMax <keepdims = 0> (row)
      b_out = Add (b, largest)
      a_shown = Identity (a_out)
      b_shown = Sub (b_out, b)
    }
  > (total, product, first, second)
}
"""
CAPTURED_OUTPUTS = """
main (float[2] x, bool c) => (float[2] a, float[2] b, float[2] z) <float[2] k = {1.0, 2.0}> {
  a, b = If (c) <
    then_branch = then () => (float[2] x, float[2] k) { unused = Neg (x) },
    else_branch = other () => (float[2] own, float[2] r) <float[2] own = {7.0, 8.0}> { r = Relu (x) }
  >
  z = Add (a, b)
}
"""
CONV_IN_BRANCH = """
main (float[1, 2, 5, 5] x, bool c) => (float[1, 3, 5, 5] y) <float[3, 2, 1, 1] w = {1.0, 2.0, -1.0, 3.0, 0.5, -0.5}> {
  y = If (c) <
    then_branch = then () => (float[1, 3, 5, 5] t)
    <float[3] scale = {1.0, 2.0, 3.0}, float[3] shift = {0.1, 0.2, 0.3}, float[3] mean = {0.5, 0.0, 1.0},
     float[3] var = {1.0, 2.0, 0.5}> {
      conv = Conv (x, w)
      norm = BatchNormalization (conv, scale, shift, mean, var)
      t = Relu (norm)
    },
    else_branch = other () => (float[1, 3, 5, 5] e) {
      conv = Conv (x, w)
      gate = Sigmoid (conv)
      e = Mul (conv, gate)
    }
  >
}
"""
SEQUENCES = """
main (float[4, 3] x, int64 at) => (float[p, 3] y, int64 count, float[q, 3] all) <int64[2] parts = {1, 3}> {
  pieces = SplitToSequence <axis = 0> (x, parts)
  more = SequenceInsert (pieces, x)
  y = SequenceAt (more, at)
  count = SequenceLength (more)
  all = ConcatFromSequence <axis = 0> (more)
}
"""
SEQUENCE_IN_LOOP = """
main (float[2] x) => (float[m] y) <int64 three = {3}, bool yes = {1}> {
  start = SequenceConstruct (x)
  grown = Loop (three, yes, start) <
    body = body (int64 i, bool c, seq(float[2]) s) => (bool again, seq(float[2]) longer) {
      again = Identity (c)
      last = SequenceAt (s, i)
      twice = Add (last, last)
      longer = SequenceInsert (s, twice)
    }
  >
  y = ConcatFromSequence <axis = 0> (grown)
}
"""
SEQUENCE_MAP = """
main (float[4, 3] x, float[3] k) => (float[4, 3] y) <int64 two = {2}> {
  pieces = SplitToSequence <axis = 0> (x, two)
  mapped = SequenceMap (pieces, k) <
    body = body (float[m, 3] piece, float[3] other) => (float[m, 3] sum) { sum = Add (piece, other) }
  >
  y = ConcatFromSequence <axis = 0> (mapped)
}
"""


@pytest.fixture(params=["native", "reference"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


def open_model(proto: onnx.ModelProto, folder: Path, backend: Backend) -> autofusion.Session:
    options = CompileOptions(backend=backend)
    autofusion.compile(save(proto, folder), folder / "model.om", options)
    return autofusion.load(folder / "model.om", backend=backend)


def check(text: str, cases: Sequence[Feeds], folder: Path, backend: Backend, *, opset: int = 17) -> None:
    proto = parse(text, opset=opset)
    session = open_model(proto, folder, backend)
    for feeds in cases:
        assert_same(run_runtime(proto, feeds), session.run(feeds))


@pytest.mark.parametrize("on", [True, False])
def test_a_loop_in_a_branch_captures_from_all_graphs_round_it(on: bool, tmp_path: Path, backend: Backend) -> None:
    turns = (3, 1, 0) if on else (1,)
    cases = [
        {"x": random(turn + rows, rows, 3), "turns": np.array(turn), "on": np.array(on)}
        for turn in turns
        for rows in (1, 4)
    ]
    check(LOOP_IN_IF, [case for case in cases if case["turns"] > 0], tmp_path, backend)


def test_a_loop_without_turns_hands_its_state_back(tmp_path: Path, backend: Backend) -> None:
    session = open_model(parse(LOOP_IN_IF), tmp_path, backend)
    x = random(1, 2, 3)
    found = session.run({"x": x, "turns": np.array(0), "on": np.array(True)})
    np.testing.assert_array_equal(found["y"], x)
    assert found["steps"].shape[0] == 0
    assert found["steps"].dtype == np.float32


@pytest.mark.parametrize("condition", ["yes", ""])
def test_a_loop_without_state_stacks_what_its_turns_show(condition: str, tmp_path: Path, backend: Backend) -> None:
    proto = parse(STATELESS_LOOP)
    proto.graph.node[0].input[1] = condition
    session = open_model(proto, tmp_path, backend)
    for turns in (1, 3):
        feeds = {"x": random(turns, 2, 3), "turns": np.array(turns)}
        assert_same(run_runtime(proto, feeds), session.run(feeds))


def test_scan_carries_two_states(tmp_path: Path, backend: Backend) -> None:
    cases = [
        {
            "first": random(1, rows, 2),
            "second": random(2, rows, 2),
            "total": random(3, 2),
            "product": np.array(rows, np.float32),
        }
        for rows in (1, 5)
    ]
    check(SCAN, cases, tmp_path, backend)


@pytest.mark.parametrize("c", [True, False])
def test_branches_may_give_what_they_did_not_compute(c: bool, tmp_path: Path, backend: Backend) -> None:
    x = random(1, 2)
    found = open_model(parse(CAPTURED_OUTPUTS), tmp_path, backend).run({"x": x, "c": np.array(c)})
    own, right = np.array([7, 8], np.float32), np.array([1, 2], np.float32)
    a, b = (x, right) if c else (own, np.maximum(x, 0))
    assert_same({"a": a, "b": b, "z": a + b}, found)


@pytest.mark.parametrize("c", [True, False])
def test_fused_nodes_in_a_branch_keep_their_meaning(c: bool, tmp_path: Path, backend: Backend) -> None:
    check(CONV_IN_BRANCH, [{"x": random(1, 1, 2, 5, 5), "c": np.array(c)}], tmp_path, backend)


def test_sequences_pass_between_host_steps(tmp_path: Path, backend: Backend) -> None:
    cases = [{"x": random(1, 4, 3), "at": np.array(at)} for at in (0, 1, -1)]
    check(SEQUENCES, cases, tmp_path, backend)


def test_a_loop_carries_a_sequence(tmp_path: Path, backend: Backend) -> None:
    check(SEQUENCE_IN_LOOP, [{"x": random(1, 2)}], tmp_path, backend)


def test_a_graph_is_mapped_over_a_sequence(tmp_path: Path, backend: Backend) -> None:
    check(SEQUENCE_MAP, [{"x": random(1, 4, 3), "k": random(2, 3)}], tmp_path, backend)
