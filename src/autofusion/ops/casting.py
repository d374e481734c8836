"""Rows of conversions from one element type to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from autofusion.ir import Dim, DType, Node, Value
from autofusion.ops.bounds import is_equal
from autofusion.ops.element_types import CODES, DTYPES
from autofusion.ops.faults import NOT_EVALUABLE, fault
from autofusion.ops.operands import content_of, integer, result
from autofusion.ops.precision import required, widen_halves
from autofusion.ops.table import Operator, Scope

_SATURATION: Mapping[DType, float] = {DType.FLOAT8E4M3FN: 448.0, DType.FLOAT8E5M2: 57344.0}
"""Greatest finite number of the types that do not go on to infinity."""


def _convert_cast_like(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """A Cast where the type to follow is known."""
    dtype = scope.value(node.input(1)).dtype
    if dtype is None:
        return [node]
    return [replace(node, op="Cast", inputs=node.inputs[:1], attributes={**node.attributes, "to": CODES[dtype]})]


def _infer_cast(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    dtype = DTYPES.get(integer(node, "to"))
    return [result(x.shape, dtype, cast_content(content_of(x.name, scope), dtype))]


def _infer_cast_like(node: Node, scope: Scope) -> Sequence[Value]:
    x, dtype = scope.value(node.input(0)), scope.value(node.input(1)).dtype
    return [result(x.shape, dtype, cast_content(content_of(x.name, scope), dtype))]


def cast_content(content: tuple[Dim, ...] | None, dtype: DType | None) -> tuple[Dim, ...] | None:
    """The content after a cast to `dtype`, None where it is not certain."""
    if content is None or dtype is not DType.BOOL:
        return content
    answers = [is_equal(element, 0) for element in content]
    return None if None in answers else tuple(int(answer is False) for answer in answers)


def _evaluate_cast(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    dtype = DTYPES.get(integer(node, "to"))
    if dtype is None:
        raise fault(NOT_EVALUABLE, node, f"element type {integer(node, 'to')} is not supported")
    return [cast(required(operands, 0), dtype)]


def _evaluate_cast_like(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    return [cast(required(operands, 0), DType.of(required(operands, 1)))]


def cast(array: np.ndarray, dtype: DType) -> np.ndarray:
    """`array` converted as Cast does: numbers to text and back included, eight-bit floats with saturation."""
    if dtype is DType.STRING:
        return np.array([_write(element) for element in array.reshape(-1)], object).reshape(array.shape)
    if DType.of(array) is DType.STRING:
        numbers = np.array([float(element) for element in array.reshape(-1)]).reshape(array.shape)
        return numbers.astype(dtype.numpy)
    limit = _SATURATION.get(dtype)
    if limit is not None:
        return np.clip(widen_halves(array), -limit, limit).astype(dtype.numpy)
    return array.astype(dtype.numpy)


def _write(element: object) -> str:
    return element if isinstance(element, str) else str(element)


ROWS = (
    Operator("Cast", 13, pointwise=True, infer=_infer_cast, evaluate=_evaluate_cast),
    Operator("CastLike", 15, convert=_convert_cast_like, infer=_infer_cast_like, evaluate=_evaluate_cast_like),
)
