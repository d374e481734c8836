"""The predicates that normal forms ask: axes of reductions, blocks that are normalized, casts that widen.

Contracts as in `fusion.predicates`, which lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from autofusion.fusion.binding import Binding
from autofusion.fusion.checks import Check, Outcome, find_node, find_value
from autofusion.fusion.reasons import Code, Reason, shape_unknown, spell_shape
from autofusion.fusion.scope import Scope
from autofusion.ir import DType, Node, Shape

_WIDTH = {DType.FLOAT16: 16, DType.BFLOAT16: 16, DType.FLOAT: 32, DType.DOUBLE: 64}


def _check_result_like(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    name = names[0]
    root = binding.root
    value, result = find_value(scope, binding, name), scope.value(root.node.outputs[0])
    if value.shape is None:
        return name, shape_unknown(name, value.name)
    if result.shape is None:
        return root.statement.name, shape_unknown(root.statement.name, result.name)
    if value.dtype is not result.dtype:
        got, want = (each.dtype.value if each.dtype else "unknown" for each in (result, value))
        detail = f"the result {result.name!r} has element type {got}, {value.name!r} has {want}"
        reason = Reason(Code.DTYPE, (root.statement.name, got, want), detail, root.node.name, result.name)
        return root.statement.name, reason
    if value.shape == result.shape:
        return None
    got, want = spell_shape(result.shape), spell_shape(value.shape)
    detail = f"the result {result.name!r} has shape {got}, {value.name!r} has {want}; they must be equal"
    reason = Reason(Code.BROADCAST, ("result", got, want), detail, root.node.name, result.name)
    return root.statement.name, reason


def _reduced_axes(scope: Scope, name: str, node: Node) -> list[int] | Reason:
    """The axes that a reduction takes, counted from the front, in its own order."""
    value = scope.value(node.input(0))
    axes = scope.constant(node.input(1)) if node.input(1) else None
    if value.rank is None:
        return shape_unknown(name, value.name)
    if axes is None:
        detail = f"the axes of {node.name} are no constant"
        return Reason(Code.NOT_CONSTANT, (f"{name}.axes",), detail, node.name, node.input(1))
    return [int(axis) % value.rank for axis in axes.reshape(-1)]


def _check_over_last_axes(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    for name in names:
        node = find_node(binding, name)
        got = _reduced_axes(scope, name, node)
        if isinstance(got, Reason):
            return name, got
        rank = scope.value(node.input(0)).rank or 0
        first = _reduced_axes(scope, names[0], find_node(binding, names[0]))
        want = list(range(rank - max(len(got), 1), rank)) if name == names[0] else first
        if got != want:
            detail = f"{node.name} reduces axes {got}, {want} was expected"
            return name, Reason(Code.AXIS, (str(got), str(want)), detail, node.name)
    return None


def _check_over_one_axis(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    wanted: list[int] | None = None
    for name in names:
        node = find_node(binding, name)
        got = _reduced_axes(scope, name, node)
        if isinstance(got, Reason):
            return name, got
        if len(got) != 1 or (wanted is not None and got != wanted):
            want = str(wanted) if wanted is not None else "one axis"
            detail = f"{node.name} reduces axes {got}, {want} was expected"
            return name, Reason(Code.AXIS, (str(got), want), detail, node.name)
        wanted = got
    return None


def _check_over_channels(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    for name in names:
        node = find_node(binding, name)
        got = _reduced_axes(scope, name, node)
        if isinstance(got, Reason):
            return name, got
        if got != [1]:
            detail = f"{node.name} reduces axes {got}, the channels, axis 1, were expected"
            return name, Reason(Code.AXIS, (str(got), "[1]"), detail, node.name)
    return None


def _check_spans(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The extents of each value are those that the reduction reduces."""
    node = find_node(binding, names[0])
    source = scope.value(node.input(0))
    axes = _reduced_axes(scope, names[0], node)
    if isinstance(axes, Reason):
        return names[0], axes
    assert source.shape is not None
    block = tuple(source.shape[axis] for axis in axes)
    for name in names[1:]:
        value = find_value(scope, binding, name)
        if value.shape is None:
            return name, shape_unknown(name, value.name)
        if value.shape != block:
            got, want = spell_shape(value.shape), spell_shape(block)
            detail = f"{value.name!r} has shape {got}, the normalized block has {want}"
            return name, Reason(Code.BROADCAST, (name, got, want), detail, value=value.name)
    return None


