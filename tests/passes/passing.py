"""Small models for the tests of single passes, written as ONNX text, and the comparison with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx

from autofusion.frontend import read_model
from autofusion.ir import Graph
from autofusion.ir.verify import verify_graph
from autofusion.passes import remove_dead, remove_identities
from frontend.models import assert_same, parse, run_graph, run_runtime, save

Pass = Callable[[Graph], int]


def apply(run: Pass, source: str | onnx.ModelProto, folder: Path, feeds: Mapping[str, np.ndarray]) -> Graph:
    """The graph of a model after one pass, applied until it finds nothing, and the removal of what is left over.

    Outputs keep their names, types, shapes and values: bit by bit but for the payload of NaN.
    """
    proto = parse(source) if isinstance(source, str) else source
    graph = read_model(save(proto, folder)).graph
    for _ in range(8):
        changes = run(graph)
        verify_graph(graph, "the pass")
        remove_identities(graph)
        if not changes:
            break
    remove_dead(graph)
    verify_graph(graph, "cleaning")
    assert graph.outputs == tuple(value.name for value in proto.graph.output)
    before, after = run_runtime(proto, feeds), run_graph(graph, feeds)
    assert_same(before, after)
    for name, array in before.items():
        if array.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(array), np.signbit(after[name]))
    return graph


def ops(graph: Graph) -> str:
    """The operators that are left, in topological order."""
    return " ".join(node.op for node in graph)


def written(graph: Graph) -> list[str]:
    """Every node as `results = operator(operands)`."""
    return [f"{', '.join(node.outputs)} = {node.op}({', '.join(node.inputs)})" for node in graph]
