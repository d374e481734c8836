"""How near misses read, and which are told."""

from __future__ import annotations

from collections.abc import Callable

from autofusion.diagnostics.text import render_text
from autofusion.fusion import Code, FusionResult
from fusion.support import Net, run

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
