"""The row of the operator Attention."""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.ir import Dim, Node, Shape, Value
from autofusion.ir.dims import floor_divide, multiply
from autofusion.ops.conversion import keep_opaque
from autofusion.ops.faults import BAD_ATTRIBUTE, WRONG_RANK, describe, fault
from autofusion.ops.operands import integer, result, shape_of
from autofusion.ops.table import Operator, Scope

_PAST_KEY = 4


def _convert(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """The seventh input of opset 24 has no place in the canonical form."""
    return [node] if len(node.inputs) <= 6 else keep_opaque(node)


def _infer(node: Node, scope: Scope) -> Sequence[Value]:
    """Result, present keys and values, scores; operands are [batch, heads, rows, size] or rows of all heads."""
    heads, key_heads = integer(node, "q_num_heads"), integer(node, "kv_num_heads")
    q = _split(node, 0, heads, scope)
    k, v = (_split(node, place, key_heads, scope) for place in (1, 2))
    past = shape_of(node, _PAST_KEY, scope)
    if q is None or k is None or v is None or (node.input(_PAST_KEY) and past is None):
        return []
    rows = k[2] if past is None else past[2] + k[2]
    y: Shape = (*q[:3], v[3])
    if scope.value(node.input(0)).rank == 3:
        y = (q[0], q[2], multiply(q[1], v[3]))
    return [
        result(y),
        result((k[0], k[1], rows, k[3])),
        result((v[0], v[1], rows, v[3])),
        result((q[0], q[1], q[2], rows)),
    ]


def _split(node: Node, place: int, heads: int, scope: Scope) -> tuple[Dim, Dim, Dim, Dim] | None:
    """An operand as [batch, heads, rows, size]."""
    shape = shape_of(node, place, scope)
    if shape is None:
        return None
    if len(shape) == 4:
        return shape[0], shape[1], shape[2], shape[3]
    if len(shape) != 3:
        value = describe(scope.value(node.input(place)))
        raise fault(WRONG_RANK, node, f"input {value} has rank {len(shape)}, expected 3 or 4")
    if heads < 1:
        raise fault(BAD_ATTRIBUTE, node, "rows of heads need 'q_num_heads' and 'kv_num_heads'")
    return shape[0], heads, shape[1], floor_divide(shape[2], heads)


ROWS = (Operator("Attention", 23, convert=_convert, infer=_infer),)
