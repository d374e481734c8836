"""The language on patterns with many spellings: Gelu by erf, and the core of attention."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from autofusion.fusion.predicates import CHECKS
from autofusion.ir import Graph
from autofusion.patternlang import Pattern
from autofusion.patternlang.vocabulary import PREDICATES
from fusion.support import Net, ops, pattern_of, reasons, run

GELU = """
where = ["one_float_type(x)"]
[[form]]
match = '''
z    = Div(x, 1.41421356)
     | Mul(x, 0.70710678)
erf  = Erf(z)
one  = Add(erf, 1)
half = Mul(x, one)
out  = Mul(half, 0.5)
'''
[[form]]
match = '''
z    = Div(x, 1.41421356)
     | Mul(x, 0.70710678)
erf  = Erf(z)
one  = Add(erf, 1)
half = Mul(x, 0.5)
out  = Mul(half, one)
'''
[emit]
op     = "Gelu"
inputs = ["x"]
"""

SDPA = """
where = [
  "swaps_last_two(kt)",
  "scale is scalar const",
  "scale > 0",
  "broadcasts(mask, scores)",
]
[[form]]
match = '''
kt      = Transpose(k)
scores  = MatMul(q, kt)
scaled? = Mul | Div (scores, scale)
masked? = Add(scaled, mask)
probs   = Softmax<axis = last>(masked)
out     = MatMul(probs, v)
'''
"""


@pytest.fixture
def gelu(tmp_path: Path) -> tuple[Pattern, ...]:
    return pattern_of(tmp_path, GELU)


@pytest.fixture
def sdpa(tmp_path: Path) -> tuple[Pattern, ...]:
    return pattern_of(tmp_path, SDPA)


def swap(text: str, swapped: bool) -> str:
    return " ".join(reversed(text.split())) if swapped else text


def gelu_graph(
    first: str, swapped: tuple[bool, ...], form: int = 1, half: float = 0.5, root: float = 1.4142135
) -> Graph:
    net = Net()
    net.input("x", (2, 3))
    net.const("r", np.array(root if first == "Div" else 1 / root, np.float32))
    net.const("i", np.array(1, np.float32))
    net.const("h", np.array(half, np.float32))
    net.op(first, swap("x r", first == "Mul" and swapped[0]), "z", (2, 3))
    net.op("Erf", "z", "e")
    net.op("Add", swap("e i", swapped[1]), "o", (2, 3))
    if form == 1:
        net.op("Mul", swap("x o", swapped[2]), "m", (2, 3))
        net.op("Mul", swap("m h", swapped[3]), "y", (2, 3))
    elif form == 2:
        net.op("Mul", swap("x h", swapped[2]), "m", (2, 3))
        net.op("Mul", swap("m o", swapped[3]), "y", (2, 3))
    else:
        net.op("Mul", "x o", "m", (2, 3))
        net.op("Mul", "m o", "y", (2, 3))
    return net.output("y")


@pytest.mark.parametrize("form", [1, 2])
@pytest.mark.parametrize("first", ["Div", "Mul"])
def test_spellings_of_gelu(gelu: tuple[Pattern, ...], first: str, form: int) -> None:
    for swapped in product((False, True), repeat=4):
        graph = gelu_graph(first, swapped, form)
        run(graph, gelu)
        assert ops(graph) == ["Gelu"], (first, swapped, form)


@pytest.mark.parametrize("root", [1.41421, 1.4142, 1.4142135])
def test_shortened_roots(gelu: tuple[Pattern, ...], root: float) -> None:
    graph = gelu_graph("Div", (False,) * 4, root=root)
    run(graph, gelu)
    assert ops(graph) == ["Gelu"]


@pytest.mark.parametrize(
    ("form", "half", "root", "reason"),
    [
        (3, 0.5, 1.4142135, None),
        (1, 0.05, 1.4142135, "CONSTANT_VALUE(0.05, 0.5)"),
        (1, 0.5, 1.5, "CONSTANT_VALUE(1.5, 1.41421)"),
    ],
)
def test_lookalikes_of_gelu(gelu: tuple[Pattern, ...], form: int, half: float, root: float, reason: str | None) -> None:
    graph = gelu_graph("Div", (False,) * 4, form, half, root)
    result = run(graph, gelu)
    assert "Gelu" not in ops(graph)
    assert reason is None or reason in map(str, (miss.reason for miss in result.misses))


def attention(
    scale: str, mask: bool, swapped: bool = False, shape: tuple[int, ...] = (), perm: tuple[int, ...] = (0, 1, 3, 2)
) -> Graph:
    net = Net()
    heads = ("batch", 2, "rows", 8)
    for name in ("q", "k", "v"):
        net.input(name, heads)
    net.op("Transpose", "k", "kt", ("batch", 2, 8, "rows"), {"perm": perm})
    last = net.op("MatMul", "q kt", "scores", ("batch", 2, "rows", "rows"))
    if scale:
        net.const("s", np.full(shape, 0.35, np.float32))
        last = net.op(scale, swap(f"{last} s", swapped), "scaled", ("batch", 2, "rows", "rows"))
    if mask:
        net.input("m", ("batch", 1, 1, "rows"))
        last = net.op("Add", swap(f"{last} m", swapped), "masked", ("batch", 2, "rows", "rows"))
    net.op("Softmax", last, "p", None, {"axis": 3})
    net.op("MatMul", "p v", "y", heads)
    return net.output("y")


@pytest.mark.parametrize("scale", ["", "Mul", "Div"])
@pytest.mark.parametrize("mask", [False, True])
def test_spellings_of_attention(sdpa: tuple[Pattern, ...], scale: str, mask: bool) -> None:
    for swapped in (False, True):
        if swapped and scale == "Div":
            continue
        graph = attention(scale, mask, swapped)
        run(graph, sdpa)
        (node,) = graph
        assert node.inputs == ("k", "q", *(["s"] if scale else []), *(["m"] if mask else []), "v")


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (attention("Mul", True, shape=(8,)), "BROADCAST(scale, [8], [])"),
        (attention("Mul", True, perm=(0, 2, 3, 1)), "ATTRIBUTE(perm, [0, 2, 3, 1], [0, 1, 3, 2])"),
    ],
)
def test_lookalikes_of_attention(sdpa: tuple[Pattern, ...], graph: Graph, reason: str) -> None:
    result = run(graph, sdpa)
    assert reasons(result) == {"KT": reason}
    assert len(graph) == 6


def test_a_break_near_the_end(sdpa: tuple[Pattern, ...]) -> None:
    net = Net()
    for name in ("q", "k", "v"):
        net.input(name, (2, 3, 8))
    net.op("Transpose", "k", "kt", (2, 8, 3), {"perm": (0, 2, 1)})
    net.op("MatMul", "q kt", "scores", (2, 3, 3))
    net.op("Softmax", "scores", "p", None, {"axis": 2})
    net.op("Neg", "p", "d")
    net.op("MatMul", "d v", "y", (2, 3, 8))
    (miss,) = run(net.output("y"), sdpa).misses
    assert (miss.statement, miss.satisfied, miss.needed) == ("out", 3, 4)
    assert str(miss.reason) == "OPERATOR(Neg, MatMul)"
    assert miss.detail == "'p' feeds D (Neg), expected MatMul"


def test_every_predicate_of_the_vocabulary_is_implemented() -> None:
    assert list(CHECKS) == list(PREDICATES)
