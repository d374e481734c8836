"""Rows of comparisons, truth values and the choice between two tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autofusion.ir import Dim, Node
from autofusion.ops.bounds import is_equal, is_less
from autofusion.ops.operands import integer
from autofusion.ops.pointwise import Combine, infer_same, infer_with_content
from autofusion.ops.precision import required, widen_halves
from autofusion.ops.table import Evaluate, Operator


def _truth(answer: bool | None) -> Dim | None:
    return None if answer is None else int(answer)


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _choose(row: Sequence[Dim]) -> Dim | None:
    condition, first, second = row
    if first == second:
        return first
    if not isinstance(condition, int):
        return None
    return first if condition else second


def _all_numbers(function: Callable[[Sequence[int]], bool]) -> Combine:
    """Truth values are combined only where all are known."""

    def combine(row: Sequence[Dim]) -> Dim | None:
        numbers = [element for element in row if isinstance(element, int)]
        return int(function(numbers)) if len(numbers) == len(row) else None

    return combine


def _evaluate_truth(function: Callable[..., np.ndarray]) -> Evaluate:
    def evaluate(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        return [np.asarray(function(*(widen_halves(array) for array in operands if array is not None)))]

    return evaluate


def _evaluate_where(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    condition, first, second = (required(operands, index) for index in range(3))
    return [np.where(condition, first, second).astype(first.dtype, copy=False)]


def _evaluate_is_infinite(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x = widen_halves(required(operands, 0))
    above = (x == np.inf) & bool(integer(node, "detect_positive", 1))
    below = (x == -np.inf) & bool(integer(node, "detect_negative", 1))
    return [above | below]


def _row(
    name: str, version: int, function: Callable[..., np.ndarray], combine: Combine, *, commutative: bool = False
) -> Operator:
    return Operator(
        name,
        version,
        commutative=commutative,
        pointwise=True,
        infer=infer_with_content(combine),
        evaluate=_evaluate_truth(function),
    )


ROWS = (
    _row("Equal", 7, np.equal, lambda pair: _truth(is_equal(*pair)), commutative=True),
    _row("Less", 7, np.less, lambda pair: _truth(is_less(*pair))),
    _row("Greater", 7, np.greater, lambda pair: _truth(is_less(pair[1], pair[0]))),
    _row("LessOrEqual", 12, np.less_equal, lambda pair: _truth(_not(is_less(pair[1], pair[0])))),
    _row("GreaterOrEqual", 12, np.greater_equal, lambda pair: _truth(_not(is_less(*pair)))),
    _row("And", 7, np.logical_and, _all_numbers(all), commutative=True),
    _row("Or", 7, np.logical_or, _all_numbers(any), commutative=True),
    _row("Xor", 7, np.logical_xor, _all_numbers(lambda pair: pair[0] != pair[1]), commutative=True),
    Operator(
        "Not",
        7,
        pointwise=True,
        infer=infer_with_content(_all_numbers(lambda single: not single[0])),
        evaluate=_evaluate_truth(np.logical_not),
    ),
    Operator("IsNaN", 9, pointwise=True, infer=infer_same, evaluate=_evaluate_truth(np.isnan)),
    Operator("IsInf", 10, pointwise=True, infer=infer_same, evaluate=_evaluate_is_infinite),
    Operator("Where", 9, pointwise=True, infer=infer_with_content(_choose), evaluate=_evaluate_where),
)
