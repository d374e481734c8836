"""Constant folding: what is known becomes a constant, in one sweep from the inputs to the outputs.

Two things are known: results of nodes whose operands are all constant, and small integer tensors whose
elements follow from shapes alone (`Value.content`).  Either may settle shapes further on, so every
node behind a new constant is inferred again before it is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from autofusion.errors import ModelError
from autofusion.ir import DType, Graph, Node, Value
from autofusion.ir.scope import GraphScope
from autofusion.ops import evaluate
from autofusion.passes.bodies import edit_body
from autofusion.passes.nested import edit_nested
from autofusion.passes.shapes import refine_results

FOLD_BUDGET = 4 << 20
"""Bytes that a folded result may take, unless its operands took as many."""

_TOTAL_BUDGETS = 16
_TOTAL_COPIES = 4
RANDOM = frozenset(
    {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
"""Operators whose results differ from run to run, or may."""

# Fusions read the parameters of quantisation from these nodes.
_KEPT = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})
# The shape of the result depends on the elements, but each result element stems from one element of an operand.
_BOUNDED = frozenset({"Compress", "NonZero", "Unique"})


@dataclass
class Allowance:
    """Bytes that folding may still add to a model, and the most that one result may take."""

    per_value: int
    left: int

    @classmethod
    def of(cls, graph: Graph, budget_bytes: int = FOLD_BUDGET) -> Allowance:
        """What befits `graph`: 16 times the budget and 4 times the bytes of its constants."""
        held = sum(array.nbytes for array in graph.constants.values())
        return cls(budget_bytes, _TOTAL_BUDGETS * budget_bytes + _TOTAL_COPIES * held)


@dataclass(frozen=True)
class _Sweep:
    """What one sweep may still add, and the values that are better known than before."""

    allowance: Allowance
    changed: set[str] = field(default_factory=set[str])


def fold_constants(graph: Graph, allowance: Allowance | None = None) -> int:
    """Replace nodes by constants where their results are known; returns how many.

    A result larger than `allowance.per_value` is folded only if the operands together are as large, and all
    results together take no more than `allowance.left`, which shrinks.  Random,
    quantising, fused, opaque and control-flow nodes stay, as do nodes that fail on their operands.
    Arrays are never edited: a result is a new constant under the name that the value had.
    Raises ModelError where a value that became known contradicts the node that reads it.
    """
    return _fold(GraphScope(graph), _Sweep(Allowance.of(graph) if allowance is None else allowance))


def _fold(scope: GraphScope, sweep: _Sweep) -> int:
    graph = scope.graph
    changes = 0
    for node in graph.topological():
        touched = not sweep.changed.isdisjoint(node.inputs)
        if node.subgraphs():
            folded = edit_nested(graph, node, lambda nested: _fold(scope.nest(nested), sweep))
            changes += folded
            touched = touched or folded > 0
        changes += edit_body(scope, graph.node(node.name), lambda body: _fold(body, sweep))
        if touched:
            sweep.changed.update(refine_results(graph.node(node.name), scope))
        found = _find_results(node, scope, sweep)
        if found is None:
            continue
        graph.remove(node.name)
        for name, array in found.items():
            graph.add_constant(name, array)
        sweep.changed.update(found)
        changes += 1
    return changes


def _find_results(node: Node, scope: GraphScope, sweep: _Sweep) -> dict[str, np.ndarray] | None:
    """The results of `node` by name, None where they are not known or too large."""
    if len(node.results) == 1:
        array = _read_content(scope.graph.value(node.results[0]))
        if array is not None:
            return {node.results[0]: array}
    if node.opaque or node.domain or node.body is not None or node.subgraphs() or node.op in RANDOM | _KEPT:
        return None
    operands = [scope.constant(name) if name else None for name in node.inputs]
    if any(array is None and name for name, array in zip(node.inputs, operands, strict=True)):
        return None
    if not _fits(node, operands, scope.graph, sweep.allowance):
        return None
    found = _evaluate(node, operands, scope.graph)
    for array in (found or {}).values():
        if not any(given is not None and np.may_share_memory(array, given) for given in operands):
            sweep.allowance.left -= array.nbytes
    return found


def _read_content(value: Value) -> np.ndarray | None:
    numbers = value.content
    if numbers is None or value.dtype not in (DType.INT64, DType.INT32, DType.BOOL) or not value.is_static:
        return None
    if not all(isinstance(number, int) for number in numbers):
        return None
    array = np.array(numbers, value.dtype.numpy).reshape(cast(tuple[int, ...], value.shape))
    array.flags.writeable = False
    return array


def _fits(node: Node, operands: Sequence[np.ndarray | None], graph: Graph, allowance: Allowance) -> bool:
    given = sum({id(array): array.nbytes for array in operands if array is not None}.values())
    sizes = [_predict_bytes(node, graph.value(name), operands) for name in node.results]
    if None in sizes:
        return False
    result = sum(size for size in sizes if size is not None)
    return result <= min(max(allowance.per_value, given), allowance.left)


def _predict_bytes(node: Node, value: Value, operands: Sequence[np.ndarray | None]) -> int | None:
    if value.dtype is not None and value.shape is not None and value.is_static:
        return value.dtype.numpy.itemsize * math.prod(extent for extent in value.shape if isinstance(extent, int))
    if node.op not in _BOUNDED:
        return None
    return max(array.size * max(array.ndim, 1) * 8 for array in operands if array is not None)


def _evaluate(node: Node, operands: Sequence[np.ndarray | None], graph: Graph) -> dict[str, np.ndarray] | None:
    try:
        results = evaluate(node, operands)
    except ModelError:
        # What fails now would fail when run, if it is run at all.
        return None
    found = {name: array for name, array in zip(node.outputs, results, strict=False) if name}
    if len(found) != len(node.results) or not all(_agrees(graph.value(name), array) for name, array in found.items()):
        return None
    return {name: _own(array, operands) for name, array in found.items()}


def _agrees(value: Value, array: np.ndarray) -> bool:
    return value.dtype is not None and value.dtype.numpy == array.dtype and value.shape in (None, array.shape)


def _own(array: np.ndarray, operands: Sequence[np.ndarray | None]) -> np.ndarray:
    """A read-only array: a view of an operand where it shows all of it in order, else one with its own elements."""
    whole = array.flags.c_contiguous and any(array.nbytes == given.nbytes for given in operands if given is not None)
    kept = array.view() if whole else np.array(array, order="C")
    kept.flags.writeable = False
    return kept
