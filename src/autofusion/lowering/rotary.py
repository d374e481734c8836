"""Rotary position embedding, whatever spells it, as one call of its kernel."""

from __future__ import annotations

from autofusion.fusion.attention import flatten_attention
from autofusion.fusion.attention.rotation import Rotation, is_rotation, read_rotation
from autofusion.fusion.reasons import Reason
from autofusion.ir import DType, Node, Shape
from autofusion.lowering.attention import reshape_operand, spell_view
from autofusion.lowering.workspace import Owner, Workspace
from autofusion.plan import Setting

_POSITIONS = (DType.INT64, DType.INT32)


def emit_rotary(owner: Owner, node: Node, workspace: Workspace) -> bool:
    """Append the step of a node, fused, a normal form or the operator RotaryEmbedding, that is one rotation of heads.

    Where the operator has positions, its tables are looked up first.  Returns False, and does nothing, where the node
    is something else.
    """
    nodes = flatten_attention(node)
    if not any(map(is_rotation, nodes)):
        return False
    rotation = read_rotation(nodes, workspace.scope)
    if isinstance(rotation, Reason) or not _has_types(rotation, workspace) or node.results != (rotation.result,):
        return False
    origin = tuple(dict.fromkeys(name for part in nodes for name in part.origin))
    tables = [_find_table(owner, rotation, name, shape, workspace) for name, shape in rotation.tables]
    settings: dict[str, Setting] = {
        "extents": [dim if isinstance(dim, int) else str(dim) for dim in rotation.extents],
        "x_view": spell_view(rotation.x_view),
        "y_view": spell_view(rotation.y_view),
        "width": rotation.width,
        "interleaved": rotation.interleaved,
    }
    workspace.emit(owner, "rotary", (rotation.root, *tables), (rotation.result,), settings, origin)
    return True


def _has_types(rotation: Rotation, workspace: Workspace) -> bool:
    scope = workspace.scope
    result = scope.value(rotation.result)
    names = (rotation.root, rotation.result, *(name for name, _ in rotation.tables))
    if result.dtype not in workspace.kernel_types or any(scope.dtype(name) is not result.dtype for name in names):
        return False
    if rotation.positions and scope.dtype(rotation.positions) not in _POSITIONS:
        return False
    return all(scope.shape(name) is not None for name in names)


def _find_table(owner: Owner, rotation: Rotation, name: str, shape: Shape, workspace: Workspace) -> str:
    """cos or sin in the shape of the kernel; its rows are looked up where the operator names positions."""
    if not rotation.positions:
        return reshape_operand(owner, name, shape, workspace)
    rows = workspace.add_value(f"{name}:rows", workspace.scope.value(name), (shape[0], *shape[2:]))
    workspace.emit(owner, "gather", (name, rotation.positions), (rows.name,), {"axis": 0}, ())
    return reshape_operand(owner, rows.name, shape, workspace)
