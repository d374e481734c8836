"""Evaluation of an unfused graph by `ops`, in the model's precision or widened to float64."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import numpy as np

from autofusion.ir import Graph, Node
from autofusion.ops import evaluate, widen_array


def evaluate_graph(
    graph: Graph, feeds: Mapping[str, np.ndarray], *, widen: bool, keep: AbstractSet[str] | None = None
) -> dict[str, np.ndarray]:
    """The graph's outputs and the values named in `keep` for the inputs `feeds`.

    With `widen` every float32 tensor is carried in float64.  A fused node is evaluated through
    its body.  Values are dropped once their last reader has run.
    """
    wanted = set(graph.outputs) | set(keep or ())
    order = graph.topological()
    last_reader = {value: index for index, node in enumerate(order) for value in _read_values(node)}
    known = {name: _widened(array, widen) for name, array in {**graph.defaults, **feeds}.items()}
    for index, node in enumerate(order):
        operands = [_operand(name, known, graph, widen) for name in node.inputs]
        results = _evaluate_node(node, operands, graph, known, widen)
        for name, array in zip(node.outputs, results, strict=False):
            if name in wanted or name in last_reader:
                known[name] = array
        for name in _read_values(node):
            if last_reader[name] == index and name not in wanted:
                known.pop(name, None)
    return {name: _result(name, known, graph, widen) for name in wanted}


def _evaluate_node(
    node: Node,
    operands: list[np.ndarray | None],
    graph: Graph,
    known: Mapping[str, np.ndarray],
    widen: bool,
) -> tuple[np.ndarray, ...]:
    if node.body is None:
        captured = {name: array for name in _captured(node) if (array := known.get(name)) is not None}
        captured |= {
            name: _widened(graph.constants[name], widen) for name in _captured(node) if name in graph.constants
        }
        return tuple(evaluate(node, operands, widen=widen, captured=captured))
    feeds = {name: array for name, array in zip(node.inputs, operands, strict=True) if array is not None}
    results = evaluate_graph(node.body, feeds, widen=widen)
    return tuple(results[name] for name in node.outputs)


def _operand(name: str, known: Mapping[str, np.ndarray], graph: Graph, widen: bool) -> np.ndarray | None:
    return _result(name, known, graph, widen) if name else None


def _result(name: str, known: Mapping[str, np.ndarray], graph: Graph, widen: bool) -> np.ndarray:
    return known[name] if name in known else _widened(graph.constants[name], widen)


def _widened(array: np.ndarray, widen: bool) -> np.ndarray:
    return widen_array(array) if widen else array


def _captured(node: Node) -> set[str]:
    return {name for _, nested in node.subgraphs() for name in nested.captures()}


def _read_values(node: Node) -> set[str]:
    return {*node.operands, *_captured(node)}
