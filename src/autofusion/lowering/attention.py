"""Attention, whatever spells it, as one call of its kernel."""

from __future__ import annotations

from autofusion.fusion.attention import Reading, flatten_attention, read_attention
from autofusion.fusion.reasons import Reason
from autofusion.ir import Node, Shape
from autofusion.lowering.workspace import Owner, Workspace
from autofusion.ops.strided import Strided
from autofusion.plan import Setting


def emit_attention(owner: Owner, node: Node, workspace: Workspace) -> bool:
    """Append the step of a node, fused or the operator Attention, that is one attention with all that is round it.

    Returns False, and does nothing, where it is not.
    """
    nodes = flatten_attention(node)
    if not any(part.op == "Attention" for part in nodes) and sum(part.op == "Softmax" for part in nodes) != 1:
        return False
    reading = read_attention(nodes, workspace.scope)
    if isinstance(reading, Reason) or not _has_types(reading, workspace):
        return False
    present = tuple(name for name in reading.present if name)
    if not set(node.results) <= {reading.result, *present}:
        return False
    results = (reading.result, *(present if set(present) & set(node.results) else ()))
    origin = tuple(dict.fromkeys(name for part in nodes for name in part.origin))
    workspace.emit(owner, "attention", _operands(owner, reading, workspace), results, read_settings(reading), origin)
    return True


def _has_types(reading: Reading, workspace: Workspace) -> bool:
    """True where all data has the one type of the result and lies where the plan can say it."""
    scope = workspace.scope
    result = scope.value(reading.result)
    data = [reading.q.root, reading.k.root, reading.v.root, *(name for name, _ in reading.masks)]
    names = [*data, *(name for name in (*reading.past, *reading.present) if name)]
    if result.dtype not in workspace.kernel_types or any(scope.dtype(name) is not result.dtype for name in names):
        return False
    return all(scope.shape(name) is not None for name in (*names, reading.result))


def _operands(owner: Owner, reading: Reading, workspace: Workspace) -> tuple[str, ...]:
    masks = [reshape_operand(owner, name, shape, workspace) for name, shape in reading.masks]
    keep = "" if reading.keep is None else reshape_operand(owner, *reading.keep, workspace)
    operands = (reading.q.root, reading.k.root, reading.v.root, *masks, *("",) * (2 - len(masks)), keep, *reading.past)
    while not operands[-1]:
        operands = operands[:-1]
    return operands


def reshape_operand(owner: Owner, name: str, shape: Shape, workspace: Workspace) -> str:
    """Value `name` with `shape`, which has its elements."""
    value = workspace.scope.value(name)
    if value.shape == shape:
        return name
    aliased = workspace.add_value(f"{name}:mask", value, shape)
    workspace.alias(owner, name, aliased, ())
    return aliased.name


def read_settings(reading: Reading) -> dict[str, Setting]:
    """The attributes of the step."""
    core = reading.core
    names = ("q_view", "k_view", "v_view", "y_view")
    return {
        "extents": [dim if isinstance(dim, int) else str(dim) for dim in reading.extents],
        **{name: spell_view(view) for name, view in zip(names, reading.views, strict=True)},
        "scale": reading.scale,
        "keep_mode": core.keep_mode,
        "keep_drops": core.keep_drops,
        "fill": core.fill,
        "causal": core.causal,
        "guard": core.guard,
    }


def spell_view(view: Strided) -> Setting:
    """A view as the plan has it: the offset, then the strides."""
    return [dim if isinstance(dim, int) else str(dim) for dim in (view.offset, *view.strides)]
