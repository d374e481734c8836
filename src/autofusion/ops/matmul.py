"""Rows of matrix products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.ir import Dim, DType, Node, Shape, Value
from autofusion.ops.broadcast import broadcast_shapes
from autofusion.ops.conversion import trim_inputs
from autofusion.ops.einsum import evaluate_einsum, infer_einsum
from autofusion.ops.faults import SHAPES_CONTRADICT, WRONG_RANK, describe, fault
from autofusion.ops.operands import integer, number, require_rank, result, shape_of
from autofusion.ops.precision import optional, required, widen_halves
from autofusion.ops.table import Infer, Operator, Scope


def _infer_product(right_index: int, dtype: DType | None = None) -> Infer:
    """Inference of `left @ right` with batch axes broadcast; operands at places 0 and `right_index`."""

    def infer(node: Node, scope: Scope) -> Sequence[Value]:
        names = node.input(0), node.input(right_index)
        for name in names:
            require_rank(node, name, scope, 1)
        left, right = scope.value(names[0]).shape, scope.value(names[1]).shape
        if left is None or right is None:
            return [result(dtype=dtype)]
        try:
            return [result(_multiply_shapes(left, right), dtype)]
        except ValueError as error:
            first, second = (describe(scope.value(name)) for name in names)
            raise fault(SHAPES_CONTRADICT, node, f"{first} times {second} is no product: {error}") from error

    return infer


def _multiply_shapes(left: Shape, right: Shape) -> Shape:
    inner = left[-1], right[max(len(right) - 2, 0)]
    if _differ(*inner):
        raise ValueError(f"the inner extents are {inner[0]} and {inner[1]}")
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return (*broadcast_shapes([left[:-2], right[:-2]]), *rows, *columns)


def _differ(left: Dim, right: Dim) -> bool:
    return isinstance(left, int) and isinstance(right, int) and left != right


def _evaluate_matmul(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    left, right = required(operands, 0), required(operands, 1)
    return [_multiply(widen_halves(left), widen_halves(right)).astype(left.dtype, copy=False)]


def _multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """`left @ right`; a batch of matrices times one matrix is computed as one product."""
    if left.ndim < 3 or right.ndim != 2 or not left.size:
        return np.asarray(np.matmul(left, right))
    return np.matmul(left.reshape(-1, left.shape[-1]), right).reshape(*left.shape[:-1], right.shape[1])


def _evaluate_integer_matmul(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    """Products of eight-bit numbers are exact in float64, and so are their sums."""
    left, right = required(operands, 0).astype(np.float64), required(operands, 1).astype(np.float64)
    left_zero, right_zero = optional(operands, 2), optional(operands, 3)
    if left_zero is not None:
        left -= left_zero[:, None] if left_zero.ndim == 1 and left_zero.size > 1 else left_zero
    if right_zero is not None:
        right -= right_zero
    return [np.asarray(np.matmul(left, right)).astype(np.int32)]


def _convert_gemm(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    return [trim_inputs(node)]


def _infer_gemm(node: Node, scope: Scope) -> Sequence[Value]:
    for name in node.inputs[:2]:
        require_rank(node, name, scope, 2, 2)
    left, right = shape_of(node, 0, scope), shape_of(node, 1, scope)
    if left is None or right is None:
        return [result()]
    rows, inner = (left[1], left[0]) if integer(node, "transA") else left
    other, columns = (right[1], right[0]) if integer(node, "transB") else right
    if _differ(inner, other):
        first, second = describe(scope.value(node.input(0))), describe(scope.value(node.input(1)))
        raise fault(
            SHAPES_CONTRADICT, node, f"{first} times {second} is no product: the inner extents are {inner} and {other}"
        )
    _check_addend(node, (rows, columns), scope)
    return [result((rows, columns))]


def _check_addend(node: Node, product: Shape, scope: Scope) -> None:
    addend = shape_of(node, 2, scope)
    if addend is None:
        return
    name = describe(scope.value(node.input(2)))
    if len(addend) > 2:
        raise fault(WRONG_RANK, node, f"input {name} must have at most 2 axes")
    for extent, target in zip(reversed(addend), reversed(product), strict=False):
        if extent != 1 and _differ(extent, target):
            raise fault(SHAPES_CONTRADICT, node, f"input {name} cannot be broadcast to [{product[0]}, {product[1]}]")


def _evaluate_gemm(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    a, b, c = required(operands, 0), required(operands, 1), optional(operands, 2)
    left, right = widen_halves(a), widen_halves(b)
    total = (left.T if integer(node, "transA") else left) @ (right.T if integer(node, "transB") else right)
    alpha, beta = number(node, "alpha", 1.0), number(node, "beta", 1.0)
    if alpha != 1:
        total = total * alpha
    if c is not None and beta != 0:
        total = total + (widen_halves(c) if beta == 1 else widen_halves(c) * beta)
    return [total.astype(a.dtype, copy=False)]


ROWS = (
    Operator("MatMul", 7, infer=_infer_product(1), evaluate=_evaluate_matmul),
    Operator("Gemm", 11, convert=_convert_gemm, infer=_infer_gemm, evaluate=_evaluate_gemm),
    Operator("MatMulInteger", 10, infer=_infer_product(1, DType.INT32), evaluate=_evaluate_integer_matmul),
    Operator("QLinearMatMul", 10, infer=_infer_product(3)),
    Operator("Einsum", 12, infer=infer_einsum, evaluate=evaluate_einsum),
)
