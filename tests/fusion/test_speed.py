"""Fusion of a large graph: the work, in function calls, grows with the number of nodes, not with its square."""

from __future__ import annotations

import sys
from types import FrameType

from autofusion.ir import Graph
from fusion.support import Net, run

IMAGE = ("batch", 4, 6, 6)


def network(blocks: int) -> Graph:
    net = Net()
    last = net.input("x", IMAGE)
    for place in range(blocks):
        name = f"b{place}"
        net.conv(last, f"{name}_c")
        net.norm(f"{name}_c", f"{name}_n")
        net.op("Add", f"{name}_n {last}", f"{name}_s")
        net.op("Sigmoid", f"{name}_s", f"{name}_g")
        net.op("Mul", f"{name}_s {name}_g", f"{name}_y")
        last = net.op("Exp", f"{name}_y", f"{name}_e")
    return net.output(last)


def count_calls(blocks: int) -> int:
    """Python functions called while a network is fused: a measure of work that no other process disturbs."""
    graph = network(blocks)
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        result = run(graph)
    finally:
        sys.setprofile(None)
    assert len(result.fusions) == blocks
    return calls


def test_work_is_linear() -> None:
    small, large = count_calls(25), count_calls(200)
    assert large < 10 * small
