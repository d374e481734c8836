"""Products of one value that become one: queries, keys and values, and gates."""

from __future__ import annotations

import pytest

from autofusion.fusion import Controls
from autofusion.ir import Attribute, DType, Graph
from fusion.support import Extents, Net, displays, ops, reasons, run

ROWS: Extents = ("batch", 3, 5)


def product(net: Net, x: str, y: str, columns: int = 4, bias: bool = True) -> str:
    weight = net.const(f"{y}_w", (5, columns))
    shape = (*ROWS[:-1], columns)
    if not bias:
        return net.op("MatMul", f"{x} {weight}", y, shape)
    net.op("MatMul", f"{x} {weight}", f"{y}_product", shape)
    return net.op("Add", f"{y}_product {net.const(f'{y}_b', (columns,))}", y, shape)


def projections(names: str, biases: str = "", others: str = "") -> Net:
    """Products of x called `names`, those in `biases` with one; x is also read by operators `others`."""
    net = Net()
    net.input("x", ROWS)
    for place, name in enumerate(names):
        product(net, "x", name, 4 + place, name in biases)
    for op in others.split():
        net.op(op, "x", op.lower())
    return net


@pytest.mark.parametrize(("biases", "display"), [("", "QKV+MatMul"), ("qkv", "QKV+MatMul+BiasAdd")])
def test_queries_keys_and_values(biases: str, display: str) -> None:
    graph = projections("qkv", biases, "Exp").output("q", "k", "v", "exp")
    assert displays(run(graph)) == [display]
    (node,) = [node for node in graph if node.display]
    assert (node.outputs, node.op) == (
        ("q", "k", "v"),
        f"{display.replace('+', '').replace('BiasAdd', 'Bias')}FusionOp",
    )


def test_more_than_four_are_dealt_out() -> None:
    graph = projections("abcdef").output(*"abcdef")
    assert displays(run(graph)) == ["QKV+MatMul", "QKV+MatMul"]
    assert sorted(len(node.outputs) for node in graph) == [2, 4]


def test_products_with_and_without_a_bias_stay_apart() -> None:
    graph = projections("abcd", "ab").output(*"abcd")
    assert sorted(displays(run(graph))) == ["QKV+MatMul", "QKV+MatMul+BiasAdd"]


def test_a_product_with_more_behind_it_is_no_part() -> None:
    net = projections("ab")
    net.op("Relu", "b", "c")
    graph = net.output("a", "c")
    assert displays(run(graph)) == ["MatMul+Relu"]
    assert ops(graph) == ["MatMul", "MatMulReluFusionOp"]


def test_one_product_of_another() -> None:
    net = Net()
    net.input("x", (3, 5))
    net.const("w", (5, 5))
    net.op("MatMul", "x w", "a", (3, 5))
    net.op("MatMul", "a w", "b", (3, 5))
    graph = net.output("b", "a")
    assert displays(run(graph)) == []


def test_variable_matrices_and_right_operands_are_no_parts() -> None:
    net = Net()
    net.input("x", (5, 5))
    net.input("v", (5, 5))
    net.const("w", (5, 5))
    for inputs, output in (("x v", "a"), ("w x", "b"), ("x x", "c"), ("x w", "d")):
        net.op("MatMul", inputs, output)
    assert displays(run(net.output(*"abcd"))) == []


def test_a_variable_matrix_is_told() -> None:
    net = projections("qk")
    net.input("v_w", (5, 4))
    net.op("MatMul", "x v_w", "v", (*ROWS[:-1], 4))
    result = run(net.output("q", "k", "v"))
    assert displays(result) == ["QKV+MatMul"]
    (miss,) = [miss for miss in result.misses if miss.pattern == "qkv_matmul"]
    assert (str(miss.reason), miss.bound["part_3"]) == ("NOT_CONSTANT(w)", "V")


