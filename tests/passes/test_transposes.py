"""Transposes in a row."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from autofusion.passes.transposes import merge_transposes
from frontend.models import random
from passes.passing import apply, ops

ORDERS = list(permutations(range(3)))


def run(body: str, folder: Path, outputs: str = "float y") -> str:
    text = f"g (float[2, 3, 4] x) => ({outputs}) {{ {body} }}"
    return ops(apply(merge_transposes, text, folder, {"x": random(1, 2, 3, 4)}))


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("a = Transpose<perm = [0, 1, 2]>(x) y = Neg(a)", "Neg"),
        ("a = Transpose<perm = [2, 0, 1]>(x) b = Transpose<perm = [1, 2, 0]>(a) y = Neg(b)", "Neg"),
        ("a = Transpose(x) b = Transpose(a) y = Neg(b)", "Neg"),
        ("a = Transpose<perm = [1, 2, 0]>(x) y = Transpose<perm = [0, 2, 1]>(a)", "Transpose"),
        ("a = Transpose<perm = [1, 2, 0]>(x) b = Neg(a) y = Transpose<perm = [2, 0, 1]>(b)", "Transpose Neg Transpose"),
        ("y = Transpose<perm = [0, 1, 2]>(x)", "Identity"),
    ],
)
def test_pairs(tmp_path: Path, body: str, left: str) -> None:
    assert run(body, tmp_path) == left


@pytest.mark.parametrize("first", ORDERS)
@pytest.mark.parametrize("second", ORDERS)
def test_the_second_acts_on_the_axes_of_the_first(
    tmp_path: Path, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    body = f"a = Transpose<perm = {list(first)}>(x) b = Transpose<perm = {list(second)}>(a) y = Neg(b)"
    assert run(body, tmp_path) in ("Neg", "Transpose Neg")


def test_a_transpose_that_others_read_stays_unless_the_pair_cancels(tmp_path: Path) -> None:
    first = "a = Transpose<perm = [1, 2, 0]>(x) z = Neg(a)"
    left = run(f"{first} b = Transpose<perm = [0, 2, 1]>(a) y = Neg(b)", tmp_path, "float y, float z")
    assert left == "Transpose Transpose Neg Neg"
    assert (
        run(f"{first} b = Transpose<perm = [2, 0, 1]>(a) y = Neg(b)", tmp_path, "float y, float z")
        == "Neg Transpose Neg"
    )


def test_views_and_quantisation_between_stay(tmp_path: Path) -> None:
    body = "a = Transpose<perm = [1, 0, 2]>(x) b = Flatten(a) y = Transpose<perm = [1, 0]>(b)"
    assert run(body, tmp_path) == "Transpose Flatten Transpose"


def test_in_a_branch(tmp_path: Path) -> None:
    text = """g (float[2, 3, 4] x, bool c) => (float y) {
        y = If(c) <then_branch = t () => (float[2, 3, 4] u) {
                a = Transpose<perm = [2, 0, 1]>(x) b = Transpose<perm = [1, 2, 0]>(a) u = Neg(b) },
            else_branch = e () => (float[2, 3, 4] v) { v = Transpose<perm = [0, 1, 2]>(x) }> }"""
    for condition in (True, False):
        feeds = {"x": random(1, 2, 3, 4), "c": np.array(condition)}
        graph = apply(merge_transposes, text, tmp_path, feeds)
        assert [ops(nested) for _, nested in next(iter(graph)).subgraphs()] == ["Neg", "Identity"]
