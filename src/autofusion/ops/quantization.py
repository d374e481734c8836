"""Rows of linear quantization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.ir import DType, Node, Value
from autofusion.ops.conversion import normalize_axis
from autofusion.ops.operands import integer, result, shape_of
from autofusion.ops.precision import optional, required, widen_halves
from autofusion.ops.table import Operator, Scope


def _convert(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """The axis is left as it is where one scale serves all elements: then it means nothing."""
    scale = shape_of(node, 1, scope)
    return [normalize_axis(node, scope) if scale is not None and len(scale) == 1 else node]


def _infer_quantized(node: Node, scope: Scope) -> Sequence[Value]:
    zero = node.input(2)
    return [result(shape_of(node, 0, scope), scope.value(zero).dtype if zero else DType.UINT8)]


def _infer_dequantized(node: Node, scope: Scope) -> Sequence[Value]:
    return [result(shape_of(node, 0, scope), scope.value(node.input(1)).dtype)]


def _align(parameter: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    """A parameter of one element, or of one per place along `axis`, in a form that broadcasts with `x`."""
    if parameter.size == 1:
        return parameter.reshape(())
    form = [1] * x.ndim
    form[axis] = -1
    return parameter.reshape(form)


def _evaluate_quantize(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, scale, zero = required(operands, 0), required(operands, 1), optional(operands, 2)
    axis = integer(node, "axis", 1)
    steps = np.rint(widen_halves(x) / _align(widen_halves(scale), x, axis))
    kind = np.dtype(np.uint8) if zero is None else zero.dtype
    if zero is not None:
        steps = steps + _align(zero, x, axis).astype(np.float64)
    if kind.kind not in "iu":
        return [steps.astype(kind)]
    limits = np.iinfo(kind)
    return [np.clip(steps, limits.min, limits.max).astype(kind)]


def _evaluate_dequantize(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, scale, zero = required(operands, 0), required(operands, 1), optional(operands, 2)
    axis = integer(node, "axis", 1)
    factor = _align(widen_halves(scale), x, axis)
    steps = x.astype(np.float64)
    if zero is not None:
        steps = steps - _align(zero, x, axis).astype(np.float64)
    return [(steps.astype(factor.dtype) * factor).astype(scale.dtype, copy=False)]


ROWS = (
    Operator("QuantizeLinear", 13, convert=_convert, infer=_infer_quantized, evaluate=_evaluate_quantize),
    Operator("DequantizeLinear", 13, convert=_convert, infer=_infer_dequantized, evaluate=_evaluate_dequantize),
    Operator("DynamicQuantizeLinear", 11),
)
