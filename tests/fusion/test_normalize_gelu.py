"""Gelu, QuickGelu, Swish, Mish and Sigmoid: every spelling is one operator, lookalikes stay."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autofusion.ir import Graph
from autofusion.patternlang.variants import enumerate_names
from fusion.normalizing import normalize, only, reason_of
from fusion.support import Net, builtin, displays, ops, run

ROOT = math.sqrt(2.0)


class Spelling(Net):
    """A net on one input `x`; numbers become constants of one element."""

    def __init__(self, shape: tuple[int | str, ...] = (2, 8)) -> None:
        super().__init__()
        self.input("x", shape)
        self._count = 0

    def number(self, value: float, shape: tuple[int, ...] = ()) -> str:
        self._count += 1
        return self.const(f"k{self._count}", np.full(shape, value, np.float32))

    def do(self, op: str, *operands: str | float) -> str:
        names = [item if isinstance(item, str) else self.number(item) for item in operands]
        self._count += 1
        name = f"{op.lower()}{self._count}"
        # The first operand may be a number; results have the shape of x throughout.
        return self.op(op, " ".join(names), name, self.graph.value("x").shape)


def erf_of(net: Spelling, scale: float = ROOT, x: str = "x") -> str:
    return net.do("Add", net.do("Erf", net.do("Div", x, scale)), 1.0)


def gelu_with(scale: float = ROOT, half: float = 0.5, unit: float = 1.0) -> Graph:
    net = Spelling()
    total = net.do("Add", net.do("Erf", net.do("Div", "x", scale)), unit)
    return net.output(net.do("Mul", net.do("Mul", "x", total), half))


@pytest.mark.parametrize("place", ["last", "on x", "on the sum", "inside", "left"])
@pytest.mark.parametrize("scale", [ROOT, 1.4142, 1.41421])
def test_erf_with_the_half_anywhere(place: str, scale: float) -> None:
    net = Spelling()
    if place == "inside":
        part = net.do("Mul", net.do("Erf", net.do("Div", "x", scale)), 0.5)
        last = net.do("Mul", "x", net.do("Add", part, 0.5))
    elif place == "on x":
        last = net.do("Mul", net.do("Mul", "x", 0.5), erf_of(net, scale))
    elif place == "on the sum":
        last = net.do("Mul", "x", net.do("Mul", erf_of(net, scale), 0.5))
    elif place == "left":
        last = net.do("Mul", 0.5, net.do("Mul", erf_of(net, scale), "x"))
    else:
        last = net.do("Mul", net.do("Mul", "x", erf_of(net, scale)), 0.5)
    graph = net.output(last)
    run(graph)
    (node,) = graph
    assert (node.op, node.domain, node.attributes, node.display) == ("Gelu", "", {"approximate": "none"}, "Gelu")


@pytest.mark.parametrize("scale", [math.sqrt(0.5), 0.7071, 0.70711])
def test_erf_of_a_product(scale: float) -> None:
    net = Spelling()
    total = net.do("Add", 1.0, net.do("Erf", net.do("Mul", scale, "x")))
    graph = net.output(net.do("Mul", net.do("Mul", "x", 0.5), total))
    run(graph)
    assert ops(graph) == ["Gelu"]


def test_values_of_erf() -> None:
    assert only(gelu_with()).op == "Gelu"


def test_half_by_division() -> None:
    net = Spelling()
    assert only(net.output(net.do("Div", net.do("Mul", "x", erf_of(net)), 2.0))).op == "Gelu"


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (gelu_with(unit=1.1), "CONSTANT_VALUE(1.1, 1)"),
        (gelu_with(scale=1.5), "CONSTANT_VALUE(1.5, 1.41421)"),
    ],
)
def test_other_numbers_are_no_gelu(graph: Graph, reason: str) -> None:
    result = run(graph)
    assert ops(graph) == ["Add", "Div", "Erf", "Mul", "Mul"]
    assert reason_of(result, "gelu") == reason


def test_another_factor_is_no_gelu() -> None:
    graph = gelu_with(half=0.4)
    run(graph)
    assert ops(graph) == ["Add", "Div", "Erf", "Mul", "Mul"]


def test_gelu_over_two_tensors_stays() -> None:
    net = Spelling()
    net.input("w", (2, 8))
    graph = net.output(net.do("Mul", net.do("Mul", "w", erf_of(net)), 0.5))
    result = run(graph)
    assert ops(graph) == ["Add", "Div", "Erf", "Mul", "Mul"]
    assert reason_of(result, "gelu") == "OPERAND(x, x, w)"


def test_an_inner_value_that_is_an_output_stays() -> None:
    net = Spelling()
    erf = net.do("Erf", net.do("Div", "x", ROOT))
    last = net.do("Mul", net.do("Mul", "x", net.do("Add", erf, 1.0)), 0.5)
    graph = net.output(last, erf)
    assert reason_of(run(graph), "gelu") == f"GRAPH_OUTPUT({erf})"


def test_a_second_reader_inside_stays() -> None:
    net = Spelling()
    total = erf_of(net)
    last = net.do("Mul", net.do("Mul", "x", total), 0.5)
    graph = net.output(last, net.do("Neg", total))
    assert reason_of(run(graph), "gelu").startswith(f"MULTI_READER({total}, ")


def test_a_number_that_raises_the_rank_stays() -> None:
    net = Spelling()
    half = net.number(0.5, (1, 1, 1))
    net.op("Mul", f"x {half}", "h", (1, 2, 8))
    net.op("Mul", f"h {erf_of(net)}", "y", (1, 2, 8))
    assert reason_of(run(net.output("y")), "gelu") == "BROADCAST(rank, 3, 0)"


def tanh_of(net: Spelling, inner: str) -> str:
    return net.do("Add", net.do("Tanh", inner), 1.0)


@pytest.mark.parametrize("cube", ["power", "product", "distributed", "square", "outer"])
@pytest.mark.parametrize("place", ["last", "on x", "on the sum"])
def test_tanh(cube: str, place: str) -> None:
    net = Spelling()
    slope, root = 0.044715, math.sqrt(2 / math.pi)
    if cube in ("power", "product"):
        third = net.do("Pow", "x", 3.0) if cube == "power" else net.do("Mul", net.do("Mul", "x", "x"), "x")
        inner = net.do("Mul", net.do("Add", "x", net.do("Mul", third, slope)), root)
    elif cube == "distributed":
        part = net.do("Mul", net.do("Mul", "x", slope), "x")
        inner = net.do("Mul", net.do("Mul", "x", root), net.do("Add", part, 1.0))
    else:
        part = net.do("Add", net.do("Mul", net.do("Pow", "x", 2.0), slope), 1.0)
        scaled = net.do("Mul", net.do("Mul", "x", root), part)
        inner = scaled if cube == "square" else net.do("Mul", net.do("Mul", "x", part), root)
        if cube == "outer":
            net.graph.remove(scaled.upper())
            net.graph.discard_unused()
    total = tanh_of(net, inner)
    if place == "last":
        last = net.do("Mul", net.do("Mul", "x", total), 0.5)
    elif place == "on x":
        last = net.do("Mul", net.do("Mul", "x", 0.5), total)
    else:
        last = net.do("Mul", "x", net.do("Mul", 0.5, total))
    graph = net.output(last)
    graph.discard_unused()
    node = next(node for node in normalize(graph) if last in node.outputs)
    assert (node.op, node.attributes) == ("Gelu", {"approximate": "tanh"})


def test_another_slope_is_no_gelu() -> None:
    net = Spelling()
    inner = net.do("Mul", net.do("Add", "x", net.do("Mul", net.do("Pow", "x", 3.0), 0.05)), math.sqrt(2 / math.pi))
    graph = net.output(net.do("Mul", net.do("Mul", "x", tanh_of(net, inner)), 0.5))
    assert reason_of(run(graph), "gelu_tanh") == "CONSTANT_VALUE(0.05, 0.044715)"


def gated(alpha: float, gate: str = "x") -> Graph:
    net = Spelling()
    net.input("w", (2, 8))
    return net.output(net.do("Mul", gate, net.do("Sigmoid", net.do("Mul", "x", alpha))))


def test_quick_gelu_is_told_from_other_factors() -> None:
    quick, other = only(gated(1.702)), only(gated(0.9))
    assert (quick.op, quick.display, quick.attributes["alpha"]) == ("Swish", "QuickGelu", pytest.approx(1.702))
    assert (other.op, other.display, other.attributes["alpha"]) == ("Swish", "Swish", pytest.approx(0.9))


def test_a_gate_on_another_value_stays() -> None:
    graph = gated(1.702, gate="w")
    result = run(graph)
    assert ops(graph) == ["Mul", "Mul", "Sigmoid"]
    assert {miss.pattern for miss in result.misses} <= {"quick_gelu", "swish", "silu"}
    assert "OPERAND(x, x, w)" in {str(miss.reason) for miss in result.misses}


def test_a_factor_that_is_computed_stays() -> None:
    net = Spelling()
    net.input("beta", ())
    graph = net.output(net.do("Mul", "x", net.do("Sigmoid", net.do("Mul", "x", "beta"))))
    result = run(graph)
    assert ops(graph) == ["Mul", "Mul", "Sigmoid"]
    assert "NOT_CONSTANT(alpha)" in {str(miss.reason) for miss in result.misses}


@pytest.mark.parametrize("written_out", [False, True])
def test_mish(written_out: bool) -> None:
    net = Spelling()
    soft = net.do("Log", net.do("Add", net.do("Exp", "x"), 1.0)) if written_out else net.do("Softplus", "x")
    assert only(net.output(net.do("Mul", "x", net.do("Tanh", soft)))).op == "Mish"


def test_mish_of_another_value_stays() -> None:
    net = Spelling()
    net.input("w", (2, 8))
    graph = net.output(net.do("Mul", "w", net.do("Tanh", net.do("Softplus", "x"))))
    assert reason_of(run(graph), "mish") == "OPERAND(x, x, w)"


@pytest.mark.parametrize("by", ["Reciprocal", "Div"])
def test_sigmoid_and_what_it_gates(by: str) -> None:
    net = Spelling()
    total = net.do("Add", net.do("Exp", net.do("Neg", "x")), 1.0)
    gate = net.do("Reciprocal", total) if by == "Reciprocal" else net.do("Div", 1.0, total)
    assert only(net.output(net.do("Mul", "x", gate))).op == "SiLU"


def test_a_sum_with_another_number_is_no_sigmoid() -> None:
    net = Spelling()
    total = net.do("Add", net.do("Exp", net.do("Neg", "x")), 2.0)
    graph = net.output(net.do("Reciprocal", total))
    assert reason_of(run(graph), "sigmoid") == "CONSTANT_VALUE(2, 1)"


def test_names_inside_a_product() -> None:
    net = Spelling((4, 8))
    net.const("w", (8, 8))
    product = net.do("MatMul", "x", "w")
    last = net.do("Mul", product, net.do("Sigmoid", net.do("Mul", product, 1.702)))
    graph = net.output(last)
    assert displays(run(graph)) == ["MatMul+QuickGelu"]
    assert "MatMul+QuickGelu" in enumerate_names(builtin())["matmul_bias_act"]


def test_the_half_of_x_twice() -> None:
    net = Spelling()
    half = net.do("Mul", "x", 0.5)
    assert (
        only(net.output(net.do("Add", half, net.do("Mul", half, net.do("Erf", net.do("Div", "x", ROOT)))))).op == "Gelu"
    )


def test_the_half_of_another_value_stays() -> None:
    net = Spelling()
    net.input("w", (2, 8))
    half, other = net.do("Mul", "x", 0.5), net.do("Mul", "w", 0.5)
    graph = net.output(net.do("Add", half, net.do("Mul", other, net.do("Erf", net.do("Div", "x", ROOT)))))
    run(graph)
    assert "Gelu" not in ops(graph)


def silu_by_quotient(sign: str = "Neg", one: float = 1.0) -> Graph:
    net = Spelling()
    minus = net.do("Neg", "x") if sign == "Neg" else net.do("Mul", "x", -1.0)
    return net.output(net.do("Div", "x", net.do("Add", net.do("Exp", minus), one)))


@pytest.mark.parametrize("sign", ["Neg", "Mul"])
def test_silu_as_a_quotient(sign: str) -> None:
    assert only(silu_by_quotient(sign)).op == "SiLU"


def test_another_quotient_is_no_silu() -> None:
    graph = silu_by_quotient(one=2.0)
    assert reason_of(run(graph), "silu") == "CONSTANT_VALUE(2, 1)"
    assert "SiLU" not in ops(graph)


def hard_sigmoid(top: float = 6.0, rank: int = 2) -> Graph:
    net = Spelling()
    clipped = net.do("Clip", net.do("Add", "x", 3.0), 0.0, top)
    six = net.number(6.0, (1,) * rank)
    return net.output(net.op("Div", f"{clipped} {six}", "y", (1,) * max(rank - 2, 0) + (2, 8)))


def test_hard_sigmoid() -> None:
    node = only(hard_sigmoid())
    assert (node.op, node.attributes) == ("HardSigmoid", {"alpha": pytest.approx(1 / 6), "beta": 0.5})


@pytest.mark.parametrize(
    ("graph", "reason"),
    [(hard_sigmoid(top=5.0), "CONSTANT_VALUE(5, 6)"), (hard_sigmoid(rank=3), "BROADCAST(rank, 3, 0)")],
)
def test_lookalikes_of_hard_sigmoid(graph: Graph, reason: str) -> None:
    result = run(graph)
    assert "HardSigmoid" not in ops(graph)
    assert reason in {str(miss.reason) for miss in result.misses if miss.pattern == "hard_sigmoid"}
