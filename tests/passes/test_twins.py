"""Equal nodes and equal constants, and what may not be merged before fusion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from autofusion.fusion import fuse
from autofusion.passes import run_passes
from autofusion.passes.twins import merge_twins
from autofusion.patternlang import find_builtin_patterns, load_patterns
from frontend.models import model, node, random, read, tensor
from passes.passing import apply, ops, written

FEEDS = {"x": random(1, 2, 3)}


def graph_of(body: str, outputs: str = "float y") -> str:
    return f"g (float[2, 3] x) => ({outputs}) <float k = {{2}}> {{ {body} }}"


@pytest.mark.parametrize(
    ("body", "outputs", "left"),
    [
        # Whole equal trees: their roots have one reader that reads both, or are read by merged readers.
        (
            "a = Exp(x) b = Exp(x) c = Neg(a) d = Neg(b) e = Shape(c) f = Shape(d) y = Add(e, f)",
            "int64[2] y",
            "Exp Neg Shape Add",
        ),
        ("a = Sigmoid(x) b = Sigmoid(x)", "float[2, 3] a, float[2, 3] b", "Sigmoid Identity"),
        ("a = Exp(x) b = Exp(x) y = Neg(a) z = Neg(b)", "float y, float z", "Exp Neg Identity"),
        ("a = Shape(x) b = Shape(x) y = Neg(a) z = Abs(b)", "int64[2] y, int64[2] z", "Shape Neg Abs"),
        ("a = Greater(x, k) b = Greater(x, k) y = Not(a) z = And(b, b)", "bool y, bool z", "Greater Not And"),
        # A chain of single readers each: merged, neither would be one.
        ("a = Exp(x) b = Exp(x) c = Neg(a) d = Abs(b) y = Add(c, d)", "float y", "Exp Neg Exp Abs Add"),
        ("a = Exp(x) b = Exp(x) y = Add(a, b)", "float y", "Exp Exp Add"),
        ("a = Sigmoid(x) b = Sigmoid(x) d = Neg(b)", "float[2, 3] a, float d", "Sigmoid Sigmoid Neg"),
        # Not equal at all.
        (
            "a = Sub(x, k) b = Sub(k, x) c = Shape(a) d = Shape(b) y = Add(c, d)",
            "int64[2] y",
            "Sub Shape Sub Shape Add",
        ),
        ("a = Elu<alpha = 1.0>(x) b = Elu<alpha = 2.0>(x)", "float a, float b", "Elu Elu"),
        ("a = Add(x, k) b = Add(k, x)", "float a, float b", "Add Add"),
        (
            "a = ArgMax<axis = 0>(x) b = ArgMax<axis = 1>(x) y = Neg(a) z = Neg(b)",
            "int64 y, int64 z",
            "ArgMax Neg ArgMax Neg",
        ),
        (
            "a = RandomNormalLike(x) b = RandomNormalLike(x) c = Shape(a) d = Shape(b) y = Add(c, d)",
            "int64[2] y",
            "RandomNormalLike Shape RandomNormalLike Shape Add",
        ),
    ],
)
def test_nodes(tmp_path: Path, body: str, outputs: str, left: str) -> None:
    assert ops(apply(merge_twins, graph_of(body, outputs), tmp_path, FEEDS)) == left


def test_the_output_among_twins_keeps_its_name(tmp_path: Path) -> None:
    body = "a = Shape(x) b = Shape(x) c = Shape(x) d = Neg(b)"
    graph = apply(merge_twins, graph_of(body, "int64[2] a, int64[2] c, int64[2] d"), tmp_path, FEEDS)
    assert written(graph) == ["a = Shape(x)", "c = Identity(a)", "d = Neg(a)"]


def test_nodes_with_other_outputs_are_others(tmp_path: Path) -> None:
    text = """g (float[1, 2, 4] x) => (float y, float z, int64 i) {
        y = MaxPool<kernel_shape = [2]>(x) z, i = MaxPool<kernel_shape = [2]>(x) }"""
    assert ops(apply(merge_twins, text, tmp_path, {"x": random(1, 1, 2, 4)})) == "MaxPool MaxPool"


def test_several_results_are_merged_at_once(tmp_path: Path) -> None:
    body = "a, b = Split<axis = 1>(x, s) c, d = Split<axis = 1>(x, s)"
    text = f"g (float[2, 3] x) => (float a, float b, float c, float d) <int64[2] s = {{1, 2}}> {{ {body} }}"
    assert ops(apply(merge_twins, text, tmp_path, FEEDS)) == "Split Identity Identity"


def test_constants_of_equal_bytes_are_one(tmp_path: Path) -> None:
    arrays = {
        "a": np.array([0, 1, np.nan], np.float32),
        "b": np.array([0, 1, np.nan], np.float32),
        "negative": np.array([-0.0, 1, np.nan], np.float32),
        "double": np.array([0, 1, np.nan]),
        "row": np.array([[0, 1, np.nan]], np.float32),
        "n": np.arange(100),
        "m": np.arange(100),
        "late": np.concatenate([np.arange(99), [0]]),
        "s": np.array(["one", "two"], object),
        "t": np.array(["one", "two"], object),
    }
    nodes = [node("Shape", name, f"{name}_shape") for name in arrays]
    graph = read(model(nodes, [], [tensor(f"{name}_shape", None, 7) for name in arrays], arrays), tmp_path).graph
    merge_twins(graph)
    read_by = {item.outputs[0].removesuffix("_shape"): item.inputs[0] for item in graph if item.op == "Shape"}
    assert {read_by.get(name, name) for name in ("a", "negative", "double", "row", "n", "late", "s")} == {
        "a",
        "negative",
        "double",
        "row",
        "n",
        "late",
        "s",
    }
    assert not {"b", "m", "t"} & set(read_by.values())


def test_constants_that_are_outputs_stay(tmp_path: Path) -> None:
    weights = {"k": random(1, 3), "j": random(1, 3), "i": random(1, 3)}
    nodes = [node("Add", "x k", "a"), node("Add", "a i", "y")]
    proto = model(nodes, [tensor("x", [2, 3])], [tensor(name, None) for name in ("y", "j", "i")], weights)
    graph = apply(merge_twins, proto, tmp_path, FEEDS)
    assert list(graph.constants) == ["j", "i"]
    assert merge_twins(graph) == 0


def test_shared_constants_serve_nested_graphs(tmp_path: Path) -> None:
    def branch(name: str, op: str) -> onnx.GraphProto:
        nodes = [
            node(op, "x j", f"{name}1"),
            node("Shape", f"{name}1", f"{name}2"),
            node("Shape", f"{name}1", f"{name}3"),
        ]
        nodes.append(node("Add", f"{name}2 {name}3", f"{name}4"))
        return helper.make_graph(nodes, name, [], [tensor(f"{name}4", None, 7)])

    nodes = [
        node("Add", "x k", "s"),
        node("If", "c", "y", "choice", then_branch=branch("t", "Add"), else_branch=branch("e", "Sub")),
    ]
    inputs = [tensor("x", [2, 3]), tensor("c", [], 9)]
    weights = {"k": random(1, 3), "j": random(1, 3)}
    proto = model(nodes, inputs, [tensor("y", None, 7), tensor("s", None)], weights)
    graph = apply(merge_twins, proto, tmp_path, {**FEEDS, "c": np.array(True)})
    assert list(graph.constants) == ["k"]
    nested = dict(graph.node("choice").subgraphs())
    assert (ops(nested["then_branch"]), ops(nested["else_branch"])) == ("Add Shape Add", "Sub Shape Add")


@pytest.mark.parametrize("ends", [("Exp", "Neg"), ("Exp", "Exp")])
def test_fusions_outlast_the_merging_of_what_they_share(tmp_path: Path, ends: tuple[str, str]) -> None:
    """Both convolutions have the same weights, and scale and variance, shift and mean are one constant."""
    weights = {"w0": random(1, 4, 3, 3, 3), "w1": random(1, 4, 3, 3, 3)}
    weights.update({name: np.ones(4, np.float32) for name in ("scale", "var")})
    weights.update({name: np.zeros(4, np.float32) for name in ("beta", "mean")})
    nodes = []
    for place, end in enumerate(ends):
        nodes.append(node("Conv", f"x w{place}", f"c{place}"))
        nodes.append(node("BatchNormalization", f"c{place} scale beta mean var", f"b{place}"))
        nodes.append(node("Relu", f"b{place}", f"r{place}"))
        nodes.append(node(end, f"r{place}", f"y{place}"))
    proto = model(nodes, [tensor("x", [1, 3, 6, 6])], [tensor("y0", None), tensor("y1", None)], weights)
    graph = read(proto, tmp_path).graph
    run_passes(graph)
    assert len(graph.constants) == 3
    fuse(graph, load_patterns([find_builtin_patterns()]))
    fused = [item.display for item in graph if item.display]
    assert fused == ["Conv+BN+ReLU"] * (1 if ends[0] == ends[1] else 2)
