"""Rows of arithmetic, element by element, on one, two or many tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from autofusion.ir import Dim, Node
from autofusion.ir.dims import floor_divide, maximum, minimum, modulo
from autofusion.ops.bounds import is_at_least
from autofusion.ops.operands import integer, text
from autofusion.ops.pointwise import Combine, infer_broadcast, infer_same, infer_with_content
from autofusion.ops.precision import elementwise, elementwise_with_node
from autofusion.ops.table import Operator, Scope


def divide(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """`left / right`; of integers the quotient rounded toward zero."""
    if left.dtype.kind not in "iu":
        return left / right
    quotient = left // right
    inexact = (left % right != 0) & ((left < 0) != (right < 0))
    return quotient + inexact.astype(quotient.dtype)


def power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """`base ** exponent`; an integer base gives the result of float64 cut to an integer where the exponent asks."""
    if base.dtype.kind == "f" or (exponent.dtype.kind in "iu" and not np.any(exponent < 0)):
        return np.power(base, exponent)
    return np.trunc(np.power(base.astype(np.float64), exponent))


def _modulo(node: Node, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.fmod(left, right) if integer(node, "fmod") else np.mod(left, right)


def _shift(node: Node, bits: np.ndarray, amount: np.ndarray) -> np.ndarray:
    return np.left_shift(bits, amount) if text(node, "direction") == "LEFT" else np.right_shift(bits, amount)


def _sum(*terms: np.ndarray) -> np.ndarray:
    return reduce(np.add, terms)


def _divide_extents(pair: Sequence[Dim]) -> Dim | None:
    left, right = pair
    if isinstance(left, int) and isinstance(right, int):
        return None if right == 0 else abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return floor_divide(left, right) if is_at_least(left, 0) and is_at_least(right, 1) else None


def _modulo_extents(pair: Sequence[Dim]) -> Dim | None:
    left, right = pair
    return modulo(left, right) if is_at_least(left, 0) and is_at_least(right, 1) else None


def _absolute_extent(single: Sequence[Dim]) -> Dim | None:
    extent = single[0]
    if isinstance(extent, int):
        return abs(extent)
    return extent if is_at_least(extent, 0) else None


def _convert_many(simple: str | None) -> Callable[[Node, int, Scope], Sequence[Node]]:
    """One operand makes an Identity, two make `simple`; before opset 8 nothing was broadcast."""

    def convert(node: Node, version: int, scope: Scope) -> Sequence[Node]:
        count = len(node.inputs)
        op = "Identity" if count == 1 else simple if count == 2 and simple else node.op
        return [Node(node.name, op, node.inputs, node.outputs, node.attributes, origin=node.origin)]

    return convert


def _binary(
    name: str,
    function: Callable[..., np.ndarray],
    combine: Combine | None = None,
    *,
    commutative: bool = False,
) -> Operator:
    return Operator(
        name,
        7,
        commutative=commutative,
        pointwise=True,
        infer=infer_with_content(combine) if combine else infer_broadcast,
        evaluate=elementwise(function),
    )


def _many(name: str, function: Callable[..., np.ndarray], combine: Combine | None = None, simple: str | None = None):
    return Operator(
        name,
        8,
        commutative=True,
        pointwise=True,
        convert=_convert_many(simple),
        infer=infer_with_content(combine) if combine else infer_broadcast,
        evaluate=elementwise(function),
    )


def _unary(
    name: str, version: int, function: Callable[[np.ndarray], np.ndarray], combine: Combine | None = None
) -> Operator:
    return Operator(
        name,
        version,
        pointwise=True,
        infer=infer_with_content(combine) if combine else infer_same,
        evaluate=elementwise(function),
    )


def _bitwise(name: str, function: Callable[..., np.ndarray]) -> Operator:
    return Operator(name, 18, commutative=True, pointwise=True, infer=infer_broadcast, evaluate=elementwise(function))


ROWS = (
    _binary("Add", np.add, lambda pair: pair[0] + pair[1], commutative=True),
    _binary("Sub", np.subtract, lambda pair: pair[0] - pair[1]),
    _binary("Mul", np.multiply, lambda pair: pair[0] * pair[1], commutative=True),
    _binary("Div", divide, _divide_extents),
    _binary("Pow", power),
    Operator(
        "Mod",
        10,
        pointwise=True,
        infer=infer_with_content(_modulo_extents),
        evaluate=elementwise_with_node(_modulo),
    ),
    _many("Sum", _sum, sum, "Add"),
    _many("Mean", lambda *terms: _sum(*terms) / len(terms)),
    _many("Max", lambda *terms: reduce(np.maximum, terms), lambda row: reduce(maximum, row)),
    _many("Min", lambda *terms: reduce(np.minimum, terms), lambda row: reduce(minimum, row)),
    _unary("Abs", 7, np.abs, _absolute_extent),
    _unary("Neg", 7, np.negative, lambda single: single[0] * -1),
    _unary("Sign", 9, np.sign),
    _unary("Ceil", 7, np.ceil),
    _unary("Floor", 7, np.floor),
    _unary("Round", 11, np.rint),
    _unary("Reciprocal", 7, lambda x: 1 / x),
    _unary("Sqrt", 7, np.sqrt),
    _unary("Exp", 7, np.exp),
    _unary("Log", 7, np.log),
    _unary("Sin", 7, np.sin),
    _unary("Cos", 7, np.cos),
    _unary("Tan", 7, np.tan),
    _unary("Asin", 7, np.arcsin),
    _unary("Acos", 7, np.arccos),
    _unary("Atan", 7, np.arctan),
    _unary("Sinh", 9, np.sinh),
    _unary("Cosh", 9, np.cosh),
    _unary("Asinh", 9, np.arcsinh),
    _unary("Acosh", 9, np.arccosh),
    _unary("Atanh", 9, np.arctanh),
    _bitwise("BitwiseAnd", np.bitwise_and),
    _bitwise("BitwiseOr", np.bitwise_or),
    _bitwise("BitwiseXor", np.bitwise_xor),
    _unary("BitwiseNot", 18, np.invert),
    Operator("BitShift", 11, pointwise=True, infer=infer_broadcast, evaluate=elementwise_with_node(_shift)),
)
