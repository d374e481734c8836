"""Rows of normalizations: by statistics of a batch, an image, a group or the last axes, and the softmax family."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from autofusion.ir import DType, Node, Shape, Value
from autofusion.ops.conversion import companion, int64_constant, keep_opaque, normalize_axis, with_attributes, without
from autofusion.ops.element_types import DTYPES
from autofusion.ops.faults import SHAPES_CONTRADICT, WRONG_RANK, describe, fault
from autofusion.ops.operands import integer, integers, number, require_rank, resolve_axis, result, shape_of
from autofusion.ops.pointwise import infer_same
from autofusion.ops.precision import elementwise_with_node, optional, required, widen_halves
from autofusion.ops.table import Evaluate, Operator, Scope


def _convert_batch(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Before opset 14 naming results beyond the first meant training; opset 9 dropped `spatial`."""
    if version >= 14:
        return [node]
    if node.attributes.get("spatial", 1) != 1:
        return keep_opaque(node)
    training = any(node.outputs[1:])
    if any(node.outputs[3:]):
        return keep_opaque(node)
    attributes = {**without(node.attributes, "spatial"), "training_mode": int(training)}
    outputs = node.outputs[:3] if training else node.outputs[:1]
    return [replace(node, outputs=outputs, attributes=attributes)]


