"""The named predicates of where-clauses: each says why it does not hold, or nothing.

`patternlang.vocabulary` says what they take.  A check gets the names that are bound and
returns the name at fault with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from autofusion.fusion.attention_predicates import ATTENTION_CHECKS
from autofusion.fusion.binding import Binding
from autofusion.fusion.checks import Check, Outcome, find_value
from autofusion.fusion.fold_predicates import FOLD_CHECKS
from autofusion.fusion.head_predicates import HEAD_CHECKS
from autofusion.fusion.norm_predicates import NORM_CHECKS
from autofusion.fusion.product_predicates import PRODUCT_CHECKS
from autofusion.fusion.reasons import Code, Reason, shape_unknown, spell_shape
from autofusion.fusion.scope import Scope
from autofusion.ir import DType


def _check_one_float_type(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    wanted: DType | None = None
    for name in names:
        value = find_value(scope, binding, name)
        got = "unknown" if value.dtype is None else value.dtype.value
        if value.dtype is None or not value.dtype.is_float:
            detail = f"{value.name!r} has element type {got}, a floating type was expected"
            return name, Reason(Code.DTYPE, (name, got, "float"), detail, value=value.name)
        wanted = wanted or value.dtype
        if value.dtype is not wanted:
            detail = f"{value.name!r} has element type {got}, the others have {wanted.value}"
            return name, Reason(Code.DTYPE, (name, got, wanted.value), detail, value=value.name)
    return None


def _check_same_shape(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    one, other = names
    left, right = find_value(scope, binding, one), find_value(scope, binding, other)
    for name, value in ((one, left), (other, right)):
        if value.shape is None:
            return name, shape_unknown(name, value.name)
    assert left.shape is not None
    assert right.shape is not None
    if left.shape == right.shape:
        return None
    axes = range(max(len(left.shape), len(right.shape)))
    axis = next((i for i in axes if left.shape[i : i + 1] != right.shape[i : i + 1]), 0)
    got, want = spell_shape(left.shape), spell_shape(right.shape)
    detail = f"{left.name!r} has shape {got}, {right.name!r} has {want}; they must be equal"
    return one, Reason(Code.BROADCAST, (str(axis), got, want), detail, value=left.name)


def _check_broadcasts(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    one, other = names
    left, right = find_value(scope, binding, one), find_value(scope, binding, other)
    for name, value in ((one, left), (other, right)):
        if value.shape is None:
            return name, shape_unknown(name, value.name)
    assert left.shape is not None
    assert right.shape is not None
    got, want = spell_shape(left.shape), spell_shape(right.shape)
    if len(left.shape) > len(right.shape):
        detail = f"{left.name!r} of shape {got} would raise the rank of {right.name!r} of shape {want}"
        return one, Reason(Code.BROADCAST, ("rank", got, want), detail, value=left.name)
    offset = len(right.shape) - len(left.shape)
    for axis, extent in enumerate(left.shape):
        if extent not in (1, right.shape[axis + offset]):
            detail = f"{left.name!r} of shape {got} would widen {right.name!r} of shape {want} on axis {axis + offset}"
            return one, Reason(Code.BROADCAST, (str(axis + offset), got, want), detail, value=left.name)
    return None


def _check_along_last_axis(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    one = names[0]
    outcome = _check_broadcasts(scope, binding, names)
    if outcome is not None:
        return outcome
    vector = find_value(scope, binding, one)
    assert vector.shape is not None
    for axis, extent in enumerate(vector.shape[:-1]):
        if extent != 1:
            got = spell_shape(vector.shape)
            detail = f"{vector.name!r} of shape {got} runs along axis {axis - len(vector.shape)} too, not only the last"
            return one, Reason(Code.AXIS, (str(axis - len(vector.shape)), "-1"), detail, value=vector.name)
    return None


def _check_swaps_last_two(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    node = binding.node(names[0])
    assert node is not None
    value = scope.value(node.input(0))
    if value.rank is None:
        return names[0], shape_unknown(names[0], value.name)
    axes = list(range(value.rank))
    perm = list(cast(tuple[int, ...], node.attributes.get("perm", tuple(reversed(axes)))))
    if value.rank >= 2 and perm == [*axes[:-2], axes[-1], axes[-2]]:
        return None
    want = str([*axes[:-2], *reversed(axes[-2:])])
    detail = f"{node.name} permutes by {perm}, {want} was expected"
    return names[0], Reason(Code.ATTRIBUTE, ("perm", str(perm), want), detail, node.name)


def _check_per_channel(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    weight = find_value(scope, binding, names[0])
    if weight.shape is None:
        return names[0], shape_unknown(names[0], weight.name)
    for name in names[1:]:
        vector = find_value(scope, binding, name)
        if vector.shape is None:
            return name, shape_unknown(name, vector.name)
        if vector.shape != weight.shape[:1]:
            got, want = spell_shape(vector.shape), spell_shape(weight.shape[:1])
            detail = f"{vector.name!r} has shape {got}, one element for each channel is {want}"
            return name, Reason(Code.BROADCAST, ("0", got, want), detail, value=vector.name)
    return None


def _check_is_inference(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    node = binding.node(names[0])
    assert node is not None
    if node.attributes.get("training_mode", 0) == 0 and len(node.results) == 1:
        return None
    detail = f"{node.name} normalizes with the statistics of the batch"
    return names[0], Reason(Code.TRAINING_MODE, (), detail, node.name, help="export the model for inference")


def _check_reduces_to_channels(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    node = binding.node(names[0])
    assert node is not None
    if node.op.startswith("Global"):
        return None
    value = scope.value(node.input(0))
    if node.op != "ReduceMean":
        value = scope.value(node.outputs[0])
        if value.shape is None:
            return names[0], shape_unknown(names[0], value.name)
        if all(extent == 1 for extent in value.shape[2:]):
            return None
        detail = f"{node.name} leaves {spell_shape(value.shape)}, more than one element a channel"
        return names[0], Reason(Code.BROADCAST, ("2", spell_shape(value.shape), "1"), detail, node.name, value.name)
    axes = scope.constant(node.input(1))
    if value.rank is None:
        return names[0], shape_unknown(names[0], value.name)
    if axes is None:
        detail = f"the axes of {node.name} are no constant"
        return names[0], Reason(Code.NOT_CONSTANT, (node.input(1),), detail, node.name, node.input(1))
    got = sorted({int(axis) % value.rank for axis in axes.reshape(-1)})
    want = list(range(2, value.rank))
    if got == want:
        return None
    detail = f"{node.name} reduces axes {got}, the spatial axes are {want}"
    return names[0], Reason(Code.AXIS, (str(got), str(want)), detail, node.name)


def _check_keeps_channels(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    one, other = names
    flat, pooled = find_value(scope, binding, one), find_value(scope, binding, other)
    for name, value in ((one, flat), (other, pooled)):
        if value.shape is None:
            return name, shape_unknown(name, value.name)
    assert flat.shape is not None
    assert pooled.shape is not None
    if flat.shape == pooled.shape[:2]:
        return None
    got, want = spell_shape(flat.shape), spell_shape(pooled.shape[:2])
    detail = f"{flat.name!r} has shape {got}, batch and channels are {want}"
    return one, Reason(Code.BROADCAST, ("1", got, want), detail, value=flat.name)


CHECKS: Mapping[str, Check] = {
    "one_float_type": _check_one_float_type,
    "same_shape": _check_same_shape,
    "broadcasts": _check_broadcasts,
    "along_last_axis": _check_along_last_axis,
    "swaps_last_two": _check_swaps_last_two,
    "per_channel": _check_per_channel,
    "is_inference": _check_is_inference,
    "reduces_to_channels": _check_reduces_to_channels,
    "keeps_channels": _check_keeps_channels,
    **FOLD_CHECKS,
    **NORM_CHECKS,
    **HEAD_CHECKS,
    **ATTENTION_CHECKS,
    **PRODUCT_CHECKS,
}
