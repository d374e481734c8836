"""Embeddings as one kernel call: orders of the sum, ids that broadcast, and what stays several calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autofusion.ir import DType, Graph, Node, Value, parse_dim
from autofusion.lowering import lower
from lowering.graphs import fuse, kernels_of, node, randoms, run_graph, run_plan

IDS = {"i": np.array([[3, -1, 0], [1, 1, 2]]), "j": np.array([[0, 1, 2]]), "k": np.array([1, 0, 1], np.int32)}
TABLES = {"t": randoms(1, 4, 5), "u": randoms(2, 3, 5), "v": randoms(3, 2, 5), "c": randoms(4, 3, 5)}
ROWS = {
    "t": node("Gather", "t i", "a", axis=0),
    "u": node("Gather", "u j", "b", axis=0),
    "v": node("Gather", "v k", "d", axis=0),
}
NORM = node("LayerNormalization", "s g h", "y", axis=-1)


def make(nodes: list[Node], outputs: str) -> Graph:
    shapes = {"i": ("batch", "3"), "j": ("1", "3"), "k": ("3",)}
    used = [name for name in shapes if any(name in item.inputs for item in nodes)]
    graph = Graph("main", used, outputs.split())
    for name in used:
        graph.set_value(Value(name, DType.of(IDS[name]), tuple(parse_dim(extent) for extent in shapes[name])))
    for name, array in {**TABLES, "g": randoms(5, 5), "h": randoms(6, 5)}.items():
        graph.add_constant(name, array)
    known = {name: graph.value(name).shape for name in ("t", "u", "v", "c")}
    for item in nodes:
        graph.add(replace(item, opset=17), [Value(name, DType.FLOAT, _shape(item, known)) for name in item.outputs])
        known[item.outputs[0]] = _shape(item, known)
    return graph


def _shape(item: Node, known: dict[str, object]) -> tuple[object, ...]:  # type: ignore[type-arg]
    if item.op == "Gather":
        return {"i": (parse_dim("batch"), 3, 5), "j": (1, 3, 5), "k": (3, 5)}[item.inputs[1]]  # type: ignore[return-value]
    return max((known[name] for name in item.inputs if name in known), key=lambda shape: (len(shape), shape[0] != 1))  # type: ignore[arg-type, return-value, index]


@pytest.mark.parametrize(
    ("adds", "names", "expected"),
    [
        (["a b p", "p d s"], "tuv", ("t", "i", "u", "j", "v", "k")),
        (["b a p", "d p s"], "tuv", ("u", "j", "t", "i", "v", "k")),
        (["a c p", "p b s"], "tu", ("t", "i", "c", "", "u", "j")),
        (["c a s"], "t", ("c", "", "t", "i", "", "")),
        (["b d p", "p a s"], "tuv", ("u", "j", "v", "k", "t", "i")),
    ],
)
@pytest.mark.parametrize("outputs", ["s", "y", "y s"])
def test_sums_of_rows(adds: list[str], names: str, expected: tuple[str, ...], outputs: str):
    sums = [node("Add", text.rsplit(" ", 1)[0], text.rsplit(" ", 1)[1]) for text in adds]
    nodes = [*(ROWS[name] for name in names), *sums, *([NORM] if "y" in outputs else [])]
    graph = make(nodes, outputs)
    feeds = {name: IDS[name] for name in graph.inputs}
    right = run_graph(graph, feeds)
    fuse(graph, " ".join(item.name for item in nodes), outputs=outputs)
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == ["embedding"]
    (step,) = lowered.plan.steps
    assert step.inputs == (*expected, *(("g", "h") if "y" in outputs else ("", "")))
    assert step.outputs == tuple(outputs.split())
    for actual, wanted in zip(run_plan(lowered, feeds), right, strict=True):
        np.testing.assert_allclose(actual, wanted, atol=1e-5)


def test_rows_that_are_read_elsewhere_need_a_step():
    graph = make([ROWS["t"], ROWS["u"], node("Add", "a b", "s")], "s a")
    fuse(graph, "a b s", outputs="s a")
    assert "embedding" not in kernels_of(lower(graph, backend="reference"))


@pytest.mark.parametrize("op", ["Gather", "Add", "LayerNormalization"])
@pytest.mark.parametrize("change", [{"domain": "mine"}, {"opaque": True}])
def test_operators_that_only_have_the_name_are_something_else(op: str, change: dict[str, object]):
    nodes = [ROWS["t"], ROWS["u"], node("Add", "a b", "s"), NORM]
    graph = make([replace(item, **change) if item.op == op else item for item in nodes], "y")
    fuse(graph, "a b s y")
    assert "embedding" not in kernels_of(lower(graph, backend="reference"))


def test_an_extent_that_only_the_sum_tells():
    """Exporters cut the positions with a Slice, whose extent is the smaller of two."""
    graph = make([ROWS["t"], ROWS["u"], node("Add", "a b", "s")], "s")
    graph.set_value(Value("j", DType.INT64, (1, parse_dim("positions"))))
    fuse(graph, "a b s")
    lowered = lower(graph, backend="reference")
    assert kernels_of(lowered) == ["embedding"]
    (actual,) = run_plan(lowered, IDS)
    np.testing.assert_allclose(actual, TABLES["t"][IDS["i"]] + TABLES["u"][IDS["j"]], atol=1e-6)
