"""Operators that move, choose, compare, reduce and look up elements: their kernels, and the plan against the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autofusion.ir import DType
from autofusion.lowering import lower
from lowering.graphs import build, check_plan, kernels_of, node, randoms, run_graph, run_plan

X: dict[str, list[int | str]] = {"x": [2, 3, 4, 5]}


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


CASES: dict[str, tuple[str, str, dict[str, Any], dict[str, np.ndarray], list[str]]] = {
    "transpose": ("Transpose", "x", {"perm": (2, 0, 3, 1)}, {}, ["strided"]),
    "transpose of ones": ("Transpose", "x", {"perm": (0, 1, 2, 3)}, {}, ["copy"]),
    "slice": (
        "Slice",
        "x b e a s",
        {},
        {"b": ints(-3, 1), "e": ints(99, 4), "a": ints(1, 3), "s": ints(1, 2)},
        ["strided"],
    ),
    "slice backward": (
        "Slice",
        "x b e a s",
        {},
        {"b": ints(3), "e": ints(-9), "a": ints(2), "s": ints(-2)},
        ["gather"],
    ),
    "slice backward on two axes": (
        "Slice",
        "x b e a s",
        {},
        {"b": ints(3, 4), "e": ints(0, 0), "a": ints(2, 3), "s": ints(-2, -1)},
        ["host"],
    ),
    "power of whole numbers": ("Pow", "x i", {}, {"i": ints(2, 3, 0, 1, 2)}, ["convert", "binary"]),
    "mean of tensors": (
        "Mean",
        "x u x",
        {},
        {"u": randoms(5, 2, 3, 4, 5)},
        ["binary", "binary", "binary"],
    ),
    "expand": ("Expand", "x s", {}, {"s": ints(2, 1, 1, 4, 1)}, ["strided"]),
    "tile": ("Tile", "x r", {}, {"r": ints(1, 2, 1, 3)}, ["strided"]),
    "gather one": ("Gather", "x i", {"axis": 2}, {"i": np.array(-1)}, ["strided"]),
    "gather some": ("Gather", "x i", {"axis": 3}, {"i": ints(0, -1, 2)}, ["gather"]),
    "gather elements": (
        "GatherElements",
        "x i",
        {"axis": 1},
        {"i": ints(0, -1).reshape(1, 2, 1, 1)},
        ["gather_elements"],
    ),
    "gather blocks": (
        "GatherND",
        "x i",
        {"batch_dims": 1},
        {"i": ints(1, 2, 0, -1).reshape(2, 1, 2)},
        ["gather_blocks"],
    ),
    "scatter elements": (
        "ScatterElements",
        "x i u",
        {"axis": 3, "reduction": "add"},
        {"i": ints(4, 4, 0).reshape(1, 1, 1, 3), "u": randoms(3, 1, 1, 1, 3)},
        ["scatter_elements"],
    ),
    "scatter blocks": (
        "ScatterND",
        "x i u",
        {"reduction": "none"},
        {"i": ints(1, 2, 0, 0).reshape(2, 2), "u": randoms(3, 2, 4, 5)},
        ["scatter_blocks"],
    ),
    "pad": (
        "Pad",
        "x p v",
        {"mode": "constant"},
        {"p": ints(0, 1, -1, 0, 0, 0, 2, 1), "v": np.float32(2).reshape(())},
        ["pad"],
    ),
    "pad of axes": ("Pad", "x p _ a", {"mode": "reflect"}, {"p": ints(1, 2, 3, 0), "a": ints(-1, 2)}, ["pad"]),
    "softmax": ("Softmax", "x", {"axis": -3}, {}, ["softmax"]),
    "logarithm of softmax": ("LogSoftmax", "x", {"axis": 3}, {}, ["softmax"]),
    "sum": ("ReduceSum", "x a", {"keepdims": 0}, {"a": ints(-1, 1)}, ["reduce"]),
    "mean of all": ("ReduceMean", "x", {"keepdims": 1}, {}, ["reduce"]),
    "norm": ("ReduceL2", "x a", {"keepdims": 1}, {"a": ints(0)}, ["reduce"]),
    "maximum": ("ReduceMax", "x a", {"keepdims": 0}, {"a": ints(1)}, ["reduce"]),
    "place of the maximum": ("ArgMax", "x", {"axis": 1, "keepdims": 0, "select_last_index": 0}, {}, ["argument"]),
    "place of the minimum": ("ArgMin", "x", {"axis": -1, "keepdims": 1, "select_last_index": 1}, {}, ["argument"]),
    "running sum": ("CumSum", "x a", {"exclusive": 1, "reverse": 1}, {"a": np.array(-2)}, ["cumulate"]),
    "upper triangle": ("Trilu", "x", {"upper": 1}, {}, ["triangle"]),
    "lower triangle": ("Trilu", "x k", {"upper": 0}, {"k": np.array(-1)}, ["triangle"]),
    "depth to space": (
        "DepthToSpace",
        "d",
        {"blocksize": 2, "mode": "DCR"},
        {"d": randoms(3, 2, 12, 2, 3)},
        ["strided"],
    ),
    "columns first": (
        "DepthToSpace",
        "d",
        {"blocksize": 2, "mode": "CRD"},
        {"d": randoms(3, 2, 12, 2, 3)},
        ["strided"],
    ),
    "space to depth": ("SpaceToDepth", "d", {"blocksize": 2}, {"d": randoms(3, 2, 3, 4, 6)}, ["strided"]),
    "where": (
        "Where",
        "c x v",
        {},
        {"c": np.array([True, False, True, True, False]), "v": np.float32(7).reshape(1)},
        ["select"],
    ),
    "greater": ("Greater", "x v", {}, {"v": np.float32(0).reshape(())}, ["compare"]),
    "is not a number": ("IsNaN", "x", {}, {}, ["compare"]),
    "is infinite": ("IsInf", "x", {"detect_negative": 1, "detect_positive": 1}, {}, ["unary", "compare"]),
    "cast": ("Cast", "x", {"to": 7, "saturate": 1}, {}, ["convert"]),
    "remainder": ("Mod", "x v", {"fmod": 1}, {"v": np.float32(0.75).reshape(())}, ["arithmetic"]),
    "sign": ("Sign", "x", {}, {}, ["unary"]),
    "rounding": ("Round", "x", {}, {}, ["unary"]),
}
for mode in ("nearest", "linear", "cubic"):
    scales = {"s": np.array([1, 1, 2, 0.6], np.float32)}
    CASES[f"resize {mode}"] = (
        "Resize",
        "x _ s",
        {"mode": mode, "coordinate_transformation_mode": "half_pixel"},
        scales,
        ["resize"],
    )


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    op, inputs, attributes, constants, kernels = CASES[name]
    check_plan(build(X, [node(op, inputs, "y", **attributes)], "y", constants), "", kernels, 1e-5)


def test_parts_are_views() -> None:
    nodes = [node("Split", "x s", "a b c", axis=1), node("Concat", "c a b", "y", axis=1)]
    check_plan(build(X, nodes, "y", {"s": ints(1, 1, 1)}), "", ["strided"] * 3 + ["concat"])


def test_joins_of_many_are_joined() -> None:
    nodes = [node("Concat", " ".join(["x", "v"] * 11), "y", axis=2)]
    graph = build(X, nodes, "y", {"v": randoms(4, 2, 3, 1, 5)})
    lowered = check_plan(graph, "", ["concat"] * 4)
    assert [len(step.inputs) for step in lowered.plan.steps] == [10, 10, 2, 3]


def test_limits_that_are_computed() -> None:
    nodes = [node("ReduceMin", "v", "low", keepdims=0), node("Clip", "x low high", "y")]
    graph = build(X, nodes, "y", {"v": randoms(2, 3), "high": np.float32(0.5).reshape(())})
    check_plan(graph, "", ["reduce", "binary", "binary"])


def test_limits_of_integers() -> None:
    graph = build(
        {"a": [7]}, [node("Clip", "a low high", "y")], "y", {"low": np.array(-2), "high": np.array(3)}, DType.INT64
    )
    lowered = lower(graph, backend="native")
    assert kernels_of(lowered) == ["arithmetic", "arithmetic"]
    assert run_plan(lowered, {"a": np.arange(-4, 3)})[0].tolist() == [-2, -2, -2, -1, 0, 1, 2]


def test_the_first_in_order_and_their_places() -> None:
    nodes = [node("TopK", "x k", "v i", axis=1, largest=1, sorted=1)]
    graph = build(X, nodes, "v i", {"k": ints(2)})
    check_plan(graph, "", ["rank", "gather_elements"])


def test_the_first_in_order_alone() -> None:
    graph = build(X, [node("TopK", "x k", "v _", axis=3, largest=0, sorted=1)], "v", {"k": ints(3)})
    check_plan(graph, "", ["rank", "gather_elements"])


def test_integers_and_truth_values() -> None:
    nodes = [
        node("Add", "a b", "s"),
        node("Neg", "s", "n"),
        node("Abs", "n", "m"),
        node("Max", "m a b", "g"),
        node("Mod", "g three", "r", fmod=0),
        node("Less", "r b", "l"),
        node("Not", "l", "t"),
        node("And", "t l", "u"),
        node("Where", "u a r", "w"),
        node("Cast", "w", "y", to=6, saturate=1),
    ]
    graph = build(
        {"a": [4, 5], "b": [5]}, [*nodes[:3], node("Max", "m a", "g"), *nodes[4:]], "y", {"three": ints(3)}, DType.INT64
    )
    feeds = {"a": np.arange(-10, 10).reshape(4, 5), "b": np.arange(5)}
    for backend in ("reference", "native"):
        lowered = lower(graph, backend=backend)
        assert not lowered.host_steps
        (actual,), (right,) = run_plan(lowered, feeds), run_graph(graph, feeds)
        np.testing.assert_array_equal(actual, right)
        assert actual.dtype == np.int32


def test_progressions_over_an_extent() -> None:
    nodes = [
        node("Shape", "x", "s", start=0, end=1),
        node("Squeeze", "s", "n"),
        node("Range", "zero n two", "r"),
        node("ConstantOfShape", "s", "c", value=np.array([3], np.int64)),
        node("Add", "r c", "y"),
    ]
    graph = build({"x": ["n", 3]}, nodes, "y", {"zero": np.array(0), "two": np.array(1)})
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == ["range", "strided", "arithmetic"]
    (actual,) = run_plan(lowered, {"x": randoms(1, 5, 3)})
    assert actual.tolist() == [3, 4, 5, 6, 7]


UNKNOWN = {
    "Slice": ("x i i i i", "shapes are not known before the model runs"),
    "Tile": ("x i", "shapes are not known before the model runs"),
    "Expand": ("x i", "shapes are not known before the model runs"),
}


@pytest.mark.parametrize("op", UNKNOWN)
def test_what_only_a_run_can_tell_runs_on_the_host(op: str) -> None:
    inputs, reason = UNKNOWN[op]
    nodes = [node("Cast", "x", "i", to=7, saturate=1), node(op, inputs, "y")]
    lowered = lower(build({"x": [1]}, nodes, "y", {}), backend="native")
    assert [step.reason for step in lowered.host_steps] == [reason]
