"""The predicates that ask how normalizations and matrix products stand to each other.

Contracts as in `fusion.predicates`, which lists them.
"""

from __future__ import annotations

from collections.abc import Mapping

from autofusion.fusion.binding import Binding
from autofusion.fusion.checks import Check, Outcome, find_node
from autofusion.fusion.products import ends_product, find_group, find_stray_reader
from autofusion.fusion.reasons import Code, Reason, shape_unknown, spell_shape
from autofusion.fusion.scope import Scope


def _check_feeds_no_product(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    node = find_node(binding, names[0])
    rank = scope.value(node.input(0)).rank
    is_rows = rank is not None and node.attributes.get("axis") in (-1, rank - 1)
    group = find_group(scope, node.outputs[0]) if is_rows else ()
    if not group:
        return None
    readers = ", ".join(reader.name for reader in group)
    detail = f"{node.name} is read by {readers} alone, so it belongs to the product"
    advice = "accept two kernels"
    return names[0], Reason(Code.TAKEN_BY, ("matrix product",), detail, group[0].name, node.outputs[0], advice)


def _check_takes_sum(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    outcome = _check_feeds_no_product(scope, binding, names[:1])
    if outcome is None:
        return None
    addends = [binding.value(name) or "" for name in names[1:]]
    is_residual = all(scope.constant(name) is None for name in addends)
    return None if is_residual and not any(ends_product(scope, name) for name in addends) else outcome


def _check_reads_rows(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    name, value = names[0], binding.value(names[1]) or ""
    stray = find_stray_reader(scope, find_node(binding, name), value)
    if stray is None:
        return None
    detail = f"{stray.name} ({stray.op}) does not multiply the rows of {value!r} by a constant matrix"
    return name, Reason(Code.KERNEL_LIMIT, (name, stray.op, "rows times a constant matrix"), detail, stray.name, value)


def _check_fits_block(scope: Scope, binding: Binding, names: tuple[str, ...]) -> Outcome:
    name = names[0]
    node = find_node(binding, name)
    source = scope.value(node.input(0))
    axis = node.attributes.get("axis", -1)
    if source.shape is None:
        return name, shape_unknown(name, source.name)
    assert isinstance(axis, int)
    block = source.shape[axis % len(source.shape) :]
    for operand in filter(None, node.inputs[1:3]):
        value = scope.value(operand)
        if value.shape is None:
            return name, shape_unknown(name, operand)
        lead = len(value.shape) - len(block)
        spread = all(extent == 1 for extent in value.shape[: max(lead, 0)]) and all(
            got in (1, want) for got, want in zip(value.shape[::-1], block[::-1], strict=False)
        )
        if value.shape != block and not (spread and scope.constant(operand) is not None):
            got, want = spell_shape(value.shape), spell_shape(block)
            detail = f"{operand!r} has shape {got}, the normalized block has {want}"
            return name, Reason(Code.BROADCAST, (name, got, want), detail, node.name, operand)
    return None


PRODUCT_CHECKS: Mapping[str, Check] = {
    "fits_block": _check_fits_block,
    "feeds_no_product": _check_feeds_no_product,
    "takes_sum": _check_takes_sum,
    "reads_rows": _check_reads_rows,
}
