"""Fused bodies as kernel calls: every epilogue, what may not be taken in, and what becomes a host step."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from autofusion.ir import DType, Graph, Node, Value, substitute_operands
from autofusion.lowering import lower
from lowering.graphs import build, check_plan, fuse, kernels_of, node, randoms, run_graph, run_plan

LIMITS = {"low": np.float32(-0.4), "high": np.float32(0.9), "slope": np.float32(0.2)}

ACTIVATIONS = {
    "Relu": [node("Relu", "t", "y")],
    "LeakyRelu": [node("LeakyRelu", "t", "y", alpha=0.2)],
    "LeakyRelu by default": [node("LeakyRelu", "t", "y")],
    "PRelu": [node("PRelu", "t slope", "y")],
    "Clip": [node("Clip", "t low high", "y")],
    "Clip from below": [node("Clip", "t low", "y")],
    "Clip from above": [node("Clip", "t _ high", "y")],
    "Sigmoid": [node("Sigmoid", "t", "y")],
    "Tanh": [node("Tanh", "t", "y")],
    "HardSigmoid": [node("HardSigmoid", "t", "y", alpha=0.3, beta=0.4)],
    "HardSigmoid by default": [node("HardSigmoid", "t", "y")],
    "HardSwish": [node("HardSwish", "t", "y")],
    "HardSwish by its gate": [node("HardSigmoid", "t", "g", alpha=1 / 6, beta=0.5), node("Mul", "t g", "y")],
    "SiLU": [node("Sigmoid", "t", "g"), node("Mul", "t g", "y")],
    "SiLU the other way": [node("Sigmoid", "t", "g"), node("Mul", "g t", "y")],
    "Swish": [node("Swish", "t", "y", alpha=1.5)],
    "Elu": [node("Elu", "t", "y", alpha=0.7)],
    "Gelu": [node("Gelu", "t", "y")],
    "Gelu by tanh": [node("Gelu", "t", "y", approximate="tanh")],
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("anchor", ["Conv", "MatMul", "Gemm", "BatchNormalization", "Sub"])
@pytest.mark.parametrize("residual", [False, True])
def test_epilogues(anchor: str, name: str, residual: bool):
    vectors = {v: np.abs(randoms(i, 4)) for i, v in enumerate(("gamma", "beta", "mean", "variance"))}
    anchors = {
        "Conv": node("Conv", "x w b", "c", pads=(1, 1, 1, 1)),
        "MatMul": node("MatMul", "x m", "c"),
        "Gemm": node("Gemm", "x m v", "c", alpha=0.5),
        "BatchNormalization": node("BatchNormalization", "x gamma beta mean variance", "c"),
        "Sub": node("Sub", "x z", "c"),
    }
    shape = [4, 4] if anchor == "Gemm" else [2, 4, 5, 4]
    constants = {
        "w": randoms(1, 4, 4, 3, 3),
        "b": randoms(2, 4),
        "m": randoms(3, 4, 4),
        "v": randoms(4, 4),
        **vectors,
        **LIMITS,
    }
    first = anchors[anchor]
    activation = ACTIVATIONS[name]
    nodes = [first, node("Add", "z c", "t"), *activation]
    if not residual:
        nodes = [first, *(replace(item, inputs=substitute_operands(item, {"t": "c"})) for item in activation)]
    graph = build({"x": shape, "z": shape}, nodes, "y", {k: np.asarray(v) for k, v in constants.items()})
    kernel = {"Conv": "conv", "BatchNormalization": "affine", "Sub": "binary"}.get(anchor, "matmul")
    kernels = [kernel, "binary"] if residual and kernel == "affine" else [kernel]
    # What is elementwise all through is a program.
    kernels = ["pointwise"] if residual and kernel == "binary" else kernels
    lowered = check_plan(graph, " ".join(n.name for n in nodes), kernels)
    step = lowered.plan.steps[-1]
    assert step.kernel == "pointwise" or step.attributes["activation"]
    assert len(lowered.steps_of["y"]) == len(kernels)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_alone(name: str):
    graph = build({"t": [2, 3, 4]}, ACTIVATIONS[name], "y", {k: np.asarray(v) for k, v in LIMITS.items()})
    fused = " ".join(n.name for n in ACTIVATIONS[name]) if len(ACTIVATIONS[name]) > 1 else ""
    check_plan(graph, fused, ["unary"])


def test_nodes_that_no_fusion_joined_stay_apart():
    nodes = [node("Conv", "x w", "c"), node("Sigmoid", "c", "g"), node("Mul", "c g", "y")]
    graph = build({"x": [1, 4, 3, 3]}, nodes, "y", {"w": randoms(1, 4, 4, 1, 1)})
    check_plan(graph, "", ["conv", "unary", "binary"])


def conv_graph(nodes: list[Node], outputs: str = "y", **constants: np.ndarray) -> Graph:
    arrays = {"w": randoms(1, 4, 4, 3, 3), "b": randoms(2, 4), **constants}
    return build({"x": [2, 4, 6, 6], "z": [2, 4, 6, 6]}, nodes, outputs, arrays)


CONV = node("Conv", "x w b", "c", pads=(1, 1, 1, 1))


def test_conv_add_relu_pool():
    nodes = [
        CONV,
        node("Add", "c z", "a"),
        node("Relu", "a", "r"),
        node("MaxPool", "r", "y", kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)),
    ]
    lowered = check_plan(conv_graph(nodes), "c a r y", ["conv", "pool"])
    assert lowered.steps_of == {"y": (0, 1)}


def test_conv_pool_flatten_gemm():
    nodes = [
        CONV,
        node("Relu", "c", "r"),
        node("GlobalAveragePool", "r", "p"),
        node("Flatten", "p", "f", axis=1),
        node("Gemm", "f m v", "y", transB=1),
    ]
    graph = conv_graph(nodes, m=randoms(3, 5, 4), v=randoms(4, 5))
    lowered = check_plan(graph, "c r p f y", ["conv", "pool", "matmul"])
    assert lowered.plan.buffers["f"].alias == "p"


def test_a_fusion_of_a_fusion():
    nodes = [CONV, node("Relu", "c", "r"), node("AveragePool", "r", "y", kernel_shape=(2, 2), strides=(2, 2))]
    graph = conv_graph(nodes)
    fuse(graph, "c r", "ConvReLU")
    feeds = {"x": randoms(9, 2, 4, 6, 6), "z": randoms(9, 2, 4, 6, 6)}
    expected = run_graph(conv_graph(nodes), feeds)
    fuse(graph, "r y", "ConvReLUPool")
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == ["conv", "pool"]
    assert {step.op for step in lowered.plan.steps} == {"ConvReLUPool"}
    assert [step.origin for step in lowered.plan.steps] == [("/c", "/r"), ("/y",)]
    np.testing.assert_allclose(run_plan(lowered, feeds)[0], expected[0], rtol=1e-4, atol=1e-5)


def test_the_sum_of_two_convolutions_takes_in_one():
    nodes = [CONV, node("Conv", "z w", "d", pads=(1, 1, 1, 1)), node("Add", "c d", "a"), node("Relu", "a", "y")]
    lowered = check_plan(conv_graph(nodes), "c d a y", ["conv", "conv"])
    first, last = lowered.plan.steps
    assert last.inputs[3] == first.outputs[0]


def test_a_convolution_plus_its_own_input():
    check_plan(conv_graph([CONV, node("Add", "x c", "y")]), "c y", ["conv"])


def test_a_result_added_to_itself_is_no_residual():
    check_plan(conv_graph([CONV, node("Add", "c c", "y")]), "c y", ["conv", "binary"])


def test_a_broadcast_addend_is_no_residual():
    nodes = [CONV, node("GlobalAveragePool", "z", "p"), node("Add", "c p", "y")]
    check_plan(conv_graph(nodes), "c p y", ["conv", "pool", "binary"])


def test_no_factor_folds_below_a_residual():
    vectors = {v: np.abs(randoms(i, 4)) for i, v in enumerate(("g", "s", "e", "v"))}
    nodes = [CONV, node("Add", "c z", "a"), node("Mul", "a k", "m"), node("Relu", "m", "y")]
    check_plan(conv_graph(nodes, k=randoms(5, 4, 1, 1)), "c a m y", ["conv", "binary"])
    nodes = [CONV, node("Add", "c z", "a"), node("BatchNormalization", "a g s e v", "y")]
    check_plan(conv_graph(nodes, **vectors), "c a y", ["conv", "affine"])


def test_a_shift_after_a_residual_is_a_bias():
    nodes = [CONV, node("Add", "c z", "a"), node("Add", "k a", "s"), node("Relu", "s", "y")]
    check_plan(conv_graph(nodes, k=randoms(5, 4, 1, 1)), "c a s y", ["conv"])


def test_only_one_residual():
    nodes = [CONV, node("Add", "c z", "a"), node("Add", "a x", "y")]
    check_plan(conv_graph(nodes), "c a y", ["conv", "binary"])


def test_nothing_folds_below_an_activation():
    nodes = [CONV, node("Relu", "c", "r"), node("Mul", "r k", "m"), node("Relu", "m", "y")]
    check_plan(conv_graph(nodes, k=randoms(5, 4, 1, 1)), "c r m y", ["conv", "binary"])


def test_a_full_constant_is_a_residual():
    check_plan(conv_graph([CONV, node("Add", "c k", "y")], k=randoms(5, 2, 4, 6, 6)), "c y", ["conv"])


def test_a_value_with_two_readers_stays():
    nodes = [CONV, node("Relu", "c", "r"), node("Add", "r c", "y")]
    check_plan(conv_graph(nodes), "c r y", ["conv", "unary", "binary"])


def test_a_gate_that_is_read_elsewhere_is_no_silu():
    nodes = [CONV, node("Sigmoid", "c", "g"), node("Mul", "c g", "m"), node("Add", "m g", "y")]
    check_plan(conv_graph(nodes), "c g m y", ["conv", "unary", "binary", "binary"])


def test_a_gate_that_the_fusion_gives_is_no_silu():
    nodes = [CONV, node("Sigmoid", "c", "g"), node("Mul", "c g", "m"), node("Add", "m g", "y")]
    graph = conv_graph(nodes)
    fuse(graph, "c g m", outputs="g m")
    assert kernels_of(lower(graph, backend="reference")) == ["conv", "unary", "binary", "binary"]


def test_a_gated_value_that_is_read_elsewhere_stays():
    nodes = [CONV, node("Sigmoid", "c", "g"), node("Mul", "c g", "m"), node("Add", "m c", "y")]
    check_plan(conv_graph(nodes), "c g m y", ["conv", "unary", "binary"])


def test_a_gate_over_another_tensor_is_no_silu():
    nodes = [CONV, node("Sigmoid", "c", "g"), node("Mul", "z g", "y")]
    check_plan(conv_graph(nodes), "c g y", ["conv", "binary"])


def test_clip_limits_that_are_computed_are_not_taken_in():
    nodes = [node("ReduceMax", "z", "low", keepdims=0), CONV, node("Clip", "c low", "y")]
    check_plan(conv_graph(nodes), "c y", ["reduce", "conv", "binary"])


def test_normalization_in_training_mode_is_not_folded():
    vectors = {v: np.abs(randoms(i, 4)) for i, v in enumerate(("g", "s", "m", "v"))}
    nodes = [CONV, node("BatchNormalization", "c g s m v", "y", training_mode=1)]
    lowered = lower(conv_graph(nodes, **vectors), backend="reference")
    assert kernels_of(lowered) == ["conv", "host"]


def test_unusual_convolutions():
    nodes = [
        node("Conv", "x w", "a", strides=(2, 1), dilations=(1, 2), pads=(1, 2, 0, 3), group=2),
        node("Conv", "a v", "b", auto_pad="SAME_UPPER", strides=(2, 2)),
        node("Conv", "b u", "y", auto_pad="SAME_LOWER", kernel_shape=(2, 2)),
    ]
    constants = {"w": randoms(1, 6, 2, 3, 2), "v": randoms(2, 5, 6, 2, 2), "u": randoms(3, 3, 5, 2, 2)}
    check_plan(build({"x": [2, 4, 7, 6]}, nodes, "y", constants), "", ["conv"] * 3)


@pytest.mark.parametrize("rank", [1, 3])
def test_convolutions_and_pools_of_other_ranks(rank: int):
    nodes = [
        node("Conv", "x w", "c", pads=(1,) * (2 * rank)),
        node("MaxPool", "c", "m", kernel_shape=(2,) * rank, ceil_mode=1, strides=(2,) * rank),
        node("AveragePool", "m", "a", kernel_shape=(2,) * rank, pads=(1,) * (2 * rank), count_include_pad=1),
        node("GlobalMaxPool", "a", "y"),
    ]
    graph = build({"x": [2, 3, *[5] * rank]}, nodes, "y", {"w": randoms(1, 4, 3, *[3] * rank)})
    check_plan(graph, "", ["conv", "pool", "pool", "pool"])


def test_pools_that_give_indices_or_pad_by_symbols_are_host_steps():
    nodes = [node("MaxPool", "x", "y i", kernel_shape=(2, 2))]
    graph = build({"x": [1, 1, 4, 4]}, nodes, "y i", {})
    assert kernels_of(lower(graph, backend="reference")) == ["host"]
    nodes = [node("MaxPool", "x", "y", kernel_shape=(3, 3), strides=(2, 2), auto_pad="SAME_UPPER")]
    graph = build({"x": [1, 1, "h", 4]}, nodes, "y", {})
    lowered = lower(graph, backend="reference")
    assert lowered.host_steps[0].reason == "padding is not known before the model runs"


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", ["ReduceMean", "ReduceMax"])
def test_reductions_over_the_image_are_pools(op: str, keepdims: int):
    nodes = [node(op, "x axes", "r", keepdims=keepdims), node("Relu", "r", "y")]
    graph = build({"x": [2, 3, 4, 5]}, nodes, "y", {"axes": np.array([-1, 2])})
    lowered = check_plan(graph, "", ["pool", "unary"])
    assert lowered.plan.steps[0].attributes["is_global"] is True


def test_reductions_over_other_axes():
    for axes in ([1, 2], [3], [1, 2, 3]):
        graph = build({"x": [2, 3, 4, 5]}, [node("ReduceMean", "x axes", "y")], "y", {"axes": np.array(axes)})
        check_plan(graph, "", ["reduce"])


@pytest.mark.parametrize("rank", [2, 3, 5, 6])
def test_normalization_alone(rank: int):
    vectors = {v: np.abs(randoms(i, 3)) for i, v in enumerate(("g", "b", "m", "v"))}
    nodes = [node("BatchNormalization", "x g b m v", "n"), node("Relu", "n", "y")]
    graph = build({"x": [2, 3, *[2] * (rank - 2)]}, nodes, "y", vectors)
    check_plan(graph, "n y", ["affine"] if 3 <= rank <= 5 else ["binary", "binary"])


def test_normalization_of_mixed_types_is_a_host_step():
    vectors = {v: np.abs(randoms(i, 3)) for i, v in enumerate(("g", "b", "m", "v"))}
    nodes = [node("Conv", "x w", "c"), node("BatchNormalization", "c g b m v", "y")]
    constants = {"w": randoms(1, 3, 3, 1, 1).astype(np.float16), **vectors}
    graph = build({"x": [1, 3, 2, 2]}, nodes, "y", constants, DType.FLOAT16)
    fuse(graph, "c y")
    assert kernels_of(lower(graph, backend="reference")) == ["conv", "host"]


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"])
def test_binary_operators(op: str):
    nodes = [node("Exp", "a", "e"), node(op, "e b", "y")]
    check_plan(build({"a": [2, 1, 3], "b": [4, 1]}, nodes, "y", {}), "", ["unary", "binary"])


@pytest.mark.parametrize("op", ["Abs", "Neg", "Exp", "Sqrt", "Reciprocal", "Floor", "Ceil", "Erf", "Log"])
def test_functions(op: str):
    nodes = [node("Exp", "x", "e"), node(op, "e", "y")]
    check_plan(build({"x": [3, 4]}, nodes, "y", {}), "", ["unary", "unary"])


def test_integers_have_arithmetic_and_no_functions():
    graph = build({"a": [2], "b": [2]}, [node("Add", "a b", "s"), node("Relu", "s", "y")], "y", {}, DType.INT64)
    for backend in ("native", "reference"):
        lowered = lower(graph, backend=backend)
        assert kernels_of(lowered) == ["arithmetic", "host"]
        assert [step.reason for step in lowered.host_steps] == ["element type int64"]


def test_the_native_backend_has_functions_of_float32_and_float64():
    nodes = [node("Add", "a b", "s"), node("Exp", "s", "y")]
    for dtype, kernels in ((DType.DOUBLE, ["binary", "unary"]), (DType.FLOAT16, ["host", "host"])):
        graph = build({"a": [2], "b": [2]}, nodes, "y", {}, dtype)
        assert kernels_of(lower(graph, backend="native")) == kernels
        assert kernels_of(lower(graph, backend="reference")) == ["binary", "unary"]


def test_a_silu_is_known_by_its_body():
    body = [node("Sigmoid", "x", "g"), node("Mul", "x g", "y")]
    graph = build({"x": [3, 4]}, body, "y", {})
    fuse(graph, "g y", "SiLU")
    lowered = lower(graph, backend="native")
    assert [(s.kernel, s.attributes["op"], s.attributes["alpha"]) for s in lowered.plan.steps] == [
        ("unary", "SiLU", 1.0)
    ]


def test_a_body_without_kernels_runs_node_by_node():
    body = [node("Sigmoid", "x", "g"), node("Mul", "x g", "y")]
    graph = build({"x": [3, 4]}, body, "y", {}, DType.FLOAT16)
    fuse(graph, "g y", "SiLU")
    lowered = lower(graph, backend="native")
    assert kernels_of(lowered) == ["host", "host"]
    assert lowered.steps_of == {"y": (0, 1)}


def test_a_fused_node_that_is_called_like_an_operator_is_what_its_body_is():
    graph = build({"x": [3, 4]}, [node("Neg", "x", "n"), node("Abs", "n", "y")], "y", {})
    fuse(graph, "n y", "Relu")
    (step,) = lower(graph, backend="native").plan.steps
    assert step.attributes["program"] == [["Neg", 0, -1, -1, 0.0, 0.0], ["Abs", 1, -1, -1, 0.0, 0.0]]


def test_an_opaque_node_is_a_host_step():
    item = Node("y", "Relu", ("x",), ("y",), opset=5, opaque=True)
    graph = Graph("main", ["x"], ["y"])
    for name in ("x", "y"):
        graph.set_value(Value(name, DType.FLOAT, (2,)))
    graph.add(item)
    lowered = lower(graph, backend="native")
    assert lowered.plan.steps[0].attributes["opset"] == 5
    assert lowered.host_steps[0].reason == "Relu of opset 5 has no canonical form"


def test_clip_without_limits_keeps_the_finite_range():
    graph = build({"t": [2]}, [node("Clip", "t", "y")], "y", {})
    step = lower(graph, backend="native").plan.steps[0]
    assert step.attributes["alpha"] == -step.attributes["beta"] == float(np.finfo(np.float32).min)
    assert math.isfinite(float(str(step.attributes["beta"])))


def test_an_attribute_of_any_kind_reaches_the_host_step():
    attributes = {"a": 1, "f": 0.5, "s": "text", "l": (1, 2), "t": np.arange(3, dtype=np.int64)}
    graph = Graph("main", ["x"], ["y"])
    graph.set_value(Value("x", DType.FLOAT, (2,)))
    graph.add(Node("y", "Own", ("x",), ("y",), attributes, domain="own.domain", opset=3))
    settings = lower(graph, backend="native").plan.steps[0].attributes
    assert (settings["op"], settings["domain"], settings["opset"]) == ("Own", "own.domain", 3)
    assert settings["attributes"]["l"] == [1, 2]  # type: ignore[index,call-overload]
