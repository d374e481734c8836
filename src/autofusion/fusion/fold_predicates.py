"""The predicates that folds into convolutions and products ask: padding, channels, range, gates.

Contracts as in `fusion.predicates`, which lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from autofusion.fusion.binding import Binding
from autofusion.fusion.checks import Check, Outcome, find_node, find_value
from autofusion.fusion.reasons import Code, Reason, shape_unknown, spell_shape
from autofusion.fusion.scope import Scope
from autofusion.ir import Node


def _check_along_axis_one(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    one, other = names
    vector, result = find_value(scope, binding, one), find_value(scope, binding, other)
    for name, value in ((one, vector), (other, result)):
        if value.shape is None:
            return name, shape_unknown(name, value.name)
    assert vector.shape is not None
    assert result.shape is not None
    got, want = spell_shape(vector.shape), spell_shape(result.shape)
    offset = len(result.shape) - len(vector.shape)
    if offset < 0:
        detail = f"{vector.name!r} of shape {got} would raise the rank of {result.name!r} of shape {want}"
        return one, Reason(Code.BROADCAST, ("rank", got, want), detail, value=vector.name)
    for axis, extent in enumerate(vector.shape, offset):
        if extent == 1:
            continue
        if extent != result.shape[axis]:
            detail = f"{vector.name!r} of shape {got} would widen {result.name!r} of shape {want} on axis {axis}"
            return one, Reason(Code.BROADCAST, (str(axis), got, want), detail, value=vector.name)
        if axis != 1:
            detail = f"{vector.name!r} of shape {got} runs along axis {axis} of {result.name!r}, channels are axis 1"
            return one, Reason(Code.AXIS, (str(axis), "1"), detail, value=vector.name)
    return None


def _check_per_column(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    matrix = find_value(scope, binding, names[0])
    if matrix.shape is None:
        return names[0], shape_unknown(names[0], matrix.name)
    for name in names[1:]:
        if len(matrix.shape) != 2:
            detail = f"{matrix.name!r} has shape {spell_shape(matrix.shape)}; its columns are channels at rank 2 only"
            reason = Reason(Code.KERNEL_LIMIT, (f"{names[0]}.rank", str(len(matrix.shape)), "2"), detail)
            return names[0], reason
        vector = find_value(scope, binding, name)
        if vector.shape is None:
            return name, shape_unknown(name, vector.name)
        if vector.shape != matrix.shape[1:]:
            got, want = spell_shape(vector.shape), spell_shape(matrix.shape[1:])
            detail = f"{vector.name!r} has shape {got}, one element for each column is {want}"
            return name, Reason(Code.BROADCAST, ("0", got, want), detail, value=vector.name)
    return None


def _check_per_filter(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The weight of a ConvTranspose is [inputs, outputs / group, ...]."""
    node = find_node(binding, names[0])
    weight = scope.value(node.input(1))
    if weight.shape is None:
        return names[0], shape_unknown(names[0], weight.name)
    channels = weight.shape[1] * cast(int, node.attributes.get("group", 1))
    for name in names[1:]:
        vector = find_value(scope, binding, name)
        if vector.shape is None:
            return name, shape_unknown(name, vector.name)
        if vector.shape != (channels,):
            got, want = spell_shape(vector.shape), spell_shape((channels,))
            detail = f"{vector.name!r} has shape {got}, one element for each filter is {want}"
            return name, Reason(Code.BROADCAST, ("0", got, want), detail, value=vector.name)
    return None