def _check_widens(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    for name in names:
        node = find_node(binding, name)
        source, result = scope.value(node.input(0)), scope.value(node.outputs[0])
        before, after = (_WIDTH.get(value.dtype, 0) if value.dtype else 0 for value in (source, result))
        if not 0 < before < after:
            got, want = (value.dtype.value if value.dtype else "unknown" for value in (source, result))
            detail = f"{node.name} casts {got} to {want}, a wider floating type was expected"
            return name, Reason(Code.DTYPE, (name, want, f"wider than {got}"), detail, node.name)
    return None


def _check_filled(number: float) -> Callable[[Scope, Binding, tuple[str, ...]], Outcome]:
    def check(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
        for name in names:
            value = find_value(scope, binding, name)
            array = scope.constant(value.name)
            if array is None:
                return name, Reason(Code.NOT_CONSTANT, (name,), f"{value.name!r} is no constant", value=value.name)
            wrong = array[array != np.asarray(number, array.dtype)]
            if wrong.size:
                got, want = f"{wrong.reshape(-1)[0]:g}", f"{number:g}"
                detail = f"{value.name!r} holds {got}, every element must be {want}"
                return name, Reason(Code.CONSTANT_VALUE, (got, want), detail, value=value.name)
        return None

    return check


def _check_along_channels(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """Each value after the first holds one element for each channel of the first and broadcasts along axis 1."""
    image = find_value(scope, binding, names[0])
    if image.shape is None:
        return names[0], shape_unknown(names[0], image.name)
    rank = len(image.shape)
    wants = [tuple(extent if axis == 1 else 1 for axis, extent in enumerate(image.shape))]
    wants.append(wants[0][1:])
    for name in names[1:]:
        value = find_value(scope, binding, name)
        if value.shape is None:
            return name, shape_unknown(name, value.name)
        if rank < 2 or value.shape not in wants:
            got, want = spell_shape(value.shape), spell_shape(wants[1])
            detail = f"{value.name!r} has shape {got}, one element for each channel is {want}"
            return name, Reason(Code.BROADCAST, (name, got, want), detail, value=value.name)
    return None


def _holds_whole_channels(grouped: Shape, image: Shape) -> bool:
    if len(grouped) < 3 or len(image) < 2 or grouped[:1] != image[:1]:
        return False
    groups, channels = list(grouped)[1], list(image)[1]
    return isinstance(groups, int) and isinstance(channels, int) and groups > 0 and channels % groups == 0


def _check_groups_channels(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The first value is the second with its channels in groups: [batch, groups, rest], whole channels in each."""
    name = names[0]
    grouped, image = find_value(scope, binding, name), find_value(scope, binding, names[1])
    for each, value in ((name, grouped), (names[1], image)):
        if value.shape is None:
            return each, shape_unknown(each, value.name)
    assert grouped.shape is not None
    assert image.shape is not None
    if _holds_whole_channels(grouped.shape, image.shape):
        return None
    got, want = spell_shape(grouped.shape), spell_shape(image.shape)
    detail = f"{grouped.name!r} of shape {got} does not hold whole channels of {image.name!r} of shape {want}"
    return name, Reason(Code.KERNEL_LIMIT, ("groups", got, want), detail, value=grouped.name)


NORM_CHECKS: Mapping[str, Check] = {
    "result_like": _check_result_like,
    "over_last_axes": _check_over_last_axes,
    "over_one_axis": _check_over_one_axis,
    "over_channels": _check_over_channels,
    "spans": _check_spans,
    "widens": _check_widens,
    "is_one": _check_filled(1.0),
    "is_zero": _check_filled(0.0),
    "along_channels": _check_along_channels,
    "groups_channels": _check_groups_channels,
}
