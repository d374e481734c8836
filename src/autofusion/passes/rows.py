"""Reshapes round operators that work on rows: products with one matrix, norms and what is elementwise.

Exporters flatten the leading axes before a product and bring them back behind it.  Where the last axis
stays, the operators between two such views do the same without the first, or without the second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autofusion.ir import Attribute, Graph, Node, Shape
from autofusion.ir.scope import GraphScope
from autofusion.ops import find_operator
from autofusion.ops.bounds import is_at_least
from autofusion.ops.operands import integer, number
from autofusion.passes.build import add_node, add_view
from autofusion.passes.redirect import hand_on, is_inner
from autofusion.passes.spelling import VIEWS, View, spell_view
from autofusion.passes.sweep import sweep

_NORMS = frozenset({"LayerNormalization", "RMSNormalization", "Softmax", "LogSoftmax"})


@dataclass(frozen=True)
class _Run:
    """Operators on rows between two views, each with the operand place of the rows."""

    first: Node
    rows: tuple[tuple[Node, int], ...]
    last: Node


def free_rows(graph: Graph) -> int:
    """Take out a view before or behind a run of operators that work on the last axis alone; returns the views gone.

    The run may end in a Split of that axis, if views read all its parts.  A Gemm in it becomes MatMul and Add.  Every
    value between the views has one reader.  The view that is left says what both said together.
    """
    return sweep(graph, _free)


def _free(node: Node, scope: GraphScope) -> int:
    if node.op == "Split":
        return _free_split(node, scope)
    run = _trace(node, scope) if node.op in VIEWS else None
    if run is None:
        return 0
    source, result = scope.value(run.first.inputs[0]).shape, scope.value(node.outputs[0]).shape
    given, made = scope.value(run.first.outputs[0]).shape, scope.value(node.inputs[0]).shape
    if not source or not result or not given or not made:
        return 0
    width, columns = given[-1], made[-1]
    if not is_at_least(width, 1) or not is_at_least(columns, 1):
        return 0
    if source[-1] == width:
        return _drop_first(run, source, result, scope)
    if result[-1] == columns and is_inner(scope.graph, run.first.outputs[0]):
        return _drop_last(run, (*result[:-1], width), scope)
    return 0


def _free_split(node: Node, scope: GraphScope) -> int:
    """Take out the view before rows that a Split deals out to views."""
    graph, run = scope.graph, _trace(node, scope)
    source = scope.value(run.first.inputs[0]).shape if run is not None else None
    given = scope.value(run.first.outputs[0]).shape if run is not None else None
    rank = _rank(node.inputs[0], scope)
    if run is None or not source or not given or rank is None or integer(node, "axis") not in (-1, rank - 1):
        return 0
    if source[-1] != given[-1] or not is_at_least(source[-1], 1) or source == given:
        return 0
    views = [use.node for name in node.results for use in graph.consumers(name)]
    if len(node.results) != len(node.outputs) or not all(view.op in VIEWS and not view.opaque for view in views):
        return 0
    if any(name in graph.outputs for name in node.outputs):
        return 0
    targets: list[View] = []
    for view in views:
        part, shape = scope.value(view.inputs[0]).shape, scope.value(view.outputs[0]).shape
        target = spell_view(shape, (*source[:-1], part[-1])) if part and shape else None
        if target is None:
            return 0
        targets.append(target)
    _move_split(run, views, targets, len(source), scope)
    return 1


def _move_split(run: _Run, views: Sequence[Node], targets: Sequence[View], rank: int, scope: GraphScope) -> None:
    split = run.last
    for gone in (*views, split):
        scope.graph.remove(gone.name)
    value = _move(run, run.first.inputs[0], rank, scope)
    parts = {name: scope.fresh(name) for name in split.outputs}
    kept = {**split.attributes, "axis": rank - 1}
    add_node(scope, split.name, "Split", (value, *split.inputs[1:]), [*parts.values()], kept, split.origin)
    for view, target in zip(views, targets, strict=True):
        shape = scope.value(view.outputs[0]).shape
        assert shape is not None
        add_view(scope, view.name, parts[view.inputs[0]], target, view.outputs[0], view.origin)


def _trace(last: Node, scope: GraphScope) -> _Run | None:
    """The run that ends in the view `last`, None where there is none."""
    graph, value = scope.graph, last.inputs[0]
    rows: list[tuple[Node, int]] = []
    while is_inner(graph, value):
        node = graph.producer(value)
        if node is None or node.opaque or node.domain or node.body is not None:
            return None
        if node.op in VIEWS:
            return _Run(node, tuple(reversed(rows)), last) if rows else None
        place = _find_rows(node, scope)
        if place is None:
            return None
        rows.append((node, place))
        value = node.inputs[place]
        first = graph.producer(value)
        if first is not None and first.op in VIEWS and not first.domain and not first.opaque:
            return _Run(first, tuple(reversed(rows)), last)
    return None


def _find_rows(node: Node, scope: GraphScope) -> int | None:
    """The operand place whose rows `node` works on one by one, None where it does something else."""
    if len(node.results) != 1 or len(node.outputs) != 1:
        return None
    rule = _RULES.get(node.op)
    if rule is not None:
        return 0 if rule(node, scope) else None
    operator = find_operator(node.op)
    if operator is None or not operator.pointwise:
        return None
    wide = [place for place, name in enumerate(node.inputs) if name and _rank(name, scope) not in (0, 1)]
    if len(wide) != 1 or scope.value(node.inputs[wide[0]]).shape != scope.value(node.outputs[0]).shape:
        return None
    return wide[0]


def _rank(name: str, scope: GraphScope) -> int | None:
    return scope.value(name).rank


def _multiplies_rows(node: Node, scope: GraphScope) -> bool:
    return _rank(node.inputs[1], scope) == 2 and (_rank(node.inputs[0], scope) or 0) >= 2


def _is_plain_gemm(node: Node, scope: GraphScope) -> bool:
    if integer(node, "transA") or number(node, "alpha", 1.0) != 1.0:
        return False
    if integer(node, "transB") and scope.constant(node.inputs[1]) is None:
        return False
    return not node.input(2) or (number(node, "beta", 1.0) == 1.0 and _rank(node.inputs[2], scope) in (0, 1))


def _normalizes_last_axis(node: Node, scope: GraphScope) -> bool:
    rank = _rank(node.inputs[0], scope)
    return rank is not None and rank > 1 and integer(node, "axis") == rank - 1


_RULES: Mapping[str, Callable[[Node, GraphScope], bool]] = {
    "MatMul": _multiplies_rows,
    "Gemm": _is_plain_gemm,
    **dict.fromkeys(_NORMS, _normalizes_last_axis),
}


def _drop_first(run: _Run, source: Shape, result: Shape, scope: GraphScope) -> int:
    made = scope.value(run.last.inputs[0]).shape
    assert made is not None
    shape = (*source[:-1], made[-1])
    target = spell_view(result, shape)
    if target is None:
        return 0
    name = _move(run, run.first.inputs[0], len(source), scope)
    if shape == result:
        return hand_on(scope, run.last, name)
    scope.graph.remove(run.last.name)
    origin = tuple(dict.fromkeys((*run.first.origin, *run.last.origin)))
    add_view(scope, run.last.name, name, target, run.last.outputs[0], origin)
    return 1


def _drop_last(run: _Run, shape: Shape, scope: GraphScope) -> int:
    source = run.first.inputs[0]
    given = scope.value(source).shape
    target = spell_view(shape, given) if given is not None else None
    if target is None:
        return 0
    start = scope.fresh(run.first.outputs[0])
    origin = tuple(dict.fromkeys((*run.first.origin, *run.last.origin)))
    add_view(scope, scope.fresh(run.first.name), source, target, start, origin)
    return hand_on(scope, run.last, _move(run, start, len(shape), scope))


def _move(run: _Run, value: str, rank: int, scope: GraphScope) -> str:
    """Let the operators of `run` work on `value`, of that rank; returns what they make of it."""
    for node, _ in reversed(run.rows):
        scope.graph.remove(node.name)
    for node, place in run.rows:
        result = scope.fresh(node.outputs[0])
        inputs = tuple(value if index == place else name for index, name in enumerate(node.inputs))
        if node.op == "Gemm":
            _add_product(node, inputs, result, scope)
        else:
            attributes: Mapping[str, Attribute] = node.attributes
            kept = {**attributes, "axis": rank - 1} if node.op in _NORMS else attributes
            add_node(scope, node.name, node.op, inputs, (result,), kept, node.origin)
        value = result
    return value


def _add_product(node: Node, inputs: tuple[str, ...], result: str, scope: GraphScope) -> None:
    factors = (inputs[0], _read_matrix(node, scope))
    if len(inputs) < 3 or not inputs[2]:
        add_node(scope, node.name, "MatMul", factors, (result,), {}, node.origin)
        return
    product = scope.fresh(f"{node.outputs[0]}_product")
    add_node(scope, scope.fresh(f"{node.name}_product"), "MatMul", factors, (product,), {}, node.origin)
    add_node(scope, node.name, "Add", (product, inputs[2]), (result,), {}, node.origin)


def _read_matrix(gemm: Node, scope: GraphScope) -> str:
    matrix = scope.constant(gemm.inputs[1]) if integer(gemm, "transB") else None
    if matrix is None:
        return gemm.inputs[1]
    turned = np.ascontiguousarray(matrix.T)
    turned.flags.writeable = False
    return scope.define_constant(f"{gemm.inputs[1]}_turned", turned)