def test_a_transposed_left_operand_is_no_part() -> None:
    net = Net()
    net.input("x", (5, 5))
    net.const("w", (5, 5))
    net.op("Gemm", "x w", "a", attributes={"transA": 1})
    net.op("Gemm", "x w", "b", attributes={"transB": 1, "alpha": 0.5})
    net.op("MatMul", "x w", "c")
    graph = net.output(*"abc")
    assert displays(run(graph)) == ["QKV+MatMul"]
    assert graph.producer("a").op == "Gemm"  # type: ignore[union-attr]


def test_vectors_and_integers_are_no_rows() -> None:
    vector = Net()
    vector.input("x", (5,))
    numbers = Net(dtype=DType.INT64)
    numbers.input("x", (3, 5))
    for net, shape in ((vector, (4,)), (numbers, (3, 4))):
        for name in "ab":
            net.const(f"{name}_w", (5, 4))
            net.op("MatMul", f"x {name}_w", name, shape)
        assert displays(run(net.output("a", "b"))) == []


def test_levels_and_lists() -> None:
    names = ("q", "k", "v")
    assert displays(run(projections("qkv").output(*names), controls=Controls(level=1))) == []
    assert displays(run(projections("qkv").output(*names), controls=Controls(disabled={"qkv_matmul": "list"}))) == []


def gated(act: str = "SiLU", biases: str = "", order: str = "a u", reader: str = "") -> Graph:
    net = Net()
    net.input("x", ROWS)
    product(net, "x", "g", 4, "g" in biases)
    product(net, "x", "u", 4, "u" in biases)
    if act == "SiLU":
        net.op("Sigmoid", "g", "s")
        net.op("Mul", "g s", "a")
    else:
        net.op(act, "g", "a")
    net.op("Mul", order, "y")
    if reader:
        net.op("Exp", reader, "z")
    return net.output("y", "z") if reader else net.output("y")


@pytest.mark.parametrize("order", ["a u", "u a"])
@pytest.mark.parametrize("biases", ["", "gu", "g"])
@pytest.mark.parametrize(
    ("act", "word"), [("SiLU", "SiLU"), ("Gelu", "Gelu"), ("Sigmoid", "Sigmoid"), ("Relu", "Relu")]
)
def test_gated_products(order: str, biases: str, act: str, word: str) -> None:
    graph = gated(act, biases, order)
    assert displays(run(graph))[-1] == f"MatMul+{'BiasAdd+' if 'g' in biases else ''}{word}+Mul"
    assert len(ops(graph)) == 1


@pytest.mark.parametrize(("reader", "reason"), [("u", "MULTI_READER(u, Z)"), ("a", "MULTI_READER(a, Z)")])
def test_parts_of_a_gate_that_are_read_elsewhere(reader: str, reason: str) -> None:
    result = run(gated(reader=reader))
    assert displays(result) == ["MatMul+SiLU"]
    assert reason in {str(miss.reason) for miss in result.attempts if miss.pattern == "gated_matmul"}


def test_gates_of_two_values() -> None:
    net = Net()
    net.input("x", ROWS)
    net.input("z", ROWS)
    product(net, "x", "g", bias=False)
    product(net, "z", "u", bias=False)
    net.op("Tanh", "g", "a")
    net.op("Mul", "a u", "y")
    result = run(net.output("y"))
    assert displays(result) == ["MatMul+Tanh"]
    assert reasons(result) == {"G": "OPERAND(x, z, x)"}


@pytest.mark.parametrize(("transposed", "fused"), [({"transB": 1}, True), ({"transA": 1}, False)])
def test_gates_of_gemms(transposed: dict[str, Attribute], fused: bool) -> None:
    net = Net()
    net.input("x", (5, 5))
    net.const("w", (5, 5))
    net.const("b", (5,))
    net.op("Gemm", "x w b", "g", attributes=transposed)
    net.op("Gelu", "g", "a")
    net.op("Gemm", "x w b", "u", attributes=transposed)
    net.op("Mul", "a u", "y")
    graph = net.output("y")
    assert displays(run(graph))[-1] == ("MatMul+BiasAdd+Gelu+Mul" if fused else "MatMul+BiasAdd+Gelu")
