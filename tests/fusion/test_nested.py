"""Control flow: fusion inside bodies, and values that bodies capture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autofusion.fusion import Controls, fuse
from autofusion.ir import Attribute, Graph, Value
from autofusion.ir.verify import verify_graph
from fusion.support import Net, displays, ops, pattern_of, reasons, run

IMAGE = (1, 4, 6, 6)


def branch(build: str) -> Graph:
    """A nested graph without inputs that works on the captured values x, r, c."""
    net = Net()
    net.graph.name = build
    for name in ("x", "r", "c"):
        net.graph.set_value(Value(name, None, None))
    if build == "fusible":
        net.op("Conv", "x w", "inner_c", IMAGE)
        net.op("Add", "inner_c r", "inner_s", IMAGE)
        net.op("Relu", "inner_s", "inner_y", IMAGE)
        return net.output("inner_y")
    if build == "reads c":
        net.op("Neg", "c", "other_y", IMAGE)
        return net.output("other_y")
    net.op("Clip", "c lo", "clip_y", IMAGE)
    net.op("Relu", "clip_y", "clip_z", IMAGE)
    return net.output("clip_z")


def outer(then_branch: Graph, else_branch: Graph) -> Graph:
    net = Net()
    net.input("x", IMAGE)
    net.input("r", IMAGE)
    net.input("cond", ())
    net.const("w", (4, 4, 1, 1))
    net.const("lo", np.array(0, np.float32))
    net.op("Conv", "x w", "c", IMAGE)
    net.op("Relu", "c", "y")
    branches: dict[str, Attribute] = {"then_branch": then_branch, "else_branch": else_branch}
    net.op("If", "cond", "z", IMAGE, branches)
    return net.output("y", "z")


def nested(graph: Graph, key: str) -> Graph:
    body = graph.node("Z").attributes[key]
    assert isinstance(body, Graph)
    return body


def test_fusion_inside_a_body_with_captured_constants() -> None:
    graph = outer(branch("fusible"), branch("fusible"))
    before = nested(graph, "then_branch")
    result = run(graph)
    assert displays(result) == ["Conv+Add+ReLU", "Conv+Add+ReLU", "Conv+ReLU"]
    assert [fusion.graph for fusion in result.fusions] == ["Z.then_branch", "Z.else_branch", ""]
    body = nested(graph, "then_branch")
    assert ops(body) == ["ConvAddReluFusionOp"]
    (node,) = body
    assert node.inputs == ("x", "w", "r")
    assert body.captures() == ("x", "w", "r")
    assert node.body is not None
    assert node.body.value("x").shape == IMAGE
    # The graph that was given is exchanged, not edited: copies of the outer graph share it.
    assert ops(before) == ["Add", "Conv", "Relu"]
    verify_graph(graph, "the test")


def test_a_capture_counts_as_a_reader() -> None:
    graph = outer(branch("fusible"), branch("reads c"))
    result = run(graph)
    assert displays(result) == ["Conv+Add+ReLU"]
    assert reasons(result) == {"C": "NESTED_GRAPH(c, Z)"}
    assert "Conv" in ops(graph)


def test_a_match_does_not_reach_out_of_a_body() -> None:
    graph = outer(branch("reads c"), branch("clips c"))
    result = run(graph)
    assert ops(nested(graph, "else_branch")) == ["Clip", "Relu"]
    assert displays(result) == []


def test_the_reason_names_control_flow(tmp_path: Path) -> None:
    pattern = pattern_of(tmp_path, "[[form]]\nmatch = '''\na = Conv(x, w)\nb = Clip(a, _)\nc = Relu(b)\n'''\n")
    graph = outer(branch("reads c"), branch("clips c"))
    (miss,) = run(graph, pattern).misses
    assert (str(miss.reason), miss.graph, miss.root) == ("CONTROL_FLOW(c)", "Z.else_branch", "CLIP_Z")
    assert miss.detail == "'c' is computed outside Z.else_branch"


def test_controls_hold_inside_bodies() -> None:
    graph = outer(branch("fusible"), branch("fusible"))
    result = fuse(graph, (), Controls())
    assert result.fusions == ()
    graph = outer(branch("fusible"), branch("fusible"))
    result = run(graph, controls=Controls(disabled={"Add": "list"}))
    assert ops(nested(graph, "then_branch")) == ["Add", "Conv", "Relu"]
    assert displays(result) == ["Conv+ReLU"]


def test_white_listed_wrappers_inside_bodies() -> None:
    graph = outer(branch("fusible"), branch("fusible"))
    result = run(graph, controls=Controls(whitelist={"Conv+ReLU+Pool": "w"}))
    assert displays(result) == []
    assert ops(nested(graph, "then_branch")) == ["Add", "Conv", "Relu"]
    verify_graph(graph, "the test")


def test_bodies_in_bodies() -> None:
    inner = outer(branch("fusible"), branch("fusible"))
    middle = Net()
    middle.input("cond2", ())
    for name in ("x", "r"):
        middle.input(name, IMAGE)
    middle.op("If", "cond2", "zz", IMAGE, {"then_branch": _without_inputs(inner), "else_branch": branch("fusible")})
    middle.const("w", (4, 4, 1, 1))
    middle.input("cond", ())
    graph = middle.output("zz")
    result = run(graph)
    assert [fusion.graph for fusion in result.fusions] == [
        "ZZ.then_branch/Z.then_branch",
        "ZZ.then_branch/Z.else_branch",
        "ZZ.then_branch",
        "ZZ.else_branch",
    ]
    verify_graph(graph, "the test")


def _without_inputs(graph: Graph) -> Graph:
    """The graph with its inputs captured instead, and one output."""
    graph.inputs = ()
    graph.outputs = ("y",)
    graph.constants.pop("w")
    return graph
