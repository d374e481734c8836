"""Convolution with normalization, residual and activation: what fuses, what does not, and the reason."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.ir import FUSED_DOMAIN, DType, Graph
from fusion.support import Net, displays, ops, reasons, run

IMAGE = ("batch", 4, 6, 5)


def block(net: Net, x: str, y: str, *, norm: bool = True, act: str = "Relu") -> str:
    net.conv(x, f"{y}_c")
    if norm:
        net.norm(f"{y}_c", f"{y}_n")
    return net.op(act, f"{y}_n" if norm else f"{y}_c", y)


@pytest.mark.parametrize(
    ("norm", "act", "display", "op"),
    [
        (True, "Relu", "Conv+BN+ReLU", "ConvBNReluFusionOp"),
        (False, "Relu", "Conv+ReLU", "ConvReluFusionOp"),
        (True, "LeakyRelu", "Conv+BN+LeakyRelu", "ConvBNLeakyReluFusionOp"),
        (False, "HardSwish", "Conv+HardSwish", "ConvHardSwishFusionOp"),
        (False, "HardSigmoid", "Conv+HardSigmoid", "ConvHardSigmoidFusionOp"),
        (False, "Sigmoid", "Conv+Sigmoid", "ConvSigmoidFusionOp"),
        (True, "Tanh", "Conv+BN+Tanh", "ConvBNTanhFusionOp"),
        (True, "Elu", "Conv+BN+Elu", "ConvBNEluFusionOp"),
    ],
)
def test_activations(norm: bool, act: str, display: str, op: str) -> None:
    net = Net()
    block(net, net.input("x", IMAGE), "y", norm=norm, act=act)
    graph = net.output("y")
    assert displays(run(graph)) == [display]
    assert ops(graph) == [op]


def test_fused_node_keeps_what_it_replaced() -> None:
    net = Net()
    net.const("b", (4,))
    net.conv(net.input("x", IMAGE), "c", bias="b")
    net.norm("c", "n")
    net.op("Relu", "n", "y")
    graph = net.output("y")
    run(graph)
    (node,) = graph
    assert (node.name, node.domain, node.pattern, node.display) == ("Y", FUSED_DOMAIN, "conv_bn_act", "Conv+BN+ReLU")
    assert node.inputs == ("x", "c_w", "b", "n_scale", "n_beta", "n_mean", "n_var")
    assert node.outputs == ("y",)
    assert node.origin == ("c", "n", "y")
    assert node.bindings == {"conv": "C", "bn": "N", "act": "Y"}
    assert node.body is not None
    assert (node.body.inputs, node.body.outputs) == (node.inputs, ("y",))
    assert [inner.op for inner in node.body] == ["Conv", "BatchNormalization", "Relu"]
    assert node.body.value("c").shape == graph.value("y").shape
    assert node.body.constants == {}
    assert graph.constant("c_w") is not None
    assert "c" not in graph.values


@pytest.mark.parametrize("limits", ["lo hi", "lo", "_ hi", ""])
def test_clip_with_constant_limits(limits: str) -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    for name in limits.replace("_", "").split():
        net.const(name, np.array(6, np.float32))
    net.op("Clip", f"c {limits}", "y")
    assert displays(run(net.output("y"))) == ["Conv+Clip"]


def test_clip_with_a_computed_limit_leaves_the_rest_fused() -> None:
    net = Net()
    net.input("hi", ())
    net.conv(net.input("x", IMAGE), "c")
    net.norm("c", "n")
    net.op("Clip", "n _ hi", "y")
    graph = net.output("y")
    result = run(graph)
    assert ops(graph) == ["Clip", "ConvBNFusionOp"]
    (miss,) = result.misses
    assert str(miss.reason) == "NOT_CONSTANT(hi)"
    assert (miss.statement, miss.satisfied, miss.needed) == ("act", 2, 3)
    assert (miss.instead, miss.left_out) == ("Conv+BN", ("Y",))
    assert miss.message == (
        "conv_bn_act nearly matched at Y: matched 2 of 3; failed at act: NOT_CONSTANT(hi); "
        "Conv+BN was applied without Y"
    )
    assert miss.diagnostic().code == "AF302"


def residual(order: str, *, norm: bool = True) -> Graph:
    net = Net()
    net.input("r", IMAGE)
    net.conv(net.input("x", IMAGE), "c")
    if norm:
        net.norm("c", "n")
    net.op("Add", order.replace("n", "n" if norm else "c"), "s", IMAGE)
    net.op("Relu", "s", "y")
    return net.output("y")


@pytest.mark.parametrize("order", ["n r", "r n"])
@pytest.mark.parametrize("norm", [True, False])
def test_residual_in_both_orders(order: str, norm: bool) -> None:
    graph = residual(order, norm=norm)
    assert displays(run(graph)) == ["Conv+BN+Add+ReLU" if norm else "Conv+Add+ReLU"]
    (node,) = graph
    assert node.inputs[-1] == "r"


def test_residual_of_the_convolution_itself() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.op("Add", "x c", "y")
    graph = net.output("y")
    assert displays(run(graph)) == ["Conv+Add"]
    assert graph.node("Y").inputs == ("x", "c_w")


def test_one_of_two_branches_takes_the_sum() -> None:
    for order in ("a b", "b a"):
        net = Net()
        net.input("x", IMAGE)
        for name in ("a", "b"):
            net.conv("x", f"{name}_c")
            net.norm(f"{name}_c", name)
        net.op("Add", order, "s")
        net.op("Relu", "s", "y")
        result = run(net.output("y"))
        assert sorted(displays(result)) == ["Conv+BN", "Conv+BN+Add+ReLU"]
        # The first addend is taken: the order of operands decides, not that of insertion.
        assert next(f for f in result.fusions if f.pattern and "Add" in f.display).members[0] == f"{order[0].upper()}_C"
        assert result.misses == ()


def test_the_branch_that_lost_is_told() -> None:
    net = Net()
    net.input("x", IMAGE)
    net.conv("x", "a")
    net.conv("x", "b")
    net.op("Add", "a b", "y")
    result = run(net.output("y"))
    assert displays(result) == ["Conv+Add"]
    assert reasons(result) == {"B": "TAKEN_BY(conv_bn_act)"}
    assert result.misses[0].diagnostic().code == "AF304"


def test_residual_that_comes_later() -> None:
    net = Net()
    net.input("x", IMAGE)
    net.conv("x", "c")
    net.op("Sigmoid", "c", "g")
    net.conv("g", "d")
    net.op("Add", "c d", "s")
    net.op("Relu", "s", "y")
    net.op("Add", "c c", "z")
    graph = net.output("y", "z")
    result = run(graph)
    assert displays(result) == ["Conv+Add+ReLU"]
    assert graph.node("Y").inputs == ("g", "d_w", "c")
    assert graph.node("C").op == "Conv"


def test_sum_of_a_value_with_itself_reads_it_twice() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.norm("c", "n")
    net.op("Add", "n n", "y")
    graph = net.output("y")
    result = run(graph)
    assert ops(graph) == ["Add", "ConvBNFusionOp"]
    assert reasons(result) == {"C": "MULTI_READER(n, Y)"}


def test_two_convolutions_share_a_weight() -> None:
    net = Net()
    net.input("x", IMAGE)
    net.const("w", (4, 4, 1, 1))
    for name in ("a", "b"):
        net.op("Conv", "x w", f"{name}_c")
        net.norm(f"{name}_c", f"{name}_n")
        net.op("Relu", f"{name}_n", name)
    assert displays(run(net.output("a", "b"))) == ["Conv+BN+ReLU", "Conv+BN+ReLU"]


def must_not_fuse(case: str) -> Net:
    net = Net()
    net.input("x", IMAGE)
    net.input("r", ("batch", 4, 1, 5))
    if case == "non-constant weight":
        net.input("w", (4, 4, 1, 1))
        net.op("Conv", "x w", "c")
    elif case == "overridable weight":
        net.input("w", (4, 4, 1, 1))
        net.graph.defaults["w"] = np.zeros((4, 4, 1, 1), np.float32)
        net.op("Conv", "x w", "c")
    elif case == "computed bias":
        net.input("b", (4,))
        net.conv("x", "c", bias="b")
    else:
        net.conv("x", "c")
    if case == "residual broadcast":
        net.op("Add", "c r", "y")
        return net
    net.norm("c", "n", channels=5 if case == "channels" else 4, training=int(case == "training"))
    if case == "shape of scale":
        net.graph.constants.pop("n_scale")
        net.const("n_scale", (1, 4))
    if case == "second reader":
        net.op("Sigmoid", "c", "z")
    net.op("Relu", "n", "y")
    return net


@pytest.mark.parametrize(
    ("case", "reason", "left"),
    [
        ("second reader", "MULTI_READER(c, Z)", ["BNReluFusionOp", "Conv", "Sigmoid"]),
        ("graph output", "GRAPH_OUTPUT(c)", ["BNReluFusionOp", "Conv"]),
        ("non-constant weight", "NOT_CONSTANT(w)", ["BNReluFusionOp", "Conv"]),
        ("overridable weight", "OVERRIDABLE(w)", ["BNReluFusionOp", "Conv"]),
        ("computed bias", "NOT_CONSTANT(b)", ["BNReluFusionOp", "Conv"]),
        ("training", "TRAINING_MODE", ["BatchNormalization", "Conv", "Relu"]),
        ("channels", "BROADCAST(0, [5], [4])", ["BNReluFusionOp", "Conv"]),
        ("shape of scale", "BROADCAST(0, [1, 4], [4])", ["BNReluFusionOp", "Conv"]),
        ("residual broadcast", "BROADCAST(2, [batch, 4, 1, 5], [batch, 4, 6, 5])", ["Add", "Conv"]),
    ],
)
def test_must_not_fuse(case: str, reason: str, left: list[str]) -> None:
    net = must_not_fuse(case)
    extra = {"second reader": ("z",), "graph output": ("c",)}.get(case, ())
    graph = net.output("y", *extra)
    result = run(graph)
    assert ops(graph) == left
    assert reasons(result) == {"C": reason}


def test_second_outputs_of_a_normalization_mean_training() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    names = " ".join(net.const(name, (4,)) for name in ("s", "b", "m", "v"))
    net.op("BatchNormalization", f"c {names}", "y running_mean running_var", IMAGE)
    assert reasons(run(net.output("y"))) == {"C": "TRAINING_MODE"}


def test_further_output_in_use() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    names = " ".join(net.const(name, (4,)) for name in ("s", "b", "m", "v"))
    net.op("BatchNormalization", f"c {names}", "n mean", IMAGE)
    net.op("Relu", "n", "y")
    assert reasons(run(net.output("y", "mean"))) == {"C": "EXTRA_OUTPUT(mean)"}


def test_one_floating_type() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.norm("c", "n")
    net.graph.constants.pop("n_scale")
    net.const("n_scale", np.ones(4, np.float64))
    assert reasons(run(net.output("n"))) == {"C": "DTYPE(scale, double, float)"}


def test_half_precision_fuses() -> None:
    net = Net(dtype=DType.FLOAT16)
    block(net, net.input("x", IMAGE), "y")
    assert displays(run(net.output("y"))) == ["Conv+BN+ReLU"]


def test_unknown_shape_of_the_residual() -> None:
    net = Net()
    net.input("r", None)
    net.conv(net.input("x", IMAGE), "c")
    net.op("Add", "c r", "y", IMAGE)
    assert reasons(run(net.output("y"))) == {"C": "SHAPE_UNKNOWN(residual)"}


def test_a_symbol_equals_only_itself() -> None:
    net = Net()
    net.input("r", ("other", 4, 6, 5))
    net.conv(net.input("x", IMAGE), "c")
    net.op("Add", "c r", "y", IMAGE)
    assert reasons(run(net.output("y"))) == {"C": "BROADCAST(0, [other, 4, 6, 5], [batch, 4, 6, 5])"}


def test_a_fold_out_of_range() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.norm("c", "n")
    net.graph.constants["n_var"] = np.array([1, 1, 1e-30, 1], np.float32)
    net.graph.constants["n_scale"] = np.array([1, 1, 1e38, 1], np.float32)
    assert reasons(run(net.output("n"))) == {"C": "CONSTANT_VALUE(channel 2, finite)"}


def test_a_large_weight_in_another_channel_does_not_matter() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.norm("c", "n")
    net.graph.constants["c_w"][0] = 1e37
    net.graph.constants["n_scale"] = np.array([1e-3, 1, 1e3, 1], np.float32)
    net.graph.constants["n_var"] = np.ones(4, np.float32)
    assert displays(run(net.output("n"))) == ["Conv+BN"]


def test_normalization_without_convolution() -> None:
    net = Net()
    net.input("x", IMAGE)
    net.op("Concat", "x x", "c", IMAGE, {"axis": 1})
    net.norm("c", "n")
    net.op("Relu", "n", "y")
    result = run(net.output("y"))
    assert displays(result) == ["BN+ReLU"]
    assert result.misses == ()


def test_what_follows_a_lone_convolution_is_told() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.op("Exp", "c", "y")
    (miss,) = run(net.output("y")).misses
    assert (miss.anchor, miss.statement, miss.code) == ("C", "factor_step", "OPERATOR")
    wanted = "Mul | Div | Add | Sub | BatchNormalization | Relu"
    assert miss.detail.startswith(f"'c' feeds Y (Exp), expected {wanted}")


def test_silu_is_normalized_and_then_taken_in() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.norm("c", "n")
    net.op("Sigmoid", "n", "g")
    net.op("Mul", "g n", "y")
    graph = net.output("y")
    result = run(graph)
    assert displays(result) == ["Conv+BN+SiLU"]
    assert [(step.display, step.op, step.inside) for step in result.normalized] == [("SiLU", "SiLU", "Y_conv_bn_act")]
    (node,) = graph
    assert node.op == "ConvBNSiLUFusionOp"
    assert node.body is not None
    inner = node.body.node(node.bindings["act"])
    assert (inner.op, inner.domain, inner.inputs) == ("SiLU", FUSED_DOMAIN, ("n",))
    assert inner.body is not None
    assert [part.op for part in inner.body] == ["Sigmoid", "Mul"]


def test_a_gate_of_another_value_is_no_silu() -> None:
    net = Net()
    net.input("u", IMAGE)
    net.op("Sigmoid", net.input("x", IMAGE), "g")
    net.op("Mul", "u g", "y")
    graph = net.output("y")
    result = run(graph)
    assert ops(graph) == ["Mul", "Sigmoid"]
    assert reasons(result) == {"G": "OPERAND(x, x, u)"}


def test_integers_are_no_silu() -> None:
    net = Net(dtype=DType.INT32)
    net.op("Sigmoid", net.input("x", IMAGE), "g")
    net.op("Mul", "x g", "y")
    assert reasons(run(net.output("y"))) == {"G": "DTYPE(x, int32, float)"}
