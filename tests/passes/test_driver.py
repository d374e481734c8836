from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autofusion.errors import ModelError
from autofusion.frontend import read_model
from autofusion.ir import DType, Graph, Node, Value, symbol
from autofusion.ir.text import dump_graph
from autofusion.passes import PassRecord, infer_shapes, run_passes
from frontend.models import assert_same, model, node, random, read, run_graph, run_runtime, save, tensor

X = tensor("x", [2, 3])


def test_records_say_what_each_pass_changed(tmp_path: Path) -> None:
    nodes = [node("Identity", "x", "a"), node("Mul", "k k", "b"), node("Add", "a b", "y"), node("Neg", "x", "dead")]
    graph = read(model(nodes, [X], [tensor("y", None)], {"k": random(1, 3)}), tmp_path).graph
    seen: list[str] = []
    records = run_passes(graph, verify=lambda _, name: seen.append(name))
    assert [record for record in records if record.changes] == [
        PassRecord("remove_identities", 1),
        PassRecord("fold_constants", 1),
        PassRecord("remove_dead", 2),
    ]
    assert len({record.name for record in records}) == len(records) > 3
    assert seen == ["remove_identities", "fold_constants", "remove_dead"]
    assert [item.op for item in graph] == ["Add"]
    assert sum(record.changes for record in run_passes(graph)) == 0


def test_the_budget_is_handed_on(tmp_path: Path) -> None:
    weights = {"size": np.array([100]), "one": np.ones(1, np.float32)}
    proto = model(
        [node("Expand", "one size", "z"), node("Add", "z x", "y")], [tensor("x", [1])], [tensor("y", None)], weights
    )
    graph = read(proto, tmp_path).graph
    run_passes(graph, fold_budget_bytes=10)
    assert len(graph) == 2
    run_passes(graph)
    assert len(graph) == 1


def test_inference_improves_what_is_known() -> None:
    graph = Graph("main", ("x",), ("y",))
    graph.set_value(Value("x", DType.FLOAT, (symbol("n"), 3)))
    graph.add(Node("relu", "Relu", ("x",), ("a",), opset=14))
    graph.add(Node("shape", "Shape", ("a",), ("y",), {"start": 0}, opset=25))
    assert infer_shapes(graph) == 2
    assert graph.value("a") == Value("a", DType.FLOAT, (symbol("n"), 3))
    assert graph.value("y").content == (symbol("n"), 3)
    assert infer_shapes(graph) == 0


def test_what_folding_makes_contradictory_is_refused(tmp_path: Path) -> None:
    nodes = [node("Add", "s s", "t"), node("Reshape", "x t", "y")]
    proto = model(nodes, [X], [tensor("y", None)], {"s": np.array([2, 2])})
    with pytest.raises(ModelError, match="Reshape"):
        run_passes(read(proto, tmp_path).graph)


OPS = {"Identity": 1, "Relu": 1, "Neg": 1, "Dropout": 1, "Add": 2, "Mul": 2, "Sub": 2}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(sorted(OPS)), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12
    ),
    picks=st.lists(st.integers(0, 99), min_size=1, max_size=3),
)
def test_values_outputs_and_order_survive_the_passes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]], picks: list[int]
) -> None:
    values = ["x", "k"]
    nodes = []
    for index, (op, first, second) in enumerate(steps):
        operands = [values[place % len(values)] for place in (first, second)[: OPS[op]]]
        nodes.append(node(op, " ".join(operands), f"v{index}", f"n{index}"))
        values.append(f"v{index}")
    outputs = [tensor(name, [2, 3]) for name in dict.fromkeys(values[2:][pick % len(steps)] for pick in picks)]
    proto = model(nodes, [X], outputs, {"k": random(1, 2, 3)})
    path = save(proto, tmp_path_factory.mktemp("model"))
    graph, again = read_model(path).graph, read_model(path).graph
    feeds = {"x": random(2, 2, 3)}
    before = run_graph(graph, feeds)
    run_passes(graph)
    assert graph.outputs == tuple(value.name for value in outputs)
    assert_same(before, run_graph(graph, feeds))
    assert_same(run_runtime(proto, feeds), before)
    run_passes(again)
    assert dump_graph(graph) == dump_graph(again)
