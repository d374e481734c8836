"""Symbolic inference of one node: element types, shapes and small integer contents of its results."""

from __future__ import annotations

from autofusion.ir import Dim, DType, Node, Value
from autofusion.ops.element_types import infer_types
from autofusion.ops.reference import infer_by_reference
from autofusion.ops.rows import find_operator
from autofusion.ops.schema import schema_of
from autofusion.ops.table import Scope

_LIMITS = {DType.INT64: (-(2**63), 2**63 - 1), DType.INT32: (-(2**31), 2**31 - 1), DType.BOOL: (0, 1)}


def infer(node: Node, scope: Scope) -> tuple[Value, ...]:
    """What follows for the named results of `node` from what `scope` knows of its operands.

    Extents are exact in terms of the symbols, each of which is at least 0.  A shape is either known
    in every extent or None as a whole.  Raises ModelError where the operands contradict each
    other or the node's attributes.
    """
    schema = schema_of(node.op, node.domain, node.opset if node.opaque else None)
    if schema is None:
        return tuple(Value(name) for name in node.results)
    types = infer_types(node, schema, scope)
    row = None if node.opaque else find_operator(node.op, node.domain)
    found = row.infer(node, scope) if row and row.infer else infer_by_reference(node, scope)
    values: list[Value] = []
    for index, name in enumerate(node.outputs):
        value = found[index] if index < len(found) else Value("")
        if name:
            dtype = value.dtype or types[index]
            content = value.content if _holds(dtype, value.content) else None
            values.append(Value(name, dtype, value.shape, content))
    return tuple(values)


def _holds(dtype: DType | None, content: tuple[Dim, ...] | None) -> bool:
    """True where `content` may stand for elements of type `dtype`: none that is a number wraps around."""
    limits = _LIMITS.get(dtype) if dtype else None
    if limits is None or content is None:
        return False
    return all(limits[0] <= element <= limits[1] for element in content if isinstance(element, int))
