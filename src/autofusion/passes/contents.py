"""Values whose elements follow from shapes become constants."""

from __future__ import annotations

from typing import cast

import numpy as np

from autofusion.ir import DType, Graph, Value
from autofusion.passes.nested import edit_nested


def fold_contents(graph: Graph) -> int:
    """Replace each node whose only result has a content without symbols by a constant; returns how many."""
    changes = 0
    for node in graph.topological():
        if node.subgraphs():
            changes += edit_nested(graph, node, fold_contents)
            continue
        array = _read_content(graph.value(node.results[0])) if len(node.results) == 1 else None
        if array is None:
            continue
        graph.remove(node.name)
        graph.add_constant(node.results[0], array)
        changes += 1
    return changes


def _read_content(value: Value) -> np.ndarray | None:
    numbers = value.content
    if numbers is None or value.dtype is None or value.shape is None or not value.is_static:
        return None
    if value.dtype not in (DType.INT64, DType.INT32, DType.BOOL) or not all(
        isinstance(number, int) for number in numbers
    ):
        return None
    array = np.array(numbers, value.dtype.numpy).reshape(cast(tuple[int, ...], value.shape))
    array.flags.writeable = False
    return array
