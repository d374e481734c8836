"""What a kernel call can take in from the node that reads its result: folds, residual, bias, activation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np

from autofusion.ir import Node, Value
from autofusion.lowering.activations import find_epilogue
from autofusion.lowering.constants import fits, read_channels, read_float, read_integer, read_scalar, read_vector
from autofusion.lowering.folds import batch_normalization as normalizations
from autofusion.lowering.folds import scale as scales
from autofusion.lowering.folds import shift as shifts
from autofusion.lowering.records import NO_EPILOGUE, Call, Product
from autofusion.lowering.scope import Scope


def absorb_node(call: Call, node: Node, scope: Scope) -> Call | None:
    """`call` with the work of `node`, the only reader of its result, done as well; None where it cannot."""
    if call.epilogue != NO_EPILOGUE or node.opaque:
        return None
    if node.input(0) == call.result.name and (epilogue := find_epilogue(node, scope)) is not None:
        return call.activated(epilogue, _renamed(call, node), node.origin)
    if call.product is None or node.domain:
        return None
    if node.op == "BatchNormalization":
        return _absorb_normalization(call, node, scope, call.product)
    if node.op in ("Add", "Sub", "Mul", "Div", "Sum") and len(node.inputs) == 2:
        return _absorb_arithmetic(call, node, scope, call.product)
    return None


def read_normalization(node: Node, scope: Scope, channels: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Scale and shift of an inference BatchNormalization with constant parameters, else None."""
    if read_integer(node, "training_mode", 0) or any(node.outputs[1:]):
        return None
    vectors = [read_vector(scope, name, channels) for name in node.inputs[1:5]]
    types = {scope.dtype(name) for name in node.inputs}
    gamma, beta, mean, variance = vectors
    if gamma is None or beta is None or mean is None or variance is None or len(types) != 1:
        return None
    epsilon = read_float(node, "epsilon", 1e-5)
    with np.errstate(all="ignore"):
        return normalizations.normalization_factors(gamma, beta, mean, variance, epsilon)


def _absorb_normalization(call: Call, node: Node, scope: Scope, product: Product) -> Call | None:
    is_second_axis = product.place == len(call.result.shape or ()) - 1
    if node.input(0) != call.result.name or not is_second_axis or not _is_foldable(call, product):
        return None
    factors = read_normalization(node, scope, product.channels)
    if factors is None:
        return None
    with np.errstate(all="ignore"):
        weight, bias = normalizations.fold_batch_normalization(
            _weight(call, product, scope), _bias(call, product, scope), product.axis, *factors
        )
    return _refolded(call, node, replace(product, weight=weight, bias=bias))


def _absorb_arithmetic(call: Call, node: Node, scope: Scope, product: Product) -> Call | None:
    name = call.result.name
    place = node.inputs.index(name)
    other = node.inputs[1 - place]
    if other == name:
        return None
    if node.op in ("Add", "Sum") and scope.constant(other) is None:
        return _absorb_addend(call, node, scope, product, other)
    values = read_channels(scope, other, len(call.result.shape or ()), product.place, product.channels)
    if values is None:
        return _absorb_addend(call, node, scope, product, other) if node.op in ("Add", "Sum") else None
    match node.op, place:
        case "Add" | "Sum", _:
            return _shifted(call, node, scope, product, values)
        case "Sub", 0:
            return _shifted(call, node, scope, product, -values)
        case "Mul", _:
            return _scaled(call, node, scope, product, values, read_scalar(scope, other))
        case "Div", 0:
            scalar = read_scalar(scope, other)
            with np.errstate(all="ignore"):
                return _scaled(call, node, scope, product, 1 / values, None if not scalar else 1 / scalar)
        case _:
            return None


def _absorb_addend(call: Call, node: Node, scope: Scope, product: Product, other: str) -> Call | None:
    """A tensor of the result's own shape is a residual; a variable vector is the bias of a matrix product."""
    x, weight, bias, residual = call.operands
    addend = scope.value(other)
    if residual or addend.dtype != call.result.dtype or addend.shape is None:
        return None
    if addend.shape == call.result.shape:
        return _extended(replace(call, operands=(x, weight, bias, other)), node)
    is_bias = call.kernel == "matmul" and addend.shape == (product.channels,) and not bias and product.bias is None
    if not is_bias:
        return None
    return _extended(replace(call, operands=(x, weight, other, ""), product=replace(product, can_shift=False)), node)


def _shifted(call: Call, node: Node, scope: Scope, product: Product, values: np.ndarray) -> Call | None:
    if not product.can_shift:
        return None
    with np.errstate(all="ignore"):
        bias = shifts.fold_shift(_bias(call, product, scope), values)
    return _refolded(call, node, replace(product, bias=bias))


def _scaled(
    call: Call, node: Node, scope: Scope, product: Product, values: np.ndarray, scalar: float | None
) -> Call | None:
    """A factor goes into a constant weight, or as one number into the scale of a matrix product."""
    if _is_foldable(call, product):
        with np.errstate(all="ignore"):
            weight, bias = scales.fold_scale(
                _weight(call, product, scope), _bias(call, product, scope), product.axis, values
            )
        return _refolded(call, node, replace(product, weight=weight, bias=bias))
    if call.kernel != "matmul" or scalar is None or not product.can_shift or call.operands[3]:
        return None
    bias = _bias(call, product, scope)
    scale = float(cast(float, call.settings["scale"])) * scalar
    if not math.isfinite(scale):
        return None
    scaled = replace(product, bias=None if bias is None else bias * scalar)
    return _refolded(replace(call, settings={**call.settings, "scale": scale}), node, scaled)


def _is_foldable(call: Call, product: Product) -> bool:
    """True where a factor can go into the weight: a residual would need it too."""
    return product.can_scale and product.can_shift and not call.operands[3]


def _weight(call: Call, product: Product, scope: Scope) -> np.ndarray:
    if product.weight is not None:
        return product.weight
    array = scope.constant(call.operands[1])
    if array is None:
        raise ValueError(f"weight {call.operands[1]!r} is no constant")
    return array.astype(np.float64)


def _bias(call: Call, product: Product, scope: Scope) -> np.ndarray | None:
    if product.bias is not None or not call.operands[2]:
        return product.bias
    return read_vector(scope, call.operands[2], product.channels)


def _refolded(call: Call, node: Node, product: Product) -> Call | None:
    """The call after a fold, None where a folded value leaves the range of its type."""
    dtype = call.result.dtype
    if dtype is None or not fits(product.weight, dtype.numpy) or not fits(product.bias, dtype.numpy):
        return None
    return _extended(replace(call, product=product), node)


def _extended(call: Call, node: Node) -> Call:
    return replace(call, result=_renamed(call, node), absorbed=call.absorbed + node.origin)


def _renamed(call: Call, node: Node) -> Value:
    return replace(call.result, name=node.outputs[0], content=None)
