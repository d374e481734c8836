"""How near misses read, and which are told."""

from __future__ import annotations

from collections.abc import Callable

from autofusion.diagnostics.text import render_text
from autofusion.fusion import Code, FusionResult
from autofusion.ir import DType, Value
from fusion.support import Net, everything, run

IMAGE = (1, 4, 6, 6)


def render(result: FusionResult) -> str:
    return "\n".join(render_text(miss.diagnostic()) for miss in result.misses)


def test_texts(check_golden: Callable[[str, str], None]) -> None:
    net = Net()
    net.input("x", IMAGE)
    net.input("hi", ())
    net.conv("x", "c")
    net.norm("c", "n")
    net.op("Clip", "n _ hi", "y")
    net.conv("y", "d")
    net.op("Relu", "d", "e")
    net.op("Neg", "d", "f")
    net.input("m", (6, 6))
    net.op("MatMul", "f m", "p")
    net.op("Add", "p e", "q")
    check_golden("fusion/misses.txt", render(run(net.output("q"))))


def test_an_operator_alone_is_no_beginning() -> None:
    net = Net()
    net.op("Relu", net.op("Exp", net.input("x", IMAGE), "e"), "y")
    assert run(net.output("y")).misses == ()


def test_one_miss_for_each_anchor() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.op("Relu", "c", "a")
    net.op("Tanh", "c", "b")
    (miss,) = run(net.output("a", "b")).misses
    assert (miss.anchor, miss.root, str(miss.reason)) == ("C", "A", "MULTI_READER(c, B)")


def test_no_miss_where_as_much_was_fused() -> None:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.norm("c", "n")
    net.op("Relu", "n", "a")
    net.op("Exp", "a", "y")
    assert run(net.output("y")).misses == ()


def test_every_reason_code_is_spelled_like_its_name() -> None:
    assert [str(code) for code in Code] == [code.name for code in Code]


def test_of_equal_misses_the_one_that_failed_later_is_told() -> None:
    """`matmul_bias_act` fails at the product, `matmul_scale` at the factor that follows it."""
    net = Net()
    net.input("a", (3, 4))
    net.input("b", (4, 3))
    net.op("MatMul", "a b", "m", (3, 3))
    net.op("Mul", f"m {net.const('k', (3, 1))}", "y")
    (miss,) = run(net.output("y")).misses
    assert (miss.pattern, str(miss.reason)) == ("matmul_scale", "BROADCAST(factor, [3, 1], [])")


def test_what_another_miss_reached_from_further_away_is_not_told() -> None:
    """The transposition of the values is no flag of a product, but they belong to what nearly was an attention."""
    net = Net()
    for name in "qkv":
        net.input(name, (2, 3, 4, 4))
    net.op("MatMul", "q k", "s")
    net.op("Softmax", "s", "p", attributes={"axis": 2})
    net.op("Transpose", "v", "t", attributes={"perm": (0, 2, 1, 3)})
    net.graph.set_value(Value("t", DType.FLOAT, (2, 4, 3, 4)))
    net.op("MatMul", "p t", "y")
    misses = run(net.output("y")).misses
    assert [(miss.pattern, str(miss.code)) for miss in misses] == [("attention", "AXIS")]


def test_what_takes_the_rest_yields_to_any_other_pattern() -> None:
    net = Net()
    net.op("Sigmoid", net.input("x", IMAGE), "s")
    net.op("Mul", "x s", "y")
    net.op("Neg", "s", "z")
    patterns = run(net.output("y", "z"), everything()).misses
    assert [(miss.pattern, str(miss.reason)) for miss in patterns] == [("silu", "MULTI_READER(s, Z)")]
