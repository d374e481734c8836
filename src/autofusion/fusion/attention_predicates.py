"""The predicates that attention asks: which axis, which ranks, masks that do not widen, one call of the kernel.

Contracts as in `fusion.predicates`, which lists them.
"""

from __future__ import annotations

from collections.abc import Mapping

from autofusion.fusion.attention.masks import fits_extent
from autofusion.fusion.attention.nodes import flatten_attention
from autofusion.fusion.attention.reading import read_attention
from autofusion.fusion.attention.surroundings import Surroundings
from autofusion.fusion.binding import Binding
from autofusion.fusion.checks import Check, Outcome, find_node
from autofusion.fusion.reasons import Code, Reason, shape_unknown, spell_shape
from autofusion.fusion.scope import Scope
from autofusion.ops.operands import integer


def _check_takes_last_axis(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    node = find_node(binding, names[0])
    rank = scope.value(node.input(0)).rank
    if rank is None:
        return names[0], shape_unknown(names[0], node.input(0))
    axis = integer(node, "axis", -1) % rank
    if axis == rank - 1:
        return None
    detail = f"{node.name} runs along axis {axis}, not along the last one, {rank - 1}"
    return names[0], Reason(Code.AXIS, (str(axis), str(rank - 1)), detail, node.name)


def _check_attends(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """Products of rank 3 or 4 whose axes before the last two do not change from the scores to the result."""
    first, last = names
    scores, result = (scope.value(find_node(binding, name).outputs[0]) for name in names)
    for name, value in ((first, scores), (last, result)):
        if value.shape is None:
            return name, shape_unknown(name, value.name)
    assert scores.shape is not None
    assert result.shape is not None
    rank = len(scores.shape)
    if rank not in (3, 4):
        detail = f"{scores.name!r} has rank {rank}, attention takes 3 or 4"
        return first, Reason(Code.KERNEL_LIMIT, ("rank", str(rank), "3 or 4"), detail, value=scores.name)
    if len(result.shape) == rank and result.shape[:-1] == scores.shape[:-1]:
        return None
    got, want = spell_shape(result.shape), spell_shape((*scores.shape[:-1], "value size"))
    detail = f"{result.name!r} has shape {got}, with these scores it must be {want}"
    return last, Reason(Code.BROADCAST, ("result", got, want), detail, value=result.name)


def _check_meets_scores(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The mask broadcasts to the scores that its node has, axis 0 split or not, and widens nothing."""
    name, reader = names
    value = scope.value(binding.value(name) or "")
    others = [operand for operand in find_node(binding, reader).inputs if operand != value.name]
    target = scope.value(next((operand for operand in others if scope.constant(operand) is None), value.name))
    if value.shape is None:
        return name, shape_unknown(name, value.name)
    if target.shape is None:
        return reader, shape_unknown(reader, target.name)
    if len(value.shape) > len(target.shape):
        return name, _widens(value.name, "rank", str(len(value.shape)), f"at most {len(target.shape)}")
    added = len(target.shape) - len(value.shape)
    for axis, extent in enumerate(value.shape):
        wanted = target.shape[added + axis]
        if not fits_extent(extent, wanted):
            want = "1" if wanted == 1 else f"1 or {wanted}"
            return name, _widens(value.name, str(axis), str(extent), want)
    return None


def _widens(value: str, axis: str, got: str, want: str) -> Reason:
    what = f"rank {got}" if axis == "rank" else f"extent {got} on axis {axis}"
    detail = f"mask {value!r} has {what}, {want} was expected: it would widen the scores"
    return Reason(Code.BROADCAST, (axis, got, want), detail, value=value)


def _check_is_one_attention(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    """The nodes of the match are one call of the kernel."""
    nodes = [part for bound in binding.members for part in flatten_attention(bound.node)]
    reading = read_attention(nodes, Surroundings(scope, [bound.node for bound in binding.members]))
    return (names[0], reading) if isinstance(reading, Reason) else None


ATTENTION_CHECKS: Mapping[str, Check] = {
    "takes_last_axis": _check_takes_last_axis,
    "attends": _check_attends,
    "meets_scores": _check_meets_scores,
    "is_one_attention": _check_is_one_attention,
}
