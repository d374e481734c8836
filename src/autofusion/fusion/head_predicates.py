"""The predicates that heads of attention ask: halves and pairs that rotary embedding turns, repeated heads.

Contracts as in `fusion.predicates`, which lists them.
"""

from __future__ import annotations

from collections.abc import Mapping

from autofusion.fusion.binding import Binding
from autofusion.fusion.checks import Check, Outcome, find_node, find_value
from autofusion.fusion.reasons import Code, Reason, shape_unknown, spell_shape
from autofusion.fusion.scope import Scope
from autofusion.ir import Node, Shape
from autofusion.ir.dims import multiply

Places = tuple[int, int, int]
"""Start, end and step of what a Slice takes, counted from the front."""


def _number(scope: Scope, name: str) -> int | None:
    array = scope.constant(name) if name else None
    return int(array.reshape(())) if array is not None and array.size == 1 else None


def _read_cut(scope: Scope, name: str, node: Node) -> Places | Reason:
    """What a Slice takes of the last axis, which must have a known extent."""
    source = scope.value(node.input(0))
    if source.shape is None:
        return shape_unknown(name, source.name)
    width = source.shape[-1]
    bounds = [_number(scope, operand) for operand in node.inputs[1:5]]
    if not isinstance(width, int) or len(bounds) < 3 or any(bound is None for bound in bounds):
        detail = f"{node.name} does not cut the last axis of {source.name!r} at constant places"
        return Reason(Code.NOT_CONSTANT, (name,), detail, node.name, source.name)
    start, end, axis, step = (bound or 0 for bound in (*bounds, 1)[:4])
    if axis % len(source.shape) != len(source.shape) - 1 or step < 1:
        want = len(source.shape) - 1
        detail = f"{node.name} cuts axis {axis} with step {step}, the last axis forwards was expected"
        return Reason(Code.AXIS, (str(axis), str(want)), detail, node.name)
    return (*slice(start, end, step).indices(width),)


def _compare_cut(scope: Scope, name: str, node: Node, want: Places, is_even: bool) -> Reason | None:
    got = _read_cut(scope, name, node)
    if isinstance(got, Reason):
        return got
    if got == want and is_even:
        return None
    shown = (got[:2], want[:2]) if got[2] == want[2] == 1 else (got, want)
    detail = f"{node.name} takes {shown[0]} of the last axis, {shown[1]} was expected"
    return Reason(Code.AXIS, (str(shown[0]), str(shown[1])), detail, node.name)


def _width(scope: Scope, node: Node) -> int:
    shape = scope.value(node.input(0)).shape
    width = shape[-1] if shape else 0
    return width if isinstance(width, int) else 0


def _check_halves(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The slices are the first and the second half of the last axis."""
    for place, name in enumerate(names):
        node = find_node(binding, name)
        width = _width(scope, node)
        want = (0, width // 2, 1) if place == 0 else (width // 2, width, 1)
        reason = _compare_cut(scope, name, node, want, width % 2 == 0)
        if reason is not None:
            return name, reason
    return None


def _check_alternates(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The slices are the elements of even and of odd place of the last axis."""
    for place, name in enumerate(names):
        node = find_node(binding, name)
        width = _width(scope, node)
        reason = _compare_cut(scope, name, node, (place, width, 2), width % 2 == 0)
        if reason is not None:
            return name, reason
    return None


def _check_leads(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The first slice is the beginning of the last axis, the second one the rest."""
    first = _read_cut(scope, names[0], find_node(binding, names[0]))
    if isinstance(first, Reason):
        return names[0], first
    width = _width(scope, find_node(binding, names[0]))
    for name, want in zip(names, ((0, first[1], 1), (first[1], width, 1)), strict=True):
        reason = _compare_cut(scope, name, find_node(binding, name), want, is_even=True)
        if reason is not None:
            return name, reason
    return None


def _check_splits_evenly(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The results of the Split are equal halves of the last axis."""
    name = names[0]
    node = find_node(binding, name)
    widths = [_last_extent(scope, result) for result in node.outputs]
    if len(widths) == 2 and widths[0] is not None and widths[0] == widths[1]:
        return None
    detail = f"{node.name} splits the last axis in {widths}, two equal halves were expected"
    return name, Reason(Code.AXIS, (str(widths), "halves"), detail, node.name)


def _last_extent(scope: Scope, value: str) -> int | None:
    shape = scope.value(value).shape
    width = shape[-1] if shape else None
    return width if isinstance(width, int) else None


def _check_adds_last_axis(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """Each view puts one axis of extent 1 behind the last."""
    for name in names:
        node = find_node(binding, name)
        source, result = scope.value(node.input(0)), scope.value(node.outputs[0])
        for value in (source, result):
            if value.shape is None:
                return name, shape_unknown(name, value.name)
        assert source.shape is not None
        if result.shape != (*source.shape, 1):
            got, want = spell_shape(result.shape or ()), spell_shape((*source.shape, 1))
            detail = f"{node.name} gives shape {got}, {want} was expected"
            return name, Reason(Code.AXIS, (got, want), detail, node.name)
    return None


def _check_pairs_up(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The first value is the second with its last axis read as pairs."""
    pairs, whole = (find_value(scope, binding, name) for name in names)
    for name, value in zip(names, (pairs, whole), strict=True):
        if value.shape is None:
            return name, shape_unknown(name, value.name)
    assert pairs.shape is not None
    assert whole.shape is not None
    width = whole.shape[-1] if whole.shape else 0
    if isinstance(width, int) and width % 2 == 0 and pairs.shape == (*whole.shape[:-1], width // 2, 2):
        return None
    got, want = spell_shape(pairs.shape), spell_shape(whole.shape)
    detail = f"{pairs.name!r} of shape {got} is not {whole.name!r} of shape {want} in pairs"
    return names[0], Reason(Code.KERNEL_LIMIT, ("pairs", got, want), detail, value=pairs.name)


def _check_repeats_heads(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """Every head stands beside its copies: [batch, heads, copies, rows, width] read as [batch, heads * copies, ...]."""
    shapes: list[Shape] = []
    for name in names:
        value = find_value(scope, binding, name)
        if value.shape is None:
            return name, shape_unknown(name, value.name)
        shapes.append(value.shape)
    result, wide, source = shapes
    if len(source) == 4 and len(wide) == 5 and wide[:2] == source[:2] and wide[3:] == source[2:]:
        batch, heads, rows, width = source
        copies = list(wide)[2]
        if isinstance(copies, int):
            repeated = multiply(heads, copies)
            # Batch and heads may have been read as one axis.
            if result in ((batch, repeated, rows, width), (multiply(batch, repeated), rows, width)):
                return None
    got, want = spell_shape(wide), spell_shape(source)
    detail = f"{want} is spread to {got} and read as {spell_shape(result)}, which does not repeat heads one by one"
    return names[1], Reason(Code.KERNEL_LIMIT, ("heads", got, want), detail, value=binding.value(names[1]) or "")


HEAD_CHECKS: Mapping[str, Check] = {
    "halves": _check_halves,
    "alternates": _check_alternates,
    "leads": _check_leads,
    "splits_evenly": _check_splits_evenly,
    "adds_last_axis": _check_adds_last_axis,
    "pairs_up": _check_pairs_up,
    "repeats_heads": _check_repeats_heads,
}
