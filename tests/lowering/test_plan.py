"""Aliases, outputs, computed shapes, constants and bookkeeping of a lowered plan."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.errors import ModelError
from autofusion.ir import Dim, DType, Graph, Node, Value, symbol
from autofusion.lowering import lower
from autofusion.plan.serial import dump_plan, parse_plan
from lowering.graphs import build, fuse, kernels_of, node, randoms, run_graph, run_plan


def test_reshapes_cost_no_step():
    nodes = [
        node("Relu", "x", "a"),
        node("Reshape", "a s", "b"),
        node("Unsqueeze", "b one", "c"),
        node("Squeeze", "c one", "d"),
        node("Identity", "d", "e"),
        node("Dropout", "e", "f"),
        node("Flatten", "f", "g"),
        node("Tanh", "g", "y"),
    ]
    graph = build({"x": ["n", 6]}, nodes, "y", {"s": np.array([0, 2, 3]), "one": np.array([1])})
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == ["unary", "unary"]
    assert [name for name, buffer in lowered.plan.buffers.items() if buffer.alias] == []
    feeds = {"x": randoms(1, 3, 6)}
    np.testing.assert_allclose(run_plan(lowered, feeds)[0], run_graph(graph, feeds)[0], rtol=1e-6)


def test_an_alias_names_the_buffer_that_holds_the_bytes():
    nodes = [node("Relu", "x", "a"), node("Reshape", "a s", "b"), node("Reshape", "b t", "c"), node("Tanh", "c", "y")]
    graph = build({"x": [2, 6]}, nodes, "y", {"s": np.array([3, 4]), "t": np.array([2, 2, 3])})
    plan = lower(graph, backend="reference").plan
    assert plan.buffers["c"].alias == "a"
    assert "b" not in plan.buffers


def test_computed_outputs_have_buffers_of_their_own():
    nodes = [
        node("Relu", "x", "a"),
        node("Reshape", "a s", "b"),
        node("Identity", "x", "i"),
        node("Reshape", "k s", "c"),
        node("Tanh", "b", "t"),
    ]
    graph = build({"x": [2, 6]}, nodes, "a b i c k t x", {"s": np.array([3, 4]), "k": randoms(1, 12)})
    for backend in ("reference", "native"):
        lowered = lower(graph, backend=backend)
        plan = lowered.plan
        assert plan.outputs == graph.outputs
        assert [plan.buffers[name].role for name in "abict"] == ["output"] * 5
        assert (plan.buffers["k"].role, plan.buffers["x"].role) == ("constant", "input")
        assert all(plan.buffers[name].alias is None for name in plan.outputs)
        feeds = {"x": randoms(2, 2, 6)}
        for actual, right in zip(run_plan(lowered, feeds), run_graph(graph, feeds), strict=True):
            np.testing.assert_allclose(actual, right, rtol=1e-6)


def test_an_output_may_be_a_computed_constant():
    graph = build({"x": [2, 3]}, [node("Shape", "x", "y", start=0)], "y", {})
    lowered = lower(graph, backend="native")
    assert lowered.plan.steps == ()
    assert [array.tolist() for array in lowered.weights] == [[2, 3]]
    assert lowered.plan.buffers["y"].tensor == 0


def shape_chain() -> Graph:
    """x [n, s, 6] reshaped to [n, s, 2, 3] by shapes that the model computes."""
    nodes = [
        node("Shape", "x", "shape", start=0),
        node("Gather", "shape zero", "n", axis=0),
        node("Gather", "shape one", "s", axis=0),
        node("Unsqueeze", "n axis", "n1"),
        node("Unsqueeze", "s axis", "s1"),
        node("Concat", "n1 s1 two three", "target", axis=0),
        node("Reshape", "x target", "r"),
        node("Relu", "r", "y"),
        node("Mul", "n s", "count"),
        node("Expand", "z target", "e"),
    ]
    constants = {"zero": np.array(0), "one": np.array(1), "axis": np.array([0])}
    constants |= {"two": np.array([2]), "three": np.array([3]), "z": np.ones((1, 1, 1, 1), np.float32)}
    return build({"x": ["n", "s", 6]}, nodes, "y count e", constants)


def test_shapes_are_computed_by_the_plan_only_where_they_are_read():
    lowered = lower(shape_chain(), backend="native")
    assert [(step.kernel, step.node) for step in lowered.plan.steps] == [
        ("unary", "y"),
        ("extents", "count"),
        ("strided", "e"),
    ]
    assert lowered.plan.steps[1].attributes == {"values": ["n*s"]}
    assert lowered.plan.steps[2].attributes == {"extents": ["n", "s", 2, 3], "view": [0, 0, 0, 0, 0]}
    assert lowered.plan.symbols == ("n", "s")
    assert lowered.plan.buffers["count"].shape == ()
    assert lowered.steps_of["shape"] == ()
    y, count, e = run_plan(lowered, {"x": randoms(1, 4, 5, 6)})
    assert (y.shape, count.tolist(), e.shape) == ((4, 5, 2, 3), 20, (4, 5, 2, 3))


def test_a_shape_of_numbers_is_a_constant():
    nodes = [node("Shape", "x", "s", start=0), node("Celu", "x", "c"), node("Expand", "c s", "y")]
    nodes += [node("NonZero", "s", "z")]
    lowered = lower(build({"x": [2, 3]}, nodes, "y z", {}), backend="native")
    assert kernels_of(lowered) == ["host", "copy", "host"]
    assert lowered.plan.buffers["s"].role == "constant"
    assert [weight.tolist() for weight in lowered.weights] == [[2, 3]]


def test_values_of_unknown_shape_stay_on_the_host():
    nodes = [node("NonZero", "x", "i"), node("Cast", "i", "f", to=1), node("Relu", "f", "y")]
    lowered = lower(build({"x": [2, 3]}, nodes, "y", {}), backend="native")
    assert kernels_of(lowered) == ["host"] * 3
    assert lowered.plan.buffers["f"].shape is None
    assert lowered.host_steps[2].reason == "shapes are not known before the model runs"


def test_a_symbol_that_no_input_gives_counts_as_unknown():
    graph = Graph("main", ["x"], ["y"])
    for name in ("x", "h", "y"):
        graph.set_value(Value(name, DType.FLOAT, (symbol("n") if name == "x" else symbol("k"), 3)))
    graph.add(node("Own", "x", "h"))
    graph.add(node("Relu", "h", "y"))
    plan = lower(graph, backend="native").plan
    assert plan.symbols == ("n",)
    assert [plan.buffers[name].shape for name in "xhy"] == [("n", 3), None, None]
    assert [step.kernel for step in plan.steps] == ["host", "host"]


@pytest.mark.parametrize("shape", [None, (symbol("n") * 2, 3)])
def test_an_input_of_unknown_shape_is_refused(shape: tuple[Dim, ...] | None):
    graph = Graph("main", ["x"], ["y"])
    graph.set_value(Value("x", DType.FLOAT, shape))
    graph.add(node("Relu", "x", "y"))
    with pytest.raises(ModelError, match="AF171: the shape of input 'x' is not known"):
        lower(graph, backend="native")


def test_what_no_output_needs_is_dropped():
    nodes = [node("Exp", "x", "unused"), node("Softplus", "unused", "also"), node("Relu", "x", "y")]
    lowered = lower(build({"x": [2], "z": [3]}, nodes, "y", {}), backend="reference")
    assert kernels_of(lowered) == ["unary"]
    assert lowered.plan.inputs == ("x", "z")
    assert set(lowered.plan.buffers) == {"x", "z", "y"}
    assert lowered.steps_of == {"y": (0,), "unused": (), "also": ()}
    assert lowered.host_steps == ()


def test_dropout_in_training_or_with_a_mask_is_a_host_step():
    constants = {"ratio": np.array(0.5, np.float32), "train": np.array(True), "test": np.array(False)}
    cases = {
        "x": ["unary"],
        "x ratio test": ["unary"],
        "x ratio train": ["host", "unary"],
        "x ratio flag": ["host", "unary"],
    }
    for operands, kernels in cases.items():
        nodes = [node("Not", "test", "flag"), node("Dropout", operands, "d"), node("Relu", "d", "y")]
        graph = build({"x": [3]}, nodes, "y", constants)
        assert kernels_of(lower(graph, backend="reference")) == kernels
    graph = build({"x": [3]}, [node("Dropout", "x", "d m")], "d m", {})
    assert kernels_of(lower(graph, backend="reference")) == ["host"]


def test_tensors_are_aligned_and_stored_once():
    k = randoms(1, 3)
    nodes = [
        node("Add", "x k", "a"),
        node("Mul", "a l", "b"),
        node("Add", "b k", "c"),
        node("Reshape", "m s", "r"),
        node("Add", "c r", "y"),
    ]
    graph = build({"x": [3]}, nodes, "y", {"k": k, "l": randoms(2, 17, 1), "m": randoms(3, 1, 3), "s": np.array([3])})
    lowered = lower(graph, backend="reference")
    assert [(t.name, t.dtype, t.shape, t.offset, t.bytes) for t in lowered.plan.tensors] == [
        ("k", "float", (3,), 0, 12),
        ("l", "float", (17, 1), 64, 68),
        ("m", "float", (1, 3), 192, 12),
    ]
    assert [array.nbytes for array in lowered.weights] == [12, 68, 12]
    assert lowered.plan.buffers["r"].alias == "m"
    feeds = {"x": randoms(4, 3)}
    np.testing.assert_allclose(run_plan(lowered, feeds)[0], run_graph(graph, feeds)[0], rtol=1e-5)


def test_an_input_with_a_default_carries_it():
    graph = build({"x": [3], "k": [3]}, [node("Add", "x k", "y")], "y", {})
    graph.defaults["k"] = randoms(1, 3)
    lowered = lower(graph, backend="reference")
    assert lowered.plan.buffers["k"].role == "input"
    assert lowered.plan.buffers["k"].tensor == 0
    x = randoms(2, 3)
    np.testing.assert_array_equal(run_plan(lowered, {"x": x})[0], x + graph.defaults["k"])


def test_a_default_is_no_constant_to_fold():
    nodes = [node("Conv", "x w", "c"), node("Mul", "c k", "y")]
    graph = build({"x": [1, 2, 3, 3], "k": [2, 1, 1]}, nodes, "y", {"w": randoms(1, 2, 2, 1, 1)})
    graph.defaults["k"] = randoms(1, 2, 1, 1)
    fuse(graph, "c y")
    assert kernels_of(lower(graph, backend="reference")) == ["conv", "binary"]


def test_strings_are_constants_too():
    graph = Graph("main", ["x"], ["z"])
    graph.set_value(Value("x", DType.STRING, (2,)))
    graph.add_constant("s", np.array(["a", "b"], object))
    graph.add(Node("y", "StringConcat", ("x", "s"), ("y",), opset=20), [Value("y", DType.STRING, (2,))])
    graph.add(Node("z", "Identity", ("y",), ("z",), opset=14), [Value("z", DType.STRING, (2,))])
    plan = lower(graph, backend="native").plan
    (tensor,) = plan.tensors
    assert (tensor.dtype, tensor.bytes) == ("string", len('["a", "b"]'))
    assert [step.kernel for step in plan.steps] == ["host", "host"]


def test_equal_graphs_give_equal_plans():
    texts = {dump_plan(lower(shape_chain(), backend=backend).plan) for backend in ("native", "native")}
    assert len(texts) == 1


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_a_plan_survives_its_text_form(backend: str):
    plan = lower(shape_chain(), backend=backend).plan  # type: ignore[arg-type]
    assert parse_plan(dump_plan(plan)) == plan