def _infer_batch(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    require_rank(node, x.name, scope, 1)
    channels = None if x.shape is None else x.shape[1] if len(x.shape) > 1 else 1
    for name in node.inputs[1:]:
        shape = scope.value(name).shape
        if shape is None or channels is None:
            continue
        if len(shape) != 1 or (shape[0] != channels and isinstance(shape[0], int) and isinstance(channels, int)):
            problem = f"input {describe(scope.value(name))} must have one element per channel of {describe(x)}"
            raise fault(SHAPES_CONTRADICT, node, problem)
    return [result(x.shape), *(result(shape_of(node, index, scope)) for index in (3, 4))]


def _evaluate_batch(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, *parameters = (required(operands, index) for index in range(5))
    wide = widen_halves(x)
    form = (-1,) if x.ndim < 2 else (1, -1, *[1] * (x.ndim - 2))
    scale, shift, mean, variance = (widen_halves(array) for array in parameters)
    results: list[np.ndarray] = []
    if integer(node, "training_mode"):
        axes = tuple(axis for axis in range(x.ndim) if axis != 1)
        momentum = number(node, "momentum", 0.9)
        seen = wide.mean(axes), wide.var(axes)
        for array, old, new in zip(parameters[2:], (mean, variance), seen, strict=True):
            results.append((old * momentum + new * (1 - momentum)).astype(array.dtype))
        mean, variance = seen
    factor = scale / np.sqrt(variance + number(node, "epsilon", 1e-5))
    y = (wide - mean.reshape(form)) * factor.reshape(form) + shift.reshape(form)
    return [y.astype(x.dtype, copy=False), *results][: len(node.outputs)]


def _infer_channels(node: Node, scope: Scope) -> Sequence[Value]:
    """An image and, per channel, a scale and a shift."""
    x = scope.value(node.input(0))
    require_rank(node, x.name, scope, 2)
    for name in node.inputs[1:]:
        shape = scope.value(name).shape
        if shape is None or x.shape is None:
            continue
        wrong = isinstance(shape[0], int) and isinstance(x.shape[1], int) and shape[0] != x.shape[1] if shape else True
        if len(shape) != 1 or wrong:
            problem = f"input {describe(scope.value(name))} must have one element per channel of {describe(x)}"
            raise fault(SHAPES_CONTRADICT, node, problem)
    return [result(x.shape)]


def _evaluate_instance(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, scale, shift = (required(operands, index) for index in range(3))
    return [_normalize_groups(x, scale, shift, x.shape[1], number(node, "epsilon", 1e-5))]


def _evaluate_group(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, scale, shift = (required(operands, index) for index in range(3))
    return [_normalize_groups(x, scale, shift, integer(node, "num_groups"), number(node, "epsilon", 1e-5))]


def _normalize_groups(x: np.ndarray, scale: np.ndarray, shift: np.ndarray, groups: int, epsilon: float) -> np.ndarray:
    wide = widen_halves(x)
    rows = wide.reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    centred = rows - rows.mean(2, keepdims=True)
    normal = (centred / np.sqrt(np.square(centred).mean(2, keepdims=True) + epsilon)).reshape(x.shape)
    form = (1, -1, *[1] * (x.ndim - 2))
    return (normal * widen_halves(scale).reshape(form) + widen_halves(shift).reshape(form)).astype(x.dtype)


def _convert_group(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Before opset 21 scale and shift had one element per group."""
    if version >= 21:
        return [node]
    shape = shape_of(node, 0, scope)
    arrays = [scope.constant(name) for name in node.inputs[1:]]
    groups = integer(node, "num_groups")
    if shape is None or len(shape) < 2 or not isinstance(shape[1], int) or groups < 1 or shape[1] % groups:
        return keep_opaque(node)
    names: list[str] = []
    for array in arrays:
        if array is None:
            return keep_opaque(node)
        names.append(scope.define_constant(f"{node.name}_channels", np.repeat(array, shape[1] // groups)))
    return [replace(node, inputs=(node.inputs[0], *names))]


def _infer_last_axes(node: Node, scope: Scope) -> Sequence[Value]:
    """The result, and for LayerNormalization the statistics, which have extent 1 on the normalized axes."""
    x = scope.value(node.input(0))
    stash = DTYPES.get(integer(node, "stash_type", 1), DType.FLOAT)
    if x.shape is None:
        return [result(), result(dtype=stash), result(dtype=stash)]
    axis = resolve_axis(node, integer(node, "axis", -1), len(x.shape))
    for name in node.inputs[1:]:
        _check_scale(node, x, scope.value(name), name)
    statistics: Shape = (*x.shape[:axis], *[1] * (len(x.shape) - axis))
    return [result(x.shape), result(statistics, stash), result(statistics, stash)]


def _check_scale(node: Node, x: Value, scale: Value, name: str) -> None:
    if not name or scale.shape is None or x.shape is None:
        return
    if len(scale.shape) > len(x.shape):
        raise fault(WRONG_RANK, node, f"input {describe(scale)} has more axes than {describe(x)}")
    for extent, target in zip(reversed(scale.shape), reversed(x.shape), strict=False):
        if isinstance(extent, int) and isinstance(target, int) and extent not in (1, target):
            raise fault(SHAPES_CONTRADICT, node, f"input {describe(scale)} cannot be broadcast to {describe(x)}")


def _evaluate_layer(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, scale, shift = required(operands, 0), required(operands, 1), optional(operands, 2)
    wide = widen_halves(x)
    axes = tuple(range(integer(node, "axis", -1) % x.ndim, x.ndim))
    mean = wide.mean(axes, keepdims=True)
    centred = wide - mean
    inverse = 1 / np.sqrt(np.square(centred).mean(axes, keepdims=True) + number(node, "epsilon", 1e-5))
    y = centred * inverse * widen_halves(scale)
    if shift is not None:
        y = y + widen_halves(shift)
    stash = DTYPES.get(integer(node, "stash_type", 1), DType.FLOAT).numpy
    return [y.astype(x.dtype, copy=False), mean.astype(stash), inverse.astype(stash)][: len(node.outputs)]


def _evaluate_root_mean_square(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, scale = required(operands, 0), required(operands, 1)
    wide = widen_halves(x)
    axes = tuple(range(integer(node, "axis", -1) % x.ndim, x.ndim))
    mean_square = np.square(wide).mean(axes, keepdims=True)
    y = wide / np.sqrt(mean_square + number(node, "epsilon", 1e-5)) * widen_halves(scale)
    return [y.astype(x.dtype, copy=False)]


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """exp(x) over its sum along `axis`; a row of minus infinities gives NaN, as the formula says."""
    grown = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return grown / grown.sum(axis, keepdims=True)


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """The logarithm of `softmax`, without underflow."""
    shifted = x - x.max(axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def hardmax(x: np.ndarray, axis: int) -> np.ndarray:
    """1 at the first greatest element along `axis`, 0 elsewhere."""
    marked = np.zeros_like(x)
    np.put_along_axis(marked, np.expand_dims(np.argmax(x, axis), axis), 1, axis)
    return marked


def _evaluate_along_axis(function: Callable[[np.ndarray, int], np.ndarray]) -> Evaluate:
    def evaluate(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        x = required(operands, 0)
        return [function(widen_halves(x), integer(node, "axis", -1)).astype(x.dtype, copy=False)]

    return evaluate


def _infer_along_axis(node: Node, scope: Scope) -> Sequence[Value]:
    shape = shape_of(node, 0, scope)
    if shape is not None:
        resolve_axis(node, integer(node, "axis", -1), len(shape))
    return infer_same(node, scope)


def _convert_softmax(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Before opset 13 all axes from `axis` on were flattened into one."""
    if version >= 13:
        return [normalize_axis(node, scope)]
    x = node.input(0)
    shape = shape_of(node, 0, scope)
    if shape is None:
        return keep_opaque(node)
    axis = resolve_axis(node, integer(node, "axis", 1), len(shape))
    if axis == len(shape) - 1:
        return [with_attributes(node, axis=axis)]
    matrix, rows = scope.fresh(f"{x}_matrix"), scope.fresh(f"{node.outputs[0]}_rows")
    flatten = companion(node, "Flatten", [x], [matrix], scope, {"axis": axis})
    inner = replace(node, inputs=(matrix,), outputs=(rows,), attributes={**node.attributes, "axis": 1})
    extents = [extent for extent in shape if isinstance(extent, int)]
    if len(extents) == len(shape) and 0 not in extents:
        target = int64_constant(f"{node.name}_shape", extents, scope)
        return [flatten, inner, companion(node, "Reshape", [rows, target], node.outputs, scope)]
    target = scope.fresh(f"{x}_shape")
    measure = companion(node, "Shape", [x], [target], scope)
    restore = companion(node, "Reshape", [rows, target], node.outputs, scope, {"allowzero": 1})
    return [flatten, inner, measure, restore]


def _softmax_row(name: str, function: Callable[[np.ndarray, int], np.ndarray]) -> Operator:
    return Operator(
        name, 13, convert=_convert_softmax, infer=_infer_along_axis, evaluate=_evaluate_along_axis(function)
    )


def _evaluate_local_response(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    """Each element over a power of the mean square of its neighbours in the channels."""
    x = required(operands, 0)
    wide = widen_halves(x)
    size = integer(node, "size")
    before = (size - 1) // 2
    borders = [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)]
    squares = np.lib.stride_tricks.sliding_window_view(np.pad(np.square(wide), borders), size, 1).sum(-1)
    base = number(node, "bias", 1.0) + number(node, "alpha", 1e-4) / size * squares
    return [(wide / base ** number(node, "beta", 0.75)).astype(x.dtype, copy=False)]


def _norm(node: Node, x: np.ndarray) -> np.ndarray:
    axis, order = integer(node, "axis", -1), integer(node, "p", 2)
    size = (np.abs(x) ** order).sum(axis, keepdims=True) ** (1 / order)
    return np.where(size == 0, 0, x / size)


def _standardize(node: Node, x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(integers(node, "axes"), keepdims=True)
    return centred / (np.sqrt(np.square(centred).mean(integers(node, "axes"), keepdims=True)) + 1e-9)


def _convert_axis(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    return [normalize_axis(node, scope)]


ROWS = (
    Operator("BatchNormalization", 14, convert=_convert_batch, infer=_infer_batch, evaluate=_evaluate_batch),
    Operator("InstanceNormalization", 7, infer=_infer_channels, evaluate=_evaluate_instance),
    Operator("GroupNormalization", 21, convert=_convert_group, infer=_infer_channels, evaluate=_evaluate_group),
    Operator("LayerNormalization", 17, convert=_convert_axis, infer=_infer_last_axes, evaluate=_evaluate_layer),
    Operator(
        "RMSNormalization", 23, convert=_convert_axis, infer=_infer_last_axes, evaluate=_evaluate_root_mean_square
    ),
    _softmax_row("Softmax", softmax),
    _softmax_row("LogSoftmax", log_softmax),
    _softmax_row("Hardmax", hardmax),
    Operator("LRN", 7, infer=infer_same, evaluate=_evaluate_local_response),
    Operator(
        "LpNormalization",
        7,
        convert=_convert_axis,
        infer=_infer_along_axis,
        evaluate=elementwise_with_node(_norm),
    ),
    Operator("MeanVarianceNormalization", 9, infer=infer_same, evaluate=elementwise_with_node(_standardize)),
)
