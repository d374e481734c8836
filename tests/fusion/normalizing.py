"""Graphs of a spelling before and after normalizing: same values, one node."""

from __future__ import annotations

import numpy as np

from autofusion.fusion import FusionResult
from autofusion.ir import Graph, Node
from autofusion.services.evaluate import evaluate_graph
from fusion.support import make_array, run


def normalize(graph: Graph) -> tuple[Node, ...]:
    """The nodes of `graph` after fusion, which must not have changed what it computes."""
    feeds = {name: make_array(name, _extents(graph, name), graph.value(name).dtype) - 1 for name in graph.inputs}
    before = evaluate_graph(graph, feeds, widen=True)
    run(graph)
    after = evaluate_graph(graph, feeds, widen=True)
    for name, array in before.items():
        np.testing.assert_allclose(after[name], array, rtol=1e-6, atol=1e-6, err_msg=name)
    return graph.topological()


def only(graph: Graph) -> Node:
    """The one node that `graph` normalizes to."""
    (node,) = normalize(graph)
    return node


def reason_of(result: FusionResult, pattern: str) -> str:
    """Why `pattern` did not apply."""
    (miss,) = (miss for miss in result.misses if miss.pattern == pattern)
    return str(miss.reason)


def _extents(graph: Graph, name: str) -> tuple[int, ...]:
    shape = graph.value(name).shape
    assert shape is not None
    return tuple(extent if isinstance(extent, int) else 3 for extent in shape)
