"""Elementwise operators between Transposes."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.passes.regions import merge_regions
from autofusion.passes.transposes import merge_transposes
from frontend.models import random
from passes.passing import apply, ops

FEEDS = {"x": random(1, 2, 3, 4, 5), "z": random(2, 2, 3, 4, 5)}
THERE, BACK = "Transpose<perm = [0, 2, 3, 1]>", "Transpose<perm = [0, 3, 1, 2]>"


def reduce(body: str, folder: Path) -> str:
    text = f"""g (float[2, 3, 4, 5] x, float[2, 3, 4, 5] z) => (float y)
        <float[3] g = {{1, 2, 3}}, float[4, 1, 1] h = {{1, 2, 3, 4}},
         float half = {{0.5}}, int64[2] sizes = {{1, 2}}> {{ {body} }}"""
    run = lambda graph: merge_regions(graph) + merge_transposes(graph)  # noqa: E731
    return ops(apply(run, text, folder, FEEDS))


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (f"a = {THERE}(x) b = Relu(a) c = {BACK}(b) y = Neg(c)", "Relu Neg"),
        (f"a = {THERE}(x) b = Mul(a, g) c = Add(h, b) d = {BACK}(c) y = Neg(d)", "Mul Add Neg"),
        (f"a = {THERE}(x) b = Mul(a, half) c = {BACK}(b) y = Neg(c)", "Mul Neg"),
        # Two Transposes in, one out.
        (f"a = {THERE}(x) b = {THERE}(z) y = Sub(a, b)", "Sub Transpose"),
        (f"a = {THERE}(x) b = {THERE}(z) c = Sub(a, b) d = {BACK}(c) y = Neg(d)", "Sub Neg"),
        # Axes move along.
        (f"a = {THERE}(x) b = {THERE}(z) c = Concat<axis = 3>(a, b) d = {BACK}(c) y = Neg(d)", "Concat Neg"),
        (
            f"""a = {THERE}(x) b, c = Split<axis = -1>(a, sizes) d = {BACK}(b) e = {BACK}(c)
                f = Neg(e) y = Concat<axis = 1>(d, f)""",
            "Split Neg Concat",
        ),
        # What others read of a Transpose keeps it.
        (f"a = {THERE}(x) b = Abs(a) c = {BACK}(b) d = {BACK}(a) e = Neg(c) y = Sub(e, d)", "Abs Neg Sub"),
        # A chain with residuals, as images have them: one Transpose for each reader that wants it.
        (
            f"a = {THERE}(x) b = Abs(a) c = {THERE}(z) d = Mul(c, g) e = Add(b, d) f = {BACK}(e) y = Neg(f)",
            "Abs Mul Add Neg",
        ),
    ],
)
def test_transposes_go(tmp_path: Path, body: str, left: str) -> None:
    assert reduce(body, tmp_path) == left


@pytest.mark.parametrize(
    "body",
    [
        # As many afterwards as before.
        f"a = {THERE}(x) y = Relu(a)",
        f"a = {THERE}(x) b = Relu(a) c = Transpose<perm = [0, 2, 1, 3]>(b) y = Neg(c)",
        # The other operand is computed in this order.
        f"a = {THERE}(x) n = Abs(z) r = Expand(n, like) y = Add(a, r)",
        f"a = {THERE}(x) b = ReduceSum<keepdims = 1>(a) c = Add(a, b) y = {THERE}(c)",
    ],
)
def test_what_stays(tmp_path: Path, body: str) -> None:
    before = body.count("Transpose")
    text = (
        f"""g (float[2, 3, 4, 5] x, float[2, 1, 1, 1] z) => (float y) <int64[4] like = {{2, 4, 5, 3}}> {{ {body} }}"""
    )
    graph = apply(merge_regions, text, tmp_path, {"x": FEEDS["x"], "z": random(3, 2, 1, 1, 1)})
    assert ops(graph).count("Transpose") == before


def test_an_operand_in_the_other_order_is_worth_a_transpose(tmp_path: Path) -> None:
    """Two go, one comes."""
    body = f"""o = Abs(z) a = {THERE}(x) b = Neg(a) p = {THERE}(z) q = Relu(p) s = Sub(b, q) t = Mul(s, o)
               u = {BACK}(t) y = Neg(u)"""
    text = f"g (float[2, 3, 3, 3] x, float[2, 3, 3, 3] z) => (float y) {{ {body} }}"
    graph = apply(merge_regions, text, tmp_path, {"x": random(1, 2, 3, 3, 3), "z": random(2, 2, 3, 3, 3)})
    assert ops(graph).count("Transpose") == 1


def test_softmax_keeps_its_axis(tmp_path: Path) -> None:
    text = f"g (float[2, 3, 4, 5] x) => (float y) {{ a = {THERE}(x) b = HardSigmoid(a) s = Hardmax(b) y = {BACK}(s) }}"
    assert ops(apply(merge_regions, text, tmp_path, {"x": FEEDS["x"]})) == "Transpose HardSigmoid Hardmax Transpose"
    text = f"g (float[2, 1, 1, 2] x) => (float y) {{ a = {THERE}(x) s = Softmax<axis = 2>(a) y = {BACK}(s) }}"
    graph = apply(merge_regions, text, tmp_path, {"x": random(1, 2, 1, 1, 2) * 0})
    assert [node.attributes.get("axis") for node in graph if node.op == "Softmax"] == [3]


def test_outputs_in_the_middle_keep_their_transpose(tmp_path: Path) -> None:
    text = f"""g (float[2, 3, 4, 5] x, float[2, 3, 4, 5] z) => (float y, float w)
        {{ a = {THERE}(x) b = {THERE}(z) w = Sub(a, b) n = Abs(w) c = {BACK}(n) y = Neg(c) }}"""
    graph = apply(merge_regions, text, tmp_path, FEEDS)
    assert sorted(ops(graph).split()) == ["Abs", "Neg", "Sub", "Transpose"]
