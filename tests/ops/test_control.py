"""If, Loop and Scan: evaluation of nested graphs and what is known of their results."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.errors import ModelError
from autofusion.ir import DType, Graph, Node, Value
from autofusion.ops import evaluate, infer
from ops.sketch import Sketch

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def body(name: str, inputs: str, outputs: str, *nodes: Node, **constants: np.ndarray) -> Graph:
    graph = Graph(name, inputs.split(), outputs.split())
    for constant, array in constants.items():
        graph.add_constant(constant, array)
    for node in nodes:
        graph.add(node, [Value(name) for name in node.results])
    return graph


def step(op: str, inputs: str, output: str) -> Node:
    return Node(output, op, tuple(inputs.split()), (output,))


def test_the_branch_that_holds_is_evaluated_with_outer_values():
    node = Node(
        "if",
        "If",
        ("c",),
        ("y",),
        {
            "then_branch": body("then", "", "t", step("Add", "x one", "t"), one=np.array(1, np.float32)),
            "else_branch": body("else", "", "e", step("Neg", "x", "e")),
        },
    )
    assert np.array_equal(evaluate(node, [np.array(True)], captured={"x": X})[0], X + 1)
    assert np.array_equal(evaluate(node, [np.array(False)], captured={"x": X})[0], -X)
    (wide,) = evaluate(node, [np.array(True)], captured={"x": X.astype(np.float64)}, widen=True)
    assert wide.dtype == np.float64


def loop(condition: str = "") -> Node:
    steps = [step("Add", "s x", "sum"), step("Identity", "sum", "row"), step("Less", "i two", "going")]
    inner = body("body", "i c s", "going sum row", *steps, two=np.array(2, np.int64))
    return Node("loop", "Loop", ("n", condition, "s0"), ("last", "rows"), {"body": inner})


def test_a_loop_carries_values_and_stacks_rows():
    start = np.zeros(2, np.float32)
    captured = {"x": np.array([1, 2], np.float32)}
    last, rows = evaluate(loop(), [np.array(2), None, start], captured=captured)
    assert last.tolist() == [2, 4]
    assert rows.tolist() == [[1, 2], [2, 4]]
    last, rows = evaluate(loop(), [np.array(9), None, start], captured=captured)
    assert last.tolist() == [3, 6]
    last, rows = evaluate(loop("go"), [np.array(9), np.array(False), start], captured=captured)
    assert last.tolist() == [0, 0]
    assert len(rows) == 0


def test_a_scan_walks_along_its_axes():
    inner = body("body", "s x", "sum row", step("Add", "s x", "sum"), step("Neg", "sum", "row"))
    attributes = {"body": inner, "num_scan_inputs": 1, "scan_input_axes": (1,), "scan_input_directions": (1,)}
    attributes |= {"scan_output_axes": (-1,), "scan_output_directions": (0,)}
    node = Node("scan", "Scan", ("s0", "xs"), ("last", "rows"), attributes)
    table = np.arange(6.0).reshape(2, 3)
    last, rows = evaluate(node, [np.zeros(2), table])
    assert last.tolist() == [3, 12]
    assert rows.tolist() == [[-2, -3, -3], [-5, -9, -12]]


def test_results_of_branches_are_known_where_they_agree():
    sketch = Sketch(x="batch 3")
    branches = []
    for name, shape in (("then", "batch 3"), ("else", "batch 4")):
        graph = Graph(name, (), ("a", "b"))
        graph.set_value(Value("a", DType.FLOAT, sketch.scope.value("x").shape))
        sketch.input("like", shape)
        graph.set_value(Value("b", DType.FLOAT, sketch.scope.value("like").shape))
        branches.append(graph)
    attributes = {"then_branch": branches[0], "else_branch": branches[1]}
    condition = sketch.input("c", "", DType.BOOL)
    first, second = infer(Node("if", "If", (condition,), ("p", "q"), attributes, opset=11), sketch.scope)
    assert (first.dtype, first.shape) == (DType.FLOAT, sketch.scope.value("x").shape)
    assert (second.dtype, second.shape) == (DType.FLOAT, None)
    certain = sketch.scope.define_constant("certain", np.array(False))
    _, second = infer(Node("if", "If", (certain,), ("p", "q"), attributes, opset=11), sketch.scope)
    assert second.shape == sketch.scope.value("like").shape
    with pytest.raises(ModelError, match="AF150: If node 'if': a branch has 2 outputs for 1"):
        infer(Node("if", "If", (condition,), ("p",), attributes, opset=11), sketch.scope)


def test_stacked_rows_of_a_scan_have_the_scanned_extent():
    sketch = Sketch(s="3", xs="5 n 3")
    body = Graph("body", ("a", "b"), ("a", "b"))
    body.set_value(Value("b", DType.FLOAT, (5, 3)))
    attributes = {"body": body, "num_scan_inputs": 1, "scan_input_axes": (1,), "scan_output_axes": (-1,)}
    state, rows = infer(Node("scan", "Scan", ("s", "xs"), ("p", "q"), attributes, opset=11), sketch.scope)
    assert state.shape == (3,)
    assert rows.shape == (5, 3, sketch.scope.value("xs").shape[1])


def test_an_old_scan_goes_through_each_sample_up_to_its_length():
    inner = body("body", "s x", "sum shown", step("Add", "s x", "sum"), step("Identity", "sum", "shown"))
    attributes = {"body": inner, "num_scan_inputs": 1, "directions": (1,)}
    node = Node("scan", "Scan", ("lengths", "s0", "x"), ("last", "rows"), attributes, opset=8, opaque=True)
    start, x = np.zeros((2, 1), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    last, rows = evaluate(node, [np.array([3, 2]), start, x])
    assert last[:, 0].tolist() == [3, 7]
    assert rows[..., 0].tolist() == [[2, 3, 3], [4, 7, 0]]
    assert evaluate(node, [None, start, x])[0][:, 0].tolist() == [3, 12]
