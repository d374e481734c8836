"""Neutral operands: only where they change neither shape nor bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autofusion.passes.neutral import remove_neutral
from passes.passing import apply, ops

CONSTANTS = (
    "float zero = {0}, float negative = {-0.0}, float one = {1}, float[1] ones1 = {1}, float[3] ones3 = {1, 1, 1}, "
    "float[1, 1, 1] ones111 = {1}, float[4, 3] ones43 = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "
    "float[3] almost = {1, 1, 1.0001}, int64 i0 = {0}, int64 i1 = {1}, double d1 = {1}, "
    "bool true = {1}, bool false = {0}"
)
X = np.array([[-2.5, -0.0, 3.0]], np.float32)


def run(body: str, folder: Path, kind: str = "float[1, 3]", feed: np.ndarray = X) -> str:
    element = kind.partition("[")[0]
    text = f"g ({kind} x) => ({element} y) <{CONSTANTS}> {{ {body} }}"
    return ops(apply(remove_neutral, text, folder, {"x": feed}))


@pytest.mark.parametrize(
    "body",
    [
        "a = Mul(x, one) y = Sqrt(a)",
        "a = Mul(one, x) y = Sqrt(a)",
        "a = Mul(x, ones1) y = Sqrt(a)",
        "a = Mul(x, ones3) y = Sqrt(a)",
        "a = Div(x, one) y = Sqrt(a)",
        "a = Pow(x, one) y = Sqrt(a)",
        "a = Pow(x, i1) y = Sqrt(a)",
        "a = Pow(x, d1) y = Sqrt(a)",
        "a = Sub(x, zero) y = Sqrt(a)",
        "a = Add(x, negative) y = Sqrt(a)",
        "a = Add(negative, x) y = Sqrt(a)",
    ],
)
def test_neutral_operands_go(tmp_path: Path, body: str) -> None:
    assert run(body, tmp_path) == "Sqrt"


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("y = Sub(zero, x)", "Sub"),
        ("y = Div(one, x)", "Div"),
        ("y = Pow(one, x)", "Pow"),
        ("y = Mul(x, ones43)", "Mul"),
        ("y = Mul(x, ones111)", "Mul"),
        ("y = Mul(x, almost)", "Mul"),
        ("y = Mul(x, zero)", "Mul"),
        ("y = Add(x, zero)", "Add"),
        ("y = Sub(x, negative)", "Sub"),
        ("a = Add(x, zero) y = Div(one, a)", "Add Div"),
        ("a = Add(x, zero) b = Exp(a) c = Neg(a) y = Add(b, c)", "Add Exp Neg Add"),
    ],
)
def test_others_stay(tmp_path: Path, body: str, left: str) -> None:
    assert run(body, tmp_path) == left


@pytest.mark.parametrize(
    "body",
    ["a = Exp(x) b = Add(a, zero) y = Div(one, b)", "b = Add(x, zero) a = Exp(b) y = Div(one, a)"],
)
def test_a_sum_with_plus_zero_goes_where_no_sign_of_a_zero_is_seen(tmp_path: Path, body: str) -> None:
    assert run(body, tmp_path) == "Exp Div"


def test_an_output_keeps_its_name(tmp_path: Path) -> None:
    assert run("a = Sqrt(x) y = Mul(a, one)", tmp_path) == "Sqrt"
    assert run("y = Mul(x, one)", tmp_path) == "Identity"


@pytest.mark.parametrize(
    ("body", "kind", "left"),
    [
        ("a = Add(x, i0) y = Neg(a)", "int64[3]", "Neg"),
        ("a = Sub(x, i0) y = Neg(a)", "int64[3]", "Neg"),
        ("a = Pow(x, one) y = Neg(a)", "int64[3]", "Neg"),
        ("a = And(x, true) y = Not(a)", "bool[3]", "Not"),
        ("a = Or(false, x) y = Not(a)", "bool[3]", "Not"),
        ("a = And(x, false) y = Not(a)", "bool[3]", "And Not"),
        ("a = Or(x, true) y = Not(a)", "bool[3]", "Or Not"),
    ],
)
def test_integers_and_truth_values(tmp_path: Path, body: str, kind: str, left: str) -> None:
    feed = np.array([-1, 0, 7], np.int64) if kind.startswith("int64") else np.array([True, False, True])
    assert run(body, tmp_path, kind, feed) == left


def test_a_scalar_is_not_made_a_vector(tmp_path: Path) -> None:
    scalar = np.array(1.5, np.float32)
    assert run("a = Mul(x, ones1) y = Concat<axis = 0>(a, ones3)", tmp_path, "float", scalar) == "Mul Concat"
    assert run("a = Mul(x, one) y = Sqrt(a)", tmp_path, "float", scalar) == "Sqrt"


def test_zeros_of_symbolic_extent_are_compared_by_their_symbol(tmp_path: Path) -> None:
    text = f"g (float[n, 3] x) => (float[n, 3] y) <{CONSTANTS}> {{ a = Mul(x, ones3) b = Mul(a, ones43) y = Neg(b) }}"
    assert ops(apply(remove_neutral, text, tmp_path, {"x": np.ones((4, 3), np.float32)})) == "Mul Neg"
