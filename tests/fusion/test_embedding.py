"""Rows of tables that are added, and the norm of the sum."""

from __future__ import annotations

import pytest

from autofusion.ir import DType, Graph, Value, symbol
from fusion.support import Extents, Net, displays, ops, reasons, run

SUM: Extents = ("batch", 3, 5)


def rows(net: Net, table: str, ids: str, shape: Extents = ("batch", 3), width: int = 5, axis: int = 0) -> str:
    """Rows of a table of its own."""
    net.graph.inputs += (ids,)
    extents = tuple(symbol(extent) if isinstance(extent, str) else extent for extent in shape)
    net.graph.set_value(Value(ids, DType.INT64, extents))
    net.const(table, (7, width))
    return net.op("Gather", f"{table} {ids}", f"{table}_rows", (*shape, width), {"axis": axis})


def embedding(kinds: str = "rows", norm: bool = True, order: str = "words_rows places_rows") -> Net:
    net = Net()
    rows(net, "words", "i")
    rows(net, "places", "j", (3,))
    last = net.op("Add", order, "part", SUM)
    if kinds == "rows":
        rows(net, "kinds", "k")
        last = net.op("Add", f"{last} kinds_rows", "sum", SUM)
    elif kinds:
        net.const("kinds", (1, 3, 5))
        last = net.op("Add", f"kinds {last}", "sum", SUM)
    if norm:
        net.const("g", (5,))
        net.const("h", (5,))
        net.op("LayerNormalization", f"{last} g h", "y", attributes={"axis": 2})
    return net


@pytest.mark.parametrize("kinds", ["rows", "constant", ""])
@pytest.mark.parametrize("order", ["words_rows places_rows", "places_rows words_rows"])
def test_sums_of_rows(kinds: str, order: str) -> None:
    graph = embedding(kinds, order=order).output("y")
    assert displays(run(graph)) == ["Embedding+LayerNorm"]
    assert ops(graph) == ["EmbeddingLayerNormFusionOp"]
    bare = embedding(kinds, norm=False, order=order).output("sum" if kinds else "part")
    assert displays(run(bare)) == ["Embedding"]


def test_a_sum_that_is_read_elsewhere_is_a_second_result() -> None:
    net = embedding()
    net.op("Exp", "sum", "z")
    graph = net.output("y", "z")
    assert displays(run(graph)) == ["Embedding+LayerNorm"]
    assert graph.producer("sum") is graph.producer("y")


def test_a_norm_before_a_product_is_the_products() -> None:
    net = embedding()
    net.const("w", (5, 4))
    net.op("MatMul", "y w", "p", ("batch", 3, 4))
    net.op("Exp", "sum", "z")
    graph = net.output("p", "z")
    run(graph)
    assert ops(graph) == ["EmbeddingFusionOp", "Exp", "LayerNormMatMulFusionOp"]


def test_a_scaled_table_is_another_sum() -> None:
    net = Net()
    rows(net, "words", "i")
    net.const("k", ())
    net.op("Mul", "words_rows k", "scaled")
    rows(net, "places", "j")
    net.op("Add", "scaled places_rows", "y")
    graph = net.output("y")
    assert "Embedding" not in displays(run(graph))


def changed(case: str) -> Graph:
    net = Net()
    if case == "columns":
        net.const("words", (5, 7))
        net.graph.inputs += ("i",)
        net.graph.set_value(Value("i", DType.INT64, (3,)))
        net.op("Gather", "words i", "words_rows", (5, 3), {"axis": 1})
        net.const("other", (5, 3))
        net.op("Add", "words_rows other", "y")
        return net.output("y")
    rows(net, "words", "i", width=1 if case == "width" else 5)
    if case == "a variable":
        net.input("other", (3, 5))
        return net.output(net.op("Add", "words_rows other", "y"))
    if case == "read":
        rows(net, "places", "j")
        net.op("Exp", "words_rows", "z")
        return net.output(net.op("Add", "words_rows places_rows", "y"), "z")
    if case == "widening":
        net.const("other", (2, 1, 3, 5))
        return net.output(net.op("Add", "words_rows other", "y", (2, "batch", 3, 5)))
    rows(net, "places", "j")
    return net.output(net.op("Add", "words_rows places_rows", "y", SUM))


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("columns", "ATTRIBUTE(axis, 1, 0)"),
        ("a variable", "NOT_CONSTANT(other)"),
        ("read", "MULTI_READER(words_rows, Z)"),
        ("width", "words.shape[1]"),
    ],
)
def test_what_is_no_embedding(case: str, reason: str) -> None:
    result = run(changed(case))
    assert not displays(result)
    misses = [miss for miss in result.attempts if miss.pattern == "embedding"]
    assert any(str(miss.reason).startswith(reason) or reason in str(miss.reason) for miss in misses)


def test_a_constant_that_widens_the_sum() -> None:
    """The kernel broadcasts constants; the rows repeat then."""
    assert displays(run(changed("widening"))) == ["Embedding"]


def test_reasons_are_told() -> None:
    assert reasons(run(changed("a variable"))) == {"WORDS_ROWS": "NOT_CONSTANT(other)"}
