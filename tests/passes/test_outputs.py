"""Outputs of other element types."""

from __future__ import annotations

import pytest

from autofusion.errors import UsageError
from autofusion.ir import DType, Graph
from autofusion.ir.parse import parse_graph
from autofusion.ir.verify import verify_graph
from autofusion.ops.element_types import CODES
from autofusion.passes import cast_outputs


def graph_of(text: str) -> Graph:
    return parse_graph(f"graph g{text}")


def test_a_cast_stands_before_the_output() -> None:
    graph = graph_of(
        "(x: float[n, 2]) -> (y: float[n, 2], z: float[n, 2]) {\n"
        " y: float[n, 2] = Relu(x) @ relu\n z: float[n, 2] = Neg(y) @ neg\n}"
    )
    assert cast_outputs(graph, {"y": DType.FLOAT16, "z": DType.FLOAT}) == 1
    verify_graph(graph, "the test")
    assert graph.outputs == ("y", "z")
    cast = graph.producer("y")
    assert cast is not None
    assert (cast.op, cast.attributes["to"]) == ("Cast", CODES[DType.FLOAT16])
    assert graph.value("y").dtype is DType.FLOAT16
    assert graph.value("y").shape == graph.value("x").shape
    negated = graph.producer("z")
    assert negated is not None
    assert negated.inputs == cast.inputs
    assert graph.value(cast.inputs[0]).dtype is DType.FLOAT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(x: string[2]) -> (y: string[2]) {\n y: string[2] = Identity(x) @ same\n}",
            "output 'y' is string and cannot",
        ),
        ("(x: float[2]) -> (y: ?) {\n y: ? = Odd(x) @ odd\n}", "output 'y' is of unknown type and cannot"),
        ("(y: float[2]) -> (y: float[2]) {\n}", "output 'y' is computed by no node and cannot"),
    ],
)
def test_what_is_no_number_or_no_result_stays(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        cast_outputs(graph_of(text), {"y": DType.INT8})
    assert caught.value.diagnostic.code == "AF134"
    assert caught.value.diagnostic.message == f"{message} be converted to int8"
