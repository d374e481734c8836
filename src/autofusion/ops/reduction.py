"""Rows of reductions along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from autofusion.ir import Dim, Node, Value
from autofusion.ir.dims import maximum, minimum, product
from autofusion.ops.conversion import (
    attribute_to_input,
    normalize_axes_input,
    normalize_axis,
    trim_inputs,
    with_input,
)
from autofusion.ops.operands import content_of, int64_constant, integer, numbers_of, resolve_axes, resolve_axis, result
from autofusion.ops.precision import optional, required, widen_halves
from autofusion.ops.table import Evaluate, Infer, Operator, Scope

_Reducer = Callable[[np.ndarray, tuple[int, ...], bool], np.ndarray]
_Fold = Callable[[Sequence[Dim]], Dim]


def _convert_reduction(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Axes are a constant operand, counted from the front; none given are written out where the rank is known."""
    moved = trim_inputs(attribute_to_input(node, "axes", 1, scope))
    rank = scope.value(node.input(0)).rank
    axes = numbers_of(moved.input(1), scope) if moved.input(1) else ()
    if axes == () and rank is not None and not integer(moved, "noop_with_empty_axes"):
        return [with_input(moved, 1, int64_constant(f"{node.name}_axes", range(rank), scope))]
    return [normalize_axes_input(moved, 1, rank, scope)]


def _infer_reduction(fold: _Fold | None) -> Infer:
    def infer(node: Node, scope: Scope) -> Sequence[Value]:
        x = scope.value(node.input(0))
        axes = numbers_of(node.input(1), scope) if node.input(1) else ()
        if x.shape is None or axes is None:
            return []
        if not axes and integer(node, "noop_with_empty_axes"):
            return [result(x.shape, content=content_of(x.name, scope))]
        chosen = resolve_axes(node, axes, len(x.shape)) if axes else tuple(range(len(x.shape)))
        keep = integer(node, "keepdims", 1)
        shape = [1 if axis in chosen else extent for axis, extent in enumerate(x.shape) if keep or axis not in chosen]
        content = content_of(x.name, scope) if chosen and fold else None
        return [result(tuple(shape), content=(fold(content),) if content and fold else None)]

    return infer


def _evaluate_reduction(function: _Reducer) -> Evaluate:
    def evaluate(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        x, given = required(operands, 0), optional(operands, 1)
        axes = tuple(int(axis) for axis in given.reshape(-1)) if given is not None else ()
        if not axes and integer(node, "noop_with_empty_axes"):
            # Each element is a reduction of its own, along no axis.
            return [function(widen_halves(x), (), True).astype(x.dtype, copy=False)]
        chosen = axes or tuple(range(x.ndim))
        found = function(widen_halves(x), chosen, bool(integer(node, "keepdims", 1)))
        return [np.asarray(found).astype(x.dtype, copy=False)]

    return evaluate


def _mean(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    total = x.sum(axis=axes, keepdims=keep)
    return total / np.array(math.prod(x.shape[axis] for axis in axes), total.dtype)


def _greatest(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    if x.size:
        return x.max(axis=axes, keepdims=keep)
    return x.max(axis=axes, keepdims=keep, initial=_lowest(x))


def _least(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    if x.size:
        return x.min(axis=axes, keepdims=keep)
    return x.min(axis=axes, keepdims=keep, initial=_highest(x))


def _lowest(x: np.ndarray) -> float | int:
    return -np.inf if x.dtype.kind == "f" else 0 if x.dtype.kind == "b" else int(np.iinfo(x.dtype).min)


def _highest(x: np.ndarray) -> float | int:
    return np.inf if x.dtype.kind == "f" else 1 if x.dtype.kind == "b" else int(np.iinfo(x.dtype).max)


def _log_sum_exp(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    peak = _greatest(x, axes, True)
    finite = np.where(np.isfinite(peak), peak, 0)
    total = np.log(np.exp(x - finite).sum(axis=axes, keepdims=True)) + finite
    return total if keep else total.squeeze(axes)


def _row(name: str, version: int, function: _Reducer, fold: _Fold | None = None) -> Operator:
    return Operator(
        name,
        version,
        convert=_convert_reduction,
        infer=_infer_reduction(fold),
        evaluate=_evaluate_reduction(function),
    )


def _convert_arg(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    return [normalize_axis(node, scope)]


def _infer_arg(node: Node, scope: Scope) -> Sequence[Value]:
    shape = scope.value(node.input(0)).shape
    if shape is None:
        return []
    axis = resolve_axis(node, integer(node, "axis"), len(shape))
    kept = (1,) if integer(node, "keepdims", 1) else ()
    return [result((*shape[:axis], *kept, *shape[axis + 1 :]))]


def _evaluate_arg(function: Callable[[np.ndarray, int], np.ndarray]) -> Evaluate:
    def evaluate(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        x = widen_halves(required(operands, 0))
        axis = integer(node, "axis")
        if integer(node, "select_last_index"):
            places = x.shape[axis] - 1 - function(np.flip(x, axis), axis)
        else:
            places = function(x, axis)
        found = np.asarray(places).astype(np.int64)
        return [np.expand_dims(found, axis) if integer(node, "keepdims", 1) else found]

    return evaluate


ROWS = (
    _row("ReduceSum", 13, lambda x, axes, keep: x.sum(axis=axes, keepdims=keep), sum),
    _row("ReduceMean", 18, _mean),
    _row("ReduceMax", 18, _greatest, lambda dims: reduce(maximum, dims)),
    _row("ReduceMin", 18, _least, lambda dims: reduce(minimum, dims)),
    _row("ReduceProd", 18, lambda x, axes, keep: x.prod(axis=axes, keepdims=keep), lambda dims: product(tuple(dims))),
    _row("ReduceL1", 18, lambda x, axes, keep: np.abs(x).sum(axis=axes, keepdims=keep)),
    _row("ReduceL2", 18, lambda x, axes, keep: np.sqrt(np.square(x).sum(axis=axes, keepdims=keep))),
    _row("ReduceSumSquare", 18, lambda x, axes, keep: np.square(x).sum(axis=axes, keepdims=keep)),
    _row("ReduceLogSum", 18, lambda x, axes, keep: np.log(x.sum(axis=axes, keepdims=keep))),
    _row("ReduceLogSumExp", 18, _log_sum_exp),
    Operator("ArgMax", 12, convert=_convert_arg, infer=_infer_arg, evaluate=_evaluate_arg(np.argmax)),
    Operator("ArgMin", 12, convert=_convert_arg, infer=_infer_arg, evaluate=_evaluate_arg(np.argmin)),
)
