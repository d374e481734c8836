"""Nodes with control-flow graphs as host steps: what the graphs capture, and where their constants go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autofusion.errors import ModelError
from autofusion.ir import FUSED_DOMAIN, DType, Graph, Node, Value
from autofusion.lowering import Lowered, lower
from autofusion.plan import Step
from autofusion.plan.attributes import decode_attribute
from autofusion.plan.nested import MAX_DEPTH, NestedGraph, check_attributes
from lowering.graphs import node

WEIGHT = np.arange(3, dtype=np.float32)


def branch(name: str, *nodes: Node, outputs: str, constants: dict[str, np.ndarray] | None = None) -> Graph:
    graph = Graph(name, (), outputs.split())
    for key, array in (constants or {}).items():
        graph.add_constant(key, array)
    for item in nodes:
        graph.add(item)
        for result in item.results:
            graph.set_value(Value(result, DType.FLOAT, (3,)))
    return graph


def choose(then: Graph, other: Graph, *, before: tuple[Node, ...] = ()) -> Lowered:
    """The plan of If(c) on a native backend; x is float [3]."""
    graph = Graph("main", ("x", "c"), ("y",))
    graph.set_value(Value("x", DType.FLOAT, (3,)))
    graph.set_value(Value("c", DType.BOOL, ()))
    for item in before:
        graph.add(item, [Value(result, DType.FLOAT, (3,)) for result in item.results])
    attributes = {"then_branch": then, "else_branch": other}
    graph.add(Node("y", "If", ("c",), ("y",), attributes, opset=11), [Value("y", DType.FLOAT, (3,))])
    return lower(graph, backend="native")


def read_graphs(step: Step) -> dict[str, NestedGraph]:
    """The graphs of a host step, which hang together."""
    settings: Any = step.attributes
    graphs = {name: decode_attribute(value) for name, value in settings["attributes"].items()}
    check_attributes(graphs, set(settings["captured"]))
    return graphs


def test_captured_values_are_operands() -> None:
    then = branch("then", node("Add", "h x", "t"), outputs="t")
    other = branch("else", node("Neg", "h", "e"), outputs="e")
    plan = choose(then, other, before=(node("Relu", "x", "h"),)).plan
    step = plan.steps[-1]
    assert [item.kernel for item in plan.steps] == ["unary", "host"]
    assert step.inputs == ("c", "h", "x")
    assert step.attributes["captured"] == ["h", "x"]
    graphs = read_graphs(step)
    assert [item.inputs for item in graphs["then_branch"].nodes] == [("h", "x")]


def test_constants_become_operands_under_names_of_their_own() -> None:
    then = branch("then", node("Add", "x w", "t"), outputs="t", constants={"w": WEIGHT})
    other = branch("else", node("Mul", "x w", "e"), outputs="e w", constants={"w": WEIGHT + 1})
    lowered = choose(then, other)
    step = lowered.plan.steps[-1]
    graphs = read_graphs(step)
    captured: Any = step.attributes["captured"]
    operands = dict(zip(captured, step.inputs[1:], strict=True))

    def array(name: str) -> np.ndarray:
        tensor = lowered.plan.buffers[operands[name]].tensor
        assert tensor is not None
        return lowered.weights[tensor]

    np.testing.assert_array_equal(array(graphs["then_branch"].nodes[0].inputs[1]), WEIGHT)
    np.testing.assert_array_equal(array(graphs["else_branch"].nodes[0].inputs[1]), WEIGHT + 1)
    np.testing.assert_array_equal(array(graphs["else_branch"].outputs[1]), WEIGHT + 1)


def test_an_array_that_several_graphs_share_is_kept_once() -> None:
    then = branch("then", node("Add", "x w", "t"), outputs="t", constants={"w": WEIGHT})
    other = branch("else", node("Mul", "x v", "e"), outputs="e", constants={"v": WEIGHT})
    lowered = choose(then, other)
    assert len(lowered.weights) == 1
    assert len(lowered.plan.steps[-1].inputs) == 3


def test_fused_nodes_are_taken_apart() -> None:
    body = branch("body", node("Add", "x w", "s"), node("Relu", "s", "t"), outputs="t", constants={"w": WEIGHT})
    body.inputs = ("x",)
    fused = Node("fused", "AddRelu", ("x",), ("t",), domain=FUSED_DOMAIN, body=body)
    then = branch("then", fused, outputs="t")
    lowered = choose(then, branch("else", node("Neg", "x", "e"), outputs="e"))
    nodes = read_graphs(lowered.plan.steps[-1])["then_branch"].nodes
    assert [item.op for item in nodes] == ["Add", "Relu"]
    np.testing.assert_array_equal(lowered.weights[0], WEIGHT)


def test_outputs_are_described() -> None:
    then = branch("then", node("Neg", "x", "t"), outputs="t")
    then.set_value(Value("t", DType.FLOAT, None))
    other = branch("else", node("Neg", "x", "e"), outputs="e")
    graphs = read_graphs(choose(then, other).plan.steps[-1])
    assert [(value.dtype, value.shape) for graph in graphs.values() for value in graph.values] == [
        ("float", None),
        ("float", (3,)),
    ]


def test_graphs_nested_too_deeply_are_refused() -> None:
    graph = branch("innermost", node("Neg", "x", "r"), outputs="r")
    for level in range(MAX_DEPTH):
        inner = Node("n", "If", ("c",), (f"r{level}",), {"then_branch": graph}, opset=11)
        graph = branch("outer", inner, outputs=f"r{level}")
    with pytest.raises(ModelError, match=f"If node 'y' holds graphs nested more than {MAX_DEPTH} deep"):
        choose(branch("then", node("Neg", "x", "t"), outputs="t"), graph)
