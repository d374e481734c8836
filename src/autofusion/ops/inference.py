"""Symbolic inference of one node: element types, shapes and small integer contents of its results."""

from __future__ import annotations

import math

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError
from autofusion.ir import Dim, DType, Node, Value
from autofusion.ir.dims import weigh
from autofusion.ops.element_types import infer_types
from autofusion.ops.faults import SHAPES_CONTRADICT, TOO_LARGE, WRONG_RANK, describe, fault
from autofusion.ops.reference import infer_by_reference
from autofusion.ops.rows import find_operator
from autofusion.ops.schema import schema_of
from autofusion.ops.table import Scope

MAX_BYTES = 1 << 40
"""No machine holds a greater tensor: a model that computes one is refused before anything tries to."""

MAX_RANK = 64
"""Arrays of numpy have no more axes."""

MAX_WEIGHT = 100
"""How intricate an extent may be, by `weigh`: each operator may double it, and no model means that."""

_LIMITS = {DType.INT64: (-(2**63), 2**63 - 1), DType.INT32: (-(2**31), 2**31 - 1), DType.BOOL: (0, 1)}


def infer(node: Node, scope: Scope) -> tuple[Value, ...]:
    """What follows for the named results of `node` from what `scope` knows of its operands.

    Extents are exact in terms of the symbols, each of which is at least 0.  A shape is either known
    in every extent or None as a whole, as it is where an extent is more intricate than MAX_WEIGHT.
    Raises ModelError where the operands contradict each other or the node's attributes, and where a
    result is impossible (`require_possible`).
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
            shape = value.shape if value.shape is None or all(map(_is_plain, value.shape)) else None
            values.append(Value(name, dtype, shape, content))
            require_possible(values[-1], node)
    return tuple(values)


def require_possible(value: Value, node: Node) -> None:
    """Raise ModelError where a result of `node` cannot be.

    That is one with a negative extent (AF153), with more axes than MAX_RANK (AF155) or larger than MAX_BYTES (AF123).
    """
    shape = value.shape or ()
    if len(shape) > MAX_RANK:
        remedy = f"at most {MAX_RANK} are supported"
        raise fault(WRONG_RANK, node, f"result {value.name!r} has {len(shape)} axes", remedy)
    extents = [extent for extent in shape if isinstance(extent, int)]
    computes = f"{node.op} node {node.name!r} computes {describe(value)}"
    if any(extent < 0 for extent in extents):
        problem = f"{computes}, which has a negative extent"
        remedy = "look at the attributes and constants that this node reads"
        raise ModelError(Diagnostic(SHAPES_CONTRADICT, problem, help=remedy))
    if value.dtype is None:
        return
    size = value.dtype.numpy.itemsize * math.prod(extents)
    if size > MAX_BYTES:
        problem = f"{computes}, which takes {_spell_size(size)}"
        raise ModelError(Diagnostic(TOO_LARGE, problem, help="no machine can run this model"))


def _spell_size(size: int) -> str:
    return f"{size >> 40} TiB" if size < 1 << 80 else "more than 2^40 TiB"


def _holds(dtype: DType | None, content: tuple[Dim, ...] | None) -> bool:
    """True where `content` may stand for elements of type `dtype`: none that is a number wraps around."""
    limits = _LIMITS.get(dtype) if dtype else None
    if limits is None or content is None:
        return False
    if not all(map(_is_plain, content)):
        return False
    return all(limits[0] <= element <= limits[1] for element in content if isinstance(element, int))


def _is_plain(dim: Dim) -> bool:
    return isinstance(dim, int) or weigh(dim) <= MAX_WEIGHT
