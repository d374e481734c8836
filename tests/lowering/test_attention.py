"""Bodies that are one attention for the kernel, and those that only look like it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autofusion.fusion.attention import Reading, read_attention
from autofusion.fusion.attention.core import Term
from autofusion.fusion.attention.masks import fit_term
from autofusion.fusion.reasons import Reason
from autofusion.ir import DType, Graph, Node, Value, parse_dim
from autofusion.ir.dims import multiply
from autofusion.lowering import lower
from lowering.graphs import Names, build, check_plan, fuse, kernels_of, node, randoms, run_graph, run_plan

SHAPES = {"q": [2, 3, 4, 4], "k": [2, 3, 4, 4], "v": [2, 3, 4, 4]}


def spelled(*between: Node, last: str = "s", axis: int = 3) -> list[Node]:
    return [
        node("MatMul", "q k", "s"),
        *between,
        node("Softmax", last, "p", axis=axis),
        node("MatMul", "p v", "y"),
    ]


def test_a_body_of_any_pattern_is_one_step() -> None:
    """The plan follows from what stands in the body, whatever pattern made it."""
    graph = build(SHAPES, spelled(), "y", {})
    check_plan(graph, "s p y", ["attention"])


def test_another_axis_is_something_else() -> None:
    graph = build(SHAPES, spelled(axis=2), "y", {})
    assert "attention" not in steps_of(graph, "s p y")


def test_rank_two_is_something_else() -> None:
    graph = build({name: [4, 4] for name in SHAPES}, spelled(axis=1), "y", {})
    assert "attention" not in steps_of(graph, "s p y")


def test_scores_that_are_handed_on_are_computed() -> None:
    graph = build(SHAPES, spelled(), "y s", {})
    assert "attention" not in steps_of(graph, "s p y", outputs="y s")


def test_scores_in_another_shape_are_something_else() -> None:
    between = [node("Reshape", "s c", "r"), node("Add", "r m", "a")]
    constants = {"c": np.array([3, 2, 4, 4])}
    nodes = [*spelled(*between, last="a")[:-1], node("Reshape", "p d", "o"), node("MatMul", "o v", "y")]
    graph = build({**SHAPES, "m": [4]}, nodes, "y", {**constants, "d": np.array([2, 3, 4, 4])})
    assert "attention" not in steps_of(graph, "s r a p o y")


def test_an_additive_mask_made_of_truth_values_is_no_tensor() -> None:
    between = [node("Greater", "m zero", "g"), node("Where", "g zero low", "w"), node("Add", "s w", "a")]
    constants = {"zero": np.float32(0), "low": np.float32(-1e9)}
    graph = build(
        {**SHAPES, "m": [4, 4]}, spelled(*between, last="a"), "y", {k: np.array(v) for k, v in constants.items()}
    )
    feeds = {name: randoms(3 + place, *SHAPES.get(name, [4, 4])) for place, name in enumerate(("q", "k", "v", "m"))}
    expected = run_graph(graph, feeds)
    fuse(graph, "w s a p y")
    lowered = lower(graph, backend="reference")
    step = lowered.plan.steps[-1]
    assert (step.kernel, step.attributes["keep_mode"], step.attributes["fill"]) == ("attention", "add", -1e9)
    assert step.inputs == ("q", "k", "v", "", "", "g")
    for actual, right in zip(run_plan(lowered, feeds), expected, strict=True):
        np.testing.assert_allclose(actual, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["double", "bool"])
def test_masks_of_another_type_are_not_taken(dtype: str) -> None:
    """The kernel's data has one type."""
    graph = build({**SHAPES, "m": [4]}, spelled(node("Add", "s m", "a"), last="a"), "y", {})
    graph.set_value(replace(graph.value("m"), dtype=DType(dtype)))
    assert "attention" not in steps_of(graph, "s a p y")


def steps_of(graph: Graph, names: str, outputs: str = "") -> list[str]:
    fuse(graph, names, outputs=outputs)
    return kernels_of(lower(graph, backend="reference"))


def test_a_present_of_unknown_shape_is_no_result_of_a_step() -> None:
    graph = build(SHAPES, [node("Attention", "q k v", "y pk pv")], "y pk pv", {})
    assert kernels_of(lower(graph, backend="reference")) == ["attention"]
    for name in ("pk", "pv"):
        graph.set_value(replace(graph.value(name), shape=None))
    assert kernels_of(lower(graph, backend="reference")) == ["host"]


@pytest.mark.parametrize("op", ["MatMul", "Add", "Softmax"])
@pytest.mark.parametrize("change", [{"domain": "mine"}, {"opaque": True}])
def test_operators_that_only_have_the_name_are_something_else(op: str, change: dict[str, object]) -> None:
    graph = build({**SHAPES, "m": [4]}, spelled(node("Add", "s m", "a"), last="a"), "y", {})
    nodes = graph.topological()
    assert isinstance(read_attention(nodes, Names(graph)), Reading)
    others = [replace(item, **change) if item.op == op else item for item in nodes]
    assert isinstance(read_attention(others, Names(graph)), Reason)


@pytest.mark.parametrize(("extent", "period"), [("n", ("b", 3)), (1, (1, 1)), ("open", None)])
def test_masks_of_merged_heads_have_the_extent_of_all(extent: str | int, period: tuple[object, ...] | None) -> None:
    """One that may turn out to be 1 is no mask for every head."""
    batch = parse_dim("b")
    merged = multiply(batch, 3)
    given = merged if extent == "n" else parse_dim(str(extent))
    graph = build({"m": [4, 4]}, [node("Relu", "m", "y")], "y", {})
    graph.set_value(Value("m", DType.FLOAT, (given, 4, 4)))
    shape = fit_term(Term("m", (merged, 4, 4)), (batch, 3, 4, 4), Names(graph))
    expected = None if period is None else tuple(parse_dim(str(dim)) for dim in (*period, 4, 4))
    assert shape == expected


def test_sums_of_sums_end() -> None:
    """Each sum reads the one before it twice: as many ways up as there are numbers of forty bits."""
    sums = [node("Add", f"a{place} a{place}", f"a{place + 1}") for place in range(40)]
    nodes = [node("Relu", "q", "a0"), *sums, node("Softmax", "a40", "p", axis=3), node("MatMul", "p v", "y")]
    graph = build({"q": [2, 3, 4, 4], "v": [2, 3, 4, 4]}, nodes, "y", {})
    assert "attention" not in steps_of(graph, " ".join(item.outputs[0] for item in nodes))
