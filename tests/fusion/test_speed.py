"""Fusion of a large graph: time grows with the number of nodes, not with its square."""

from __future__ import annotations

import time

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


def seconds(blocks: int) -> float:
    graph = network(blocks)
    start = time.process_time()
    result = run(graph)
    assert len(result.fusions) == blocks
    return time.process_time() - start


def test_time_is_linear() -> None:
    small, large = min(seconds(50) for _ in range(3)), seconds(400)
    # Eight times the nodes; sixteen leaves room for noise and rules the square out.
    assert large < 16 * small
