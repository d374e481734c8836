"""Constant folding: nodes whose operands are all known are computed now, as far as a budget allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autofusion.errors import ModelError
from autofusion.ir import Graph, Node, Value
from autofusion.ir.scope import GraphScope
from autofusion.ops import evaluate
from autofusion.passes.nested import edit_nested

FOLD_BUDGET = 4 << 20
"""Bytes that a folded result may take, unless its operands took as many."""

_RANDOM = frozenset(
    {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
# Fusions read the parameters of quantisation from these nodes.
_KEPT = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})
# Their results are no tensors.
_SEQUENCES = frozenset(
    {
        "ConcatFromSequence",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SequenceMap",
        "SplitToSequence",
    }
)
# The shape of the result depends on the elements, but each result element stems from one element of an operand.
_BOUNDED = frozenset({"Compress", "NonZero", "Unique"})


@dataclass
class _Account:
    """How many bytes folding may still add to the constants of the model."""

    per_value: int
    left: int


def fold_constants(graph: Graph, *, budget_bytes: int = FOLD_BUDGET) -> int:
    """Replace nodes by their results where every operand is constant; returns how many.

    A result larger than `budget_bytes` is folded only if the operands together are as large, and all
    results together may exceed their operands by no more than 16 times the budget.  Random,
    quantising, fused, opaque and control-flow nodes stay, as do nodes that fail on their operands.
    Arrays are never edited: a result is a new constant under the name that the value had.
    """
    return _fold(GraphScope(graph), _Account(budget_bytes, 16 * budget_bytes))


def _fold(scope: GraphScope, account: _Account) -> int:
    changes = 0
    for node in scope.graph.topological():
        if node.subgraphs():
            changes += edit_nested(scope.graph, node, lambda nested: _fold(scope.nest(nested), account))
            continue
        operands = _find_operands(node, scope)
        if operands is None or not _fits(node, operands, scope.graph, account):
            continue
        changes += _replace_node(node, operands, scope.graph)
    return changes


def _find_operands(node: Node, scope: GraphScope) -> list[np.ndarray | None] | None:
    """The operands' arrays, None unless the node may be folded and all are constant."""
    if node.opaque or node.domain or node.body is not None or node.op in _RANDOM | _KEPT | _SEQUENCES:
        return None
    arrays = [scope.constant(name) if name else None for name in node.inputs]
    known = all(array is not None for name, array in zip(node.inputs, arrays, strict=True) if name)
    return arrays if known else None


def _fits(node: Node, operands: Sequence[np.ndarray | None], graph: Graph, account: _Account) -> bool:
    given = sum(array.nbytes for array in operands if array is not None)
    sizes = [_predict_bytes(node, graph.value(name), operands) for name in node.results]
    result = sum(size for size in sizes if size is not None)
    growth = max(result - given, 0)
    if None in sizes or result > max(account.per_value, given) or growth > account.left:
        return False
    account.left -= growth
    return True


def _predict_bytes(node: Node, value: Value, operands: Sequence[np.ndarray | None]) -> int | None:
    if value.dtype is not None and value.shape is not None and value.is_static:
        return value.dtype.numpy.itemsize * math.prod(extent for extent in value.shape if isinstance(extent, int))
    if node.op not in _BOUNDED:
        return None
    return max(array.size * max(array.ndim, 1) * 8 for array in operands if array is not None)


def _replace_node(node: Node, operands: Sequence[np.ndarray | None], graph: Graph) -> int:
    try:
        results = evaluate(node, operands)
    except ModelError:
        # What fails now would fail when run, if it is run at all.
        return 0
    found = [(name, array) for name, array in zip(node.outputs, results, strict=False) if name]
    if len(found) != len(node.results) or not all(_agrees(graph.value(name), array) for name, array in found):
        return 0
    graph.remove(node.name)
    for name, array in found:
        owned = np.array(array)
        owned.flags.writeable = False
        graph.add_constant(name, owned)
    return 1


def _agrees(value: Value, array: np.ndarray) -> bool:
    return value.dtype is not None and value.dtype.numpy == array.dtype and value.shape in (None, array.shape)
