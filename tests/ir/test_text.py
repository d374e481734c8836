"""The text form: a golden spelling, reading back, and errors with line and column."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.errors import InternalError, ModelError
from autofusion.ir import FUSED_DOMAIN, DType, Graph, Node, Value, symbol
from autofusion.ir.parse import parse_graph
from autofusion.ir.text import dump_graph
from autofusion.ir.verify import verify_graph, verify_nodes

GOLDEN = """\
graph main(x: float[batch, 3]) -> (z: ?) {
  opset "" 23
  constant limits: float[3] = [0.0, inf, -inf]
  constant "odd name": float[20] = #e56c4f88237e745b
  y: float[batch, 3] = autofusion::ReluFusionOp(x, "odd name") @ fused from "Relu_0", "b" by relu "Relu" bind {act = r} body
    graph body(x: float[batch, 3], "odd name": ?) -> (y: float[batch, 3]) {
      y: float[batch, 3] = Relu(x) @ r
    }
  z: ?, _, s: int64[2] {batch, -1} = If<else = graph else() -> (y: ?) {
    }, k = 1, then = graph then() -> (q: ?) {
      q: ? = Elu<alpha = 0.5, flags = [], names = ["a", "b"], t = tensor int64[1, 2] [1, 2]>(y) @ e v6
    }>(y, _, limits) @ if opaque v11
}
"""  # noqa: E501


def sample() -> Graph:
    typed = Value("y", DType.FLOAT, (symbol("batch"), 3))
    graph = Graph("main", ["x"], ["z"])
    graph.opsets = {"": 23}
    graph.set_value(Value("x", DType.FLOAT, (symbol("batch"), 3)))
    graph.add_constant("odd name", np.arange(20, dtype=np.float32))
    graph.add_constant("limits", np.array([0, np.inf, -np.inf], np.float32))
    body = Graph("body", ["x", "odd name"], ["y"])
    body.set_value(Value("x", DType.FLOAT, (symbol("batch"), 3)))
    body.add(Node("r", "Relu", ("x",), ("y",)), [typed])
    fused = Node(
        "fused",
        "ReluFusionOp",
        ("x", "odd name"),
        ("y",),
        domain=FUSED_DOMAIN,
        origin=("Relu_0", "b"),
        body=body,
        pattern="relu",
        display="Relu",
        bindings={"act": "r"},
    )
    graph.add(fused, [typed])
    then = Graph("then", [], ["q"])
    attributes = {"alpha": 0.5, "flags": (), "names": ("a", "b"), "t": np.array([[1, 2]], np.int64)}
    then.add(Node("e", "Elu", ("y",), ("q",), attributes, opset=6))
    branches = {"then": then, "else": Graph("else", [], ["y"]), "k": 1}
    node = Node("if", "If", ("y", "", "limits"), ("z", "", "s"), branches, opset=11, opaque=True)
    graph.add(node, [Value("z"), Value("s", DType.INT64, (2,), (symbol("batch"), -1))])
    return graph


def test_dump_is_readable_and_stable() -> None:
    assert dump_graph(sample()) == GOLDEN


def test_dump_is_read_back() -> None:
    graph = sample()
    again = parse_graph(GOLDEN, graph.constants)
    assert dump_graph(again) == GOLDEN
    assert [use.node.name for use in again.consumers("y")] == [use.node.name for use in graph.consumers("y")]
    assert np.array_equal(again.constants["odd name"], graph.constants["odd name"])


@pytest.mark.parametrize("name", ["a b", "graph", "x:", ":x", "1", "", '"', "é", "a->b", "_", "/conv/Add:0"])
def test_any_name_survives(name: str) -> None:
    graph = Graph("g", ["x"], ["y"])
    graph.add(Node(name or "n", "Relu", ("x",), ("y",)))
    assert [node.name for node in parse_graph(dump_graph(graph))] == [name or "n"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("graph g() -> () {\n  y ? = Relu() @ n\n}", "<text>:2:5", "expected ':', found '?'"),
        ("graph g() -> () {", "<text>:1:18", "expected more text, found 'the end'"),
        ("graph g() -> () { ~ }", "<text>:1:19", "unexpected character '~'"),
        ("graph g() -> () {} graph", "<text>:1:20", "expected the end, found 'graph'"),
        (
            "graph g() -> () { constant w: float[20] = #0123456789abcdef }",
            "<text>:1:43",
            "no array given for #0123456789abcdef of constant 'w'",
        ),
    ],
)
def test_malformed_text_is_located(text: str, place: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_graph(text)
    assert str(caught.value.diagnostic.span) == place
    assert caught.value.diagnostic.message == f"malformed graph text: {message}"


def test_verify_accepts_the_sample() -> None:
    graph = sample()
    verify_graph(graph, "test")
    verify_nodes(graph, ["fused"], "test")


def test_verify_names_the_stage_and_the_fault() -> None:
    graph = sample()
    graph.remove("fused")
    with pytest.raises(InternalError, match="broken after folding: node 'if' reads 'y', which nothing defines"):
        verify_graph(graph, "folding")


def test_verify_compares_a_body_with_its_node() -> None:
    body = Graph("body", ["x"], ["q"])
    body.add(Node("r", "Relu", ("x",), ("q",)))
    graph = Graph("g", ["x"], ["y"])
    graph.add(Node("f", "F", ("x",), ("y",), body=body))
    with pytest.raises(InternalError, match=r"body of 'f' gives \('q',\), but the node gives \('y',\)"):
        verify_graph(graph, "fusion")


def test_verify_reads_the_constants() -> None:
    graph = Graph("g", [], ["w"])
    graph.add_constant("w", np.zeros(3, np.float32))
    graph.set_value(Value("w", DType.FLOAT, (4,)))
    with pytest.raises(InternalError, match="constant 'w' is recorded as"):
        verify_graph(graph, "folding")
