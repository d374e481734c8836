"""Clip and Relu after one another."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from autofusion.passes.limits import merge_limits
from frontend.models import model, node, read, tensor
from passes.passing import apply, ops

CONSTANTS = (
    "float m3 = {-3}, float m1 = {-1}, float k0 = {0}, float k2 = {2}, float k6 = {6}, float k9 = {9}, "
    "int64 i2 = {2}, int64 i6 = {6}"
)
X = np.array([-1e30, -4, -2, -0.5, 0.5, 1.5, 4, 7, 1e30, np.nan], np.float32)


def run(body: str, folder: Path, outputs: str = "float y") -> tuple[str, list[float | None]]:
    """The operators that are left, and the limits of the last Clip."""
    graph = apply(merge_limits, f"g (float[10] x) => ({outputs}) <{CONSTANTS}> {{ {body} }}", folder, {"x": X})
    limits: list[float | None] = []
    for item in graph:
        if item.op == "Clip":
            limits = [float(graph.constants[name]) if name else None for name in item.inputs[1:]]
    return ops(graph), limits


@pytest.mark.parametrize(
    ("body", "left", "limits"),
    [
        ("a = Clip(x, m3, k6) y = Clip(a, m1, k9)", "Clip", [-1, 6]),
        ("a = Relu(x) y = Clip(a, k0, k6)", "Clip", [0, 6]),
        ("a = Relu(x) y = Clip(a, , k6)", "Clip", [0, 6]),
        ("a = Relu(x) y = Clip(a, k2)", "Clip", [2]),
        ("a = Clip(x, , k6) y = Relu(a)", "Clip", [0, 6]),
        ("a = Clip(x, m1) y = Relu(a)", "Relu", []),
        ("a = Relu(x) y = Clip(a, m3)", "Relu", []),
        ("a = Clip(x, , k6) y = Clip(a, , k2)", "Clip", [None, 2]),
        ("a = Clip(x, k6, m3) y = Clip(a, m1, k9)", "Clip", [6, -1]),
        ("a = Clip(x, m1, k2) y = Clip(a, k6, k9)", "Clip", [6, 6]),
        ("a = Clip(x, m1, k2) y = Clip(a, k9, k6)", "Clip", [6, 6]),
        ("a = Relu(x) b = Relu(a) y = Neg(b)", "Relu Neg", []),
        ("a = Relu(x) b = Clip(a, , k6) y = Clip(b, m1, k2)", "Clip", [0, 2]),
        ("a = Relu(x) b = Neg(a) y = Clip(b, m1)", "Relu Neg Clip", [-1]),
    ],
)
def test_limits(tmp_path: Path, body: str, left: str, limits: list[float | None]) -> None:
    assert run(body, tmp_path) == (left, limits)


@pytest.mark.parametrize("limits", list(product([-1.0, 0.5, 2.0], repeat=4)))
def test_all_orders_of_limits(tmp_path: Path, limits: tuple[float, ...]) -> None:
    constants = ", ".join(f"float {name} = {{{limit}}}" for name, limit in zip("abcd", limits, strict=True))
    text = f"g (float[10] x) => (float[10] y) <{constants}> {{ u = Clip(x, a, b) y = Clip(u, c, d) }}"
    assert ops(apply(merge_limits, text, tmp_path, {"x": X})) == "Clip"


def test_what_others_read_stays(tmp_path: Path) -> None:
    assert run("z = Relu(x) y = Clip(z, , k6)", tmp_path, "float y, float z")[0] == "Relu Clip"


def test_limits_that_are_no_constants_or_nan_stay(tmp_path: Path) -> None:
    nodes = [node("Clip", "x low", "a"), node("Clip", "a _ high", "y")]
    inputs = [tensor("x", [10]), tensor("low", [])]
    proto = model(nodes, inputs, [tensor("y", [10])], {"high": np.array(6, np.float32)})
    assert ops(apply(merge_limits, proto, tmp_path, {"x": X, "low": np.array(1, np.float32)})) == "Clip Clip"
    weights = {"low": np.array(1, np.float32), "high": np.array(np.nan, np.float32)}
    graph = read(model(nodes, inputs[:1], [tensor("y", [10])], weights), tmp_path).graph
    assert merge_limits(graph) == 0


def test_integers(tmp_path: Path) -> None:
    text = f"g (int64[3] x) => (int64[3] y) <{CONSTANTS}> {{ a = Clip(x, i2) y = Clip(a, , i6) }}"
    graph = apply(merge_limits, text, tmp_path, {"x": np.array([-5, 4, 9])})
    (clip,) = graph
    assert [int(graph.constants[name]) for name in clip.inputs[1:]] == [2, 6]
