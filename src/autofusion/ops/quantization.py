"""Rows of linear quantization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autofusion.ir import DType, Node, Value
from autofusion.ops.casting import cast
from autofusion.ops.conversion import normalize_axis
from autofusion.ops.operands import integer, result, shape_of
from autofusion.ops.precision import optional, required, widen_halves
from autofusion.ops.table import Operator, Scope

_LIMITS: Mapping[DType, tuple[int, int]] = {
    DType.INT4: (-8, 7),
    DType.UINT4: (0, 15),
    DType.INT8: (-(2**7), 2**7 - 1),
    DType.UINT8: (0, 2**8 - 1),
    DType.INT16: (-(2**15), 2**15 - 1),
    DType.UINT16: (0, 2**16 - 1),
    DType.INT32: (-(2**31), 2**31 - 1),
}


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
    steps = widen_halves(x) / _align(widen_halves(scale), x, axis)
    dtype = DType.UINT8 if zero is None else DType.of(zero)
    limits = _LIMITS.get(dtype)
    if limits is None:
        return [cast(steps, dtype)]
    steps = np.rint(steps).astype(np.float64)
    if zero is not None:
        steps += _align(zero, x, axis).astype(np.float64)
    return [np.clip(steps, *limits).astype(dtype.numpy)]


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