def _check_folds_in_range(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """Fold in double as `w * gamma / sqrt(var + epsilon)` and `(b - mean) * that + beta`, and look for overflow."""
    product, norm = binding.node(names[0]), binding.node(names[1])
    if product is None or norm is None:
        return None
    weight = scope.constant(product.input(1))
    vectors = [scope.constant(name) for name in norm.inputs[1:5]]
    bias = scope.constant(product.input(2))
    if weight is None or any(vector is None for vector in vectors):
        return None
    gamma, beta, mean, var = (np.asarray(vector, np.float64) for vector in vectors)
    epsilon = norm.attributes.get("epsilon", 1e-5)
    assert isinstance(epsilon, float)
    factors = [cast(float, product.attributes.get(name, 1.0)) for name in ("alpha", "beta")]
    with np.errstate(all="ignore"):
        factor = gamma / np.sqrt(var + epsilon)
        offset = np.asarray(0.0 if bias is None else bias, np.float64) * factors[1]
        shift = ((offset - mean) * factor + beta).astype(weight.dtype)
        peak = np.asarray(max(abs(float(weight.max(initial=0))), abs(float(weight.min(initial=0)))))
        folded = (peak * np.abs(factor)).astype(weight.dtype)
        if not np.isfinite(folded).all():
            folded = (_channel_peaks(product, weight) * np.abs(factor)).astype(weight.dtype)
    broken = np.flatnonzero(~(np.isfinite(folded) & np.isfinite(shift)))
    if not broken.size:
        return None
    channel = int(broken[0])
    detail = f"folding {norm.name} into {product.name} leaves the range of {weight.dtype} in channel {channel}"
    return names[1], Reason(Code.CONSTANT_VALUE, (f"channel {channel}", "finite"), detail, norm.name)


def _channel_peaks(product: Node, weight: np.ndarray) -> np.ndarray:
    """The largest magnitude in the part of a weight that makes each channel of the result."""
    magnitude = np.abs(weight.astype(np.float64))
    match product.op:
        case "ConvTranspose":
            group = cast(int, product.attributes.get("group", 1))
            parts = magnitude.reshape(group, weight.shape[0] // group, weight.shape[1], -1)
            return parts.max(axis=(1, 3), initial=0.0).reshape(-1)
        case "MatMul" | "Gemm":
            is_turned = bool(product.attributes.get("transB", 0))
            return magnitude.max(axis=1 if is_turned else 0, initial=0.0)
        case _:
            return magnitude.reshape(weight.shape[0], -1).max(axis=1, initial=0.0)


def _check_pads_with_zeros(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The Pad of `names[0]` can be the padding of the convolution or pool of `names[1]`."""
    pad, reader = find_node(binding, names[0]), find_node(binding, names[1])
    mode, automatic = str(pad.attributes.get("mode", "constant")), str(reader.attributes.get("auto_pad", "NOTSET"))
    if mode != "constant":
        detail = f"{pad.name} pads by {mode}, only constant padding moves into {reader.name}"
        return names[0], Reason(Code.ATTRIBUTE, ("mode", mode, "constant"), detail, pad.name)
    if automatic not in ("NOTSET", "VALID", ""):
        detail = f"{reader.name} pads by {automatic}, which depends on the extents that it reads"
        return names[1], Reason(Code.ATTRIBUTE, ("auto_pad", automatic, "NOTSET"), detail, reader.name)
    for place, name in enumerate(pad.inputs[1:], 1):
        if name and scope.constant(name) is None:
            detail = f"operand {name!r} of {pad.name} is no constant"
            return names[0], Reason(Code.NOT_CONSTANT, (("", "pads", "value", "axes")[place],), detail, pad.name, name)
    value = scope.constant(pad.input(2))
    if value is not None and (value.dtype.kind == "O" or value.reshape(-1)[0] != 0):
        got = str(value.reshape(-1)[0])
        return names[0], Reason(Code.CONSTANT_VALUE, (got, "0"), f"{pad.name} pads with {got}, not zero", pad.name)
    return _check_padded_axes(scope, names[0], pad)


def _check_padded_axes(scope: Scope, name: str, pad: Node) -> Outcome:
    rank = scope.value(pad.input(0)).rank
    if rank is None:
        return name, shape_unknown(name, pad.input(0))
    pads, axes = scope.constant(pad.input(1)), scope.constant(pad.input(3))
    assert pads is not None
    padded = list(range(rank)) if axes is None else [int(axis) % rank for axis in axes.reshape(-1)]
    for axis, cells in zip((*padded, *padded), pads.reshape(-1).tolist(), strict=True):
        if cells < 0:
            detail = f"{pad.name} crops axis {axis} by {-cells}"
            return name, Reason(Code.CONSTANT_VALUE, (str(cells), ">= 0"), detail, pad.name)
        if cells and axis < 2:
            return name, Reason(Code.AXIS, (str(axis), ">= 2"), f"{pad.name} pads axis {axis}, no image axis", pad.name)
    return None


def _check_counts_padding(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """Zeros that are part of the image count in an average, so padded cells must count too."""
    pool = find_node(binding, names[0])
    counts, pads = pool.attributes.get("count_include_pad", 0), cast(tuple[int, ...], pool.attributes.get("pads", ()))
    if pool.attributes.get("ceil_mode", 0):
        detail = f"{pool.name} rounds its extents up, so windows may end past the padding"
        return names[0], Reason(Code.ATTRIBUTE, ("ceil_mode", "1", "0"), detail, pool.name)
    if not counts and any(pads):
        detail = f"{pool.name} leaves its own padding out of the average, that of the Pad counts"
        return names[0], Reason(Code.ATTRIBUTE, ("count_include_pad", "0", "1"), detail, pool.name)
    return None


def _check_is_gate(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    node = find_node(binding, names[0])
    last = node
    while last.body is not None:
        last = last.body.topological()[-1]
    if last.op in ("Sigmoid", "HardSigmoid"):
        return None
    detail = f"{node.name} ends in {last.op}, a gate in Sigmoid or HardSigmoid"
    return names[0], Reason(Code.OPERATOR, (last.op, "Sigmoid | HardSigmoid"), detail, node.name)


def _check_shuffles_channels(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """`[N, C, ...]` read as `[N, groups, C / groups, ...]`, and in the end as the first shape again."""
    split, joined = (find_value(scope, binding, name) for name in names)
    source = scope.value(find_node(binding, names[0]).input(0))
    for name, value in zip((names[0], *names), (source, split, joined), strict=True):
        if value.shape is None:
            return name, shape_unknown(name, value.name)
    assert source.shape is not None
    assert split.shape is not None
    got, want = spell_shape(split.shape), spell_shape(source.shape)
    if len(source.shape) < 2 or len(split.shape) != len(source.shape) + 1:
        detail = f"{split.name!r} of shape {got} does not split the channels of {want}"
        return names[0], Reason(Code.AXIS, (got, want), detail, value=split.name)
    is_split = (split.shape[0], *split.shape[3:]) == (source.shape[0], *source.shape[2:])
    if not is_split or split.shape[1] * split.shape[2] != source.shape[1]:
        detail = f"{split.name!r} of shape {got} splits another axis of {want} than the channels"
        return names[0], Reason(Code.AXIS, (got, want), detail, value=split.name)
    if joined.shape == source.shape:
        return None
    got = spell_shape(joined.shape or ())
    detail = f"{joined.name!r} has shape {got}, that of the image is {want}"
    return names[1], Reason(Code.AXIS, (got, want), detail, value=joined.name)


FOLD_CHECKS: Mapping[str, Check] = {
    "per_column": _check_per_column,
    "per_filter": _check_per_filter,
    "along_axis_one": _check_along_axis_one,
    "folds_in_range": _check_folds_in_range,
    "pads_with_zeros": _check_pads_with_zeros,
    "counts_padding": _check_counts_padding,
    "is_gate": _check_is_gate,
    "shuffles_channels": _check_shuffles_channels,
}
