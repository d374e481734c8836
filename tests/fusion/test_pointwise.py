"""Elementwise operators that nothing else took: groups of one result, and what keeps nodes out of them."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.fusion import Controls, FusionResult
from autofusion.ir import DType, Graph, Node
from autofusion.lowering import lower
from fusion.support import Extents, Net, displays, everything, ops, run
from lowering.graphs import run_graph, run_plan

ROWS: Extents = (2, 3, 5)


def cluster(graph: Graph, controls: Controls | None = None) -> FusionResult:
    return run(graph, everything(), controls)


def fused(graph: Graph) -> list[Node]:
    return [node for node in graph.topological() if node.op == "PointwiseFusionOp"]


def stops(result: FusionResult) -> dict[str, str]:
    """The reasons of this pattern's misses by anchor."""
    return {miss.anchor: str(miss.reason) for miss in result.attempts if miss.pattern == "pointwise"}


def draw_feeds(graph: Graph, seed: int = 5) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    shapes = {name: [int(str(dim)) for dim in graph.value(name).shape or ()] for name in graph.inputs}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def check_plan(graph: Graph, plain: Graph, seed: int = 5) -> None:
    """Fused, lowered and run by the definitions: the results of the graph as it was."""
    feeds = draw_feeds(plain, seed)
    lowered = lower(graph, backend="reference")
    for actual, expected in zip(run_plan(lowered, feeds), run_graph(plain, feeds), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def chain(net: Net | None = None) -> Net:
    net = net or Net()
    net.input("x", ROWS)
    net.input("b", (5,))
    net.op("Add", "x b", "a")
    net.op("Exp", "a", "e")
    net.op("Sqrt", "e", "y")
    return net


def test_a_chain_is_one_program() -> None:
    graph, plain = chain().output("y"), chain().output("y")
    result = cluster(graph)
    assert displays(result) == ["Pointwise"]
    (fusion,) = result.fusions
    assert (fusion.op, fusion.operators, fusion.members) == (
        "PointwiseFusionOp",
        ("Add", "Exp", "Sqrt"),
        ("A", "E", "Y"),
    )
    (node,) = fused(graph)
    assert (node.name, node.inputs, node.outputs) == ("Y", ("x", "b"), ("y",))
    check_plan(graph, plain)


def test_one_operator_alone_stays() -> None:
    net = Net()
    net.input("x", ROWS)
    net.op("Exp", "x", "y")
    graph = net.output("y")
    assert displays(cluster(graph)) == []
    assert ops(graph) == ["Exp"]


def tree(reduce: str = "", **attributes: int) -> Net:
    """(x * 2 - clip(z)) where x < z, else |x|; both branches read x."""
    net = Net()
    net.input("x", ROWS)
    net.input("z", ROWS)
    net.op("Mul", f"x {net.const('two', np.array(2.0, np.float32))}", "m")
    net.op("Clip", f"z {net.const('lo', np.array(-1, np.float32))} {net.const('hi', np.array(1, np.float32))}", "c")
    net.op("Sub", "m c", "s")
    net.op("Abs", "x", "w")
    net.op("Less", "x z", "l", dtype=DType.BOOL)
    net.op("Where", "l s w", "y", ROWS)
    if reduce:
        axes = net.const("axes", np.array([attributes.pop("axis", -1)]))
        net.op(reduce, f"y {axes}", "r", (2, 3, 1), attributes={"keepdims": 1, **attributes})
    return net


@pytest.mark.parametrize("reduce", ["", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"])
def test_a_tree_with_a_choice_and_a_reduction_behind(reduce: str) -> None:
    last = "r" if reduce else "y"
    graph, plain = tree(reduce).output(last), tree(reduce).output(last)
    assert displays(cluster(graph)) == ["Pointwise"]
    assert len(graph) == 1
    check_plan(graph, plain)


@pytest.mark.parametrize(("reduce", "attributes"), [("ReduceSum", {"axis": 1}), ("ReduceL2", {})])
def test_other_reductions_stay_outside(reduce: str, attributes: dict[str, int]) -> None:
    graph = tree(reduce, **attributes).output("r")
    cluster(graph)
    assert sorted(ops(graph)) == sorted(["PointwiseFusionOp", reduce])


def test_numbers_become_constants_and_small_tensors_operands() -> None:
    net = Net()
    net.input("x", ROWS)
    net.op("Mul", f"x {net.const('number', (1, 1))}", "m")
    net.op("Add", f"m {net.const('vector', (5,))}", "y")
    graph = net.output("y")
    cluster(graph)
    (step,) = lower(graph, backend="native").plan.steps
    assert (step.kernel, step.inputs) == ("pointwise", ("x", "vector"))
    assert [instruction[0] for instruction in step.attributes["program"]] == ["Constant", "Mul", "Add"]  # type: ignore[union-attr]


def test_truth_values_from_outside_choose() -> None:
    net = chain()
    net.graph.inputs += ("holds",)
    net.graph.set_value(net.graph.value("x").__class__("holds", DType.BOOL, (2, 3, 1)))
    net.op("Where", "holds y x", "z", ROWS)
    graph = net.output("z")
    cluster(graph)
    (step,) = lower(graph, backend="native").plan.steps
    assert step.kernel == "pointwise"
    assert set(step.inputs) == {"x", "b", "holds"}


def test_a_value_that_is_read_twice_ends_a_group() -> None:
    net = chain()
    net.op("Neg", "e", "n")
    graph = net.output("y", "n")
    result = cluster(graph)
    assert ops(graph) == sorted(["PointwiseFusionOp", "Sqrt", "Neg"]) or displays(result) == ["Pointwise"]
    (node,) = fused(graph)
    assert node.outputs == ("e",)
    assert stops(result)["E"] in ("MULTI_READER(e, N)", "MULTI_READER(e, Y)")


def test_an_output_ends_a_group() -> None:
    graph = chain().output("e", "y")
    result = cluster(graph)
    assert [node.outputs for node in fused(graph)] == [("e",)]
    assert stops(result) == {"E": "GRAPH_OUTPUT(e)"}


def test_values_of_another_shape_are_operands() -> None:
    """What is computed once for a row is not computed for each of its elements."""
    net = Net()
    net.input("x", ROWS)
    net.input("v", (5,))
    net.op("Exp", "v", "small")
    net.op("Mul", "x small", "m", ROWS)
    net.op("Neg", "m", "y")
    graph = net.output("y")
    cluster(graph)
    assert sorted(ops(graph)) == ["Exp", "PointwiseFusionOp"]


def test_groups_without_a_shape_or_of_other_types_are_none() -> None:
    for net in (Net(dtype=DType.INT32), Net(dtype=DType.FLOAT16)):
        net.input("x", ROWS)
        net.op("Neg", "x", "n")
        net.op("Abs", "n", "y")
        assert displays(cluster(net.output("y"))) == []
    net = Net()
    net.input("x", None)
    net.op("Neg", "x", "n")
    net.op("Abs", "n", "y")
    assert displays(cluster(net.output("y"))) == []


def test_limits_of_the_kernel() -> None:
    net = Net()
    names = [net.input(f"x{place}", ROWS) for place in range(13)]
    total = names[0]
    for place, name in enumerate(names[1:]):
        total = net.op("Sub", f"{total} {name}", f"s{place}", ROWS)
    graph = net.output(total)
    result = cluster(graph)
    assert sorted(len(node.inputs) for node in fused(graph)) == [4, 10]
    assert len(graph) == 2
    assert [fusion.display for fusion in result.fusions] == ["Pointwise", "Pointwise"]

    net = Net()
    value = net.input("x", ROWS)
    for place in range(40):
        value = net.op("Exp" if place % 2 else "Neg", value, f"v{place}")
    graph = net.output(value)
    cluster(graph)
    assert sorted(len(node.body or ()) for node in fused(graph)) == [8, 32]


def test_operands_that_repeat_along_too_many_axes() -> None:
    shape = (2, 3, 2, 3, 2, 3)
    net = Net()
    net.input("x", shape)
    net.op("Add", f"x {net.const('c', (2, 1, 2, 1, 2, 1))}", "a")
    net.op("Neg", "a", "n")
    net.op("Abs", "n", "y")
    graph = net.output("y")
    result = cluster(graph)
    assert [len(node.body or ()) for node in fused(graph)] == [2]
    assert stops(result) == {"A": "KERNEL_LIMIT(axes, 6, 4)"}


@pytest.mark.parametrize(
    "controls",
    [
        Controls(disabled={"Pointwise": "--disable"}),
        Controls(disabled={"PointwiseFusionOp": "--disable"}),
        Controls(no_fusion_ops={"Exp": "--no_fusion_ops"}),
        Controls(level=1),
    ],
)
def test_controls_keep_it_out(controls: Controls) -> None:
    graph = chain().output("y")
    assert displays(cluster(graph, controls)) == []
    assert ops(graph) == ["Add", "Exp", "Sqrt"]


def test_it_takes_nothing_from_other_fusions() -> None:
    net = Net()
    net.input("x", (1, 4, 6, 6))
    net.conv("x", "c")
    net.op("Relu", "c", "r")
    net.op("Exp", "r", "e")
    net.op("Neg", "e", "y")
    graph = net.output("y")
    assert displays(cluster(graph)) == ["Conv+ReLU", "Pointwise"]


def test_near_misses_of_other_patterns_are_still_told() -> None:
    """What nearly was a Gelu is no Gelu for being one program."""

    def spell(one: float) -> Net:
        net = Net()
        net.input("x", ROWS)
        net.op("Div", f"x {net.const('root', np.array(2**0.5, np.float32))}", "d")
        net.op("Erf", "d", "e")
        net.op("Add", f"e {net.const('one', np.array(one, np.float32))}", "s")
        net.op("Mul", "x s", "m", ROWS)
        net.op("Mul", f"m {net.const('half', np.array(0.5, np.float32))}", "y")
        return net

    result = cluster(spell(1.1).output("y"))
    assert displays(result) == ["Pointwise"]
    assert "CONSTANT_VALUE(1.1, 1)" in {str(miss.reason) for miss in result.misses}
    assert displays(cluster(spell(1.0).output("y"))) == []


UNARY = (
    "Abs",
    "Neg",
    "Sigmoid",
    "Tanh",
    "Relu",
    "Erf",
    "Softplus",
    "Softsign",
    "Selu",
    "Gelu",
    "HardSwish",
    "Elu",
    "Mish",
)
BINARY = ("Add", "Sub", "Mul", "Max", "Min")


def draw_tree(seed: int) -> Net:
    """Random operators on values of one shape and operands that broadcast to it, some of them read twice."""
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 5))
    shape = tuple(int(extent) for extent in random.integers(1, 6, rank))
    net = Net()
    values = [net.input("x", shape)]
    for place in range(int(random.integers(0, 4))):
        net.input(f"o{place}", tuple(extent if random.random() < 0.5 else 1 for extent in shape))
        values.append(net.op("Add", f"x o{place}", f"w{place}", shape))
    for place in range(int(random.integers(2, 30))):
        kind = random.random()
        picked = [str(name) for name in random.choice(values[-6:], 2)]
        if kind < 0.5:
            values.append(net.op(str(random.choice(UNARY)), picked[0], f"v{place}", shape))
        elif kind < 0.85:
            values.append(net.op(str(random.choice(BINARY)), " ".join(picked), f"v{place}", shape))
        else:
            # The larger one: rounding may decide otherwise only where both are equal.
            net.op("Less", " ".join(picked), f"l{place}", shape, dtype=DType.BOOL)
            values.append(net.op("Where", f"l{place} {picked[1]} {picked[0]}", f"v{place}", shape))
    read = {name for node in net.graph for name in node.inputs}
    net.output(*(name for name in values if name not in read and name not in net.graph.inputs))
    return net


@pytest.mark.parametrize("seed", range(80))
def test_random_trees_mean_the_same(seed: int) -> None:
    graph, plain = draw_tree(seed).graph, draw_tree(seed).graph
    cluster(graph)
    steps = lower(graph, backend="native").plan.steps
    assert len(steps) == len(graph)
    assert {step.kernel for step in steps} <= {"pointwise", "unary", "binary", "compare", "select"}
    check_plan(graph, plain, seed)
