"""Rows of activations and other functions of one tensor, with their parameters as attributes or scalars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from autofusion.ir import Node, Value
from autofusion.ops.broadcast import broadcast_shapes
from autofusion.ops.conversion import attribute_to_input, companion, keep_opaque, trim_inputs, with_input
from autofusion.ops.faults import SHAPES_CONTRADICT, WRONG_RANK, describe, fault
from autofusion.ops.operands import number, result, text
from autofusion.ops.pointwise import infer_same
from autofusion.ops.precision import elementwise, elementwise_with_node, optional, required, widen_halves
from autofusion.ops.special import erf
from autofusion.ops.table import Operator, Scope


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def softplus(x: np.ndarray) -> np.ndarray:
    """log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x: np.ndarray, approximate: str) -> np.ndarray:
    """x times the normal distribution function of x, or its approximation by tanh."""
    if approximate == "tanh":
        return x * (np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) + 1) / 2
    return x * (erf(x / math.sqrt(2)) + 1) / 2


def _leaky_relu(node: Node, x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, x * number(node, "alpha", 0.01), x)


def _hard_sigmoid(node: Node, x: np.ndarray) -> np.ndarray:
    return np.clip(x * number(node, "alpha", 0.2) + number(node, "beta", 0.5), 0, 1)


def _elu(node: Node, x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, number(node, "alpha", 1.0) * np.expm1(x), x)


def _selu(node: Node, x: np.ndarray) -> np.ndarray:
    negative = number(node, "alpha", 1.67326) * np.expm1(x)
    return number(node, "gamma", 1.0507) * np.where(x <= 0, negative, x)


def _celu(node: Node, x: np.ndarray) -> np.ndarray:
    alpha = number(node, "alpha", 1.0)
    return np.maximum(x, 0) + np.minimum(alpha * np.expm1(x / alpha), 0)


def _thresholded_relu(node: Node, x: np.ndarray) -> np.ndarray:
    return np.where(x > number(node, "alpha", 1.0), x, 0)


def _shrink(node: Node, x: np.ndarray) -> np.ndarray:
    limit, bias = number(node, "lambd", 0.5), number(node, "bias", 0.0)
    return np.where(x < -limit, x + bias, np.where(x > limit, x - bias, 0))


def _swish(node: Node, x: np.ndarray) -> np.ndarray:
    return x * sigmoid(number(node, "alpha", 1.0) * x)


def _gelu(node: Node, x: np.ndarray) -> np.ndarray:
    return gelu(x, text(node, "approximate", "none"))


def _prelu(x: np.ndarray, slope: np.ndarray) -> np.ndarray:
    return np.where(x < 0, x * slope, x)


def _infer_prelu(node: Node, scope: Scope) -> Sequence[Value]:
    x, slope = scope.value(node.input(0)), scope.value(node.input(1))
    if x.shape is None or slope.shape is None:
        return [result(x.shape)]
    try:
        widened = broadcast_shapes([x.shape, slope.shape])
    except ValueError as error:
        raise fault(SHAPES_CONTRADICT, node, f"slope {describe(slope)} does not fit {describe(x)}: {error}") from error
    if len(widened) != len(x.shape):
        raise fault(WRONG_RANK, node, f"slope {describe(slope)} has more axes than {describe(x)}")
    return [result(x.shape)]


def _convert_clip(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    if version >= 11:
        return _make_limits_scalar(trim_inputs(node), scope)
    dtype = scope.value(node.input(0)).dtype
    if dtype is None:
        return keep_opaque(node)
    lower = attribute_to_input(node, "min", 1, scope, dtype.numpy.type)
    return [attribute_to_input(lower, "max", 2, scope, dtype.numpy.type)]


def _make_limits_scalar(node: Node, scope: Scope) -> Sequence[Node]:
    """`node` behind a Squeeze of each limit that is a tensor of shape [1], as some exporters write them."""
    before: list[Node] = []
    for index, name in enumerate(node.inputs):
        if index and name and scope.value(name).shape == (1,):
            scalar = scope.fresh(f"{name}_scalar")
            before.append(companion(node, "Squeeze", [name], [scalar], scope))
            node = with_input(node, index, scalar)
    return [*before, node]


def _infer_clip(node: Node, scope: Scope) -> Sequence[Value]:
    for name in node.inputs[1:]:
        limit = scope.value(name)
        if name and limit.rank is not None and limit.rank != 0:
            raise fault(WRONG_RANK, node, f"limit {describe(limit)} must be a scalar")
    return infer_same(node, scope)


def _evaluate_clip(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x = required(operands, 0)
    lower, upper = optional(operands, 1), optional(operands, 2)
    clipped = widen_halves(x)
    if lower is not None:
        clipped = np.maximum(clipped, widen_halves(lower))
    if upper is not None:
        clipped = np.minimum(clipped, widen_halves(upper))
    return [clipped.astype(x.dtype)]


def _of_one(name: str, version: int, function: Callable[[np.ndarray], np.ndarray]) -> Operator:
    return Operator(name, version, pointwise=True, infer=infer_same, evaluate=elementwise(function))


def _with_parameters(name: str, version: int, function: Callable[..., np.ndarray]) -> Operator:
    return Operator(name, version, pointwise=True, infer=infer_same, evaluate=elementwise_with_node(function))


ROWS = (
    _of_one("Relu", 7, lambda x: np.maximum(x, 0)),
    _of_one("Sigmoid", 7, sigmoid),
    _of_one("Tanh", 7, np.tanh),
    _of_one("Softplus", 7, softplus),
    _of_one("Softsign", 7, lambda x: x / (1 + np.abs(x))),
    _of_one("HardSwish", 14, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    _of_one("Mish", 18, lambda x: x * np.tanh(softplus(x))),
    _of_one("Erf", 9, erf),
    _with_parameters("LeakyRelu", 7, _leaky_relu),
    _with_parameters("HardSigmoid", 7, _hard_sigmoid),
    _with_parameters("Elu", 7, _elu),
    _with_parameters("Selu", 7, _selu),
    _with_parameters("Celu", 12, _celu),
    _with_parameters("ThresholdedRelu", 10, _thresholded_relu),
    _with_parameters("Shrink", 9, _shrink),
    _with_parameters("Swish", 24, _swish),
    _with_parameters("Gelu", 20, _gelu),
    Operator("PRelu", 9, pointwise=True, infer=_infer_prelu, evaluate=elementwise(_prelu)),
    Operator("Clip", 11, pointwise=True, convert=_convert_clip, infer=_infer_clip, evaluate=_evaluate_clip),
)
