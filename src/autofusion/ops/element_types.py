"""Element types of a node's results, and the check of its operands' types, from the type variables of the schema."""

from __future__ import annotations

from autofusion.ir import DType, Node
from autofusion.ops.faults import TYPES_CONTRADICT, describe, fault
from autofusion.ops.schema import Schema, Slot
from autofusion.ops.table import Scope

CODES: dict[DType, int] = {
    DType.FLOAT: 1,
    DType.UINT8: 2,
    DType.INT8: 3,
    DType.UINT16: 4,
    DType.INT16: 5,
    DType.INT32: 6,
    DType.INT64: 7,
    DType.STRING: 8,
    DType.BOOL: 9,
    DType.FLOAT16: 10,
    DType.DOUBLE: 11,
    DType.UINT32: 12,
    DType.UINT64: 13,
    DType.COMPLEX64: 14,
    DType.COMPLEX128: 15,
    DType.BFLOAT16: 16,
    DType.FLOAT8E4M3FN: 17,
    DType.FLOAT8E5M2: 19,
    DType.UINT4: 21,
    DType.INT4: 22,
}
"""Numbers that ONNX gives the element types, in files and in attributes such as `to`."""

DTYPES: dict[int, DType] = {code: dtype for dtype, code in CODES.items()}


def infer_types(node: Node, schema: Schema, scope: Scope) -> tuple[DType | None, ...]:
    """One type per output place, None where the operands do not tell.

    Raises ModelError where an operand has a type that the operator does not take, or where
    two operands that must have one type differ.
    """
    bound: dict[str, str] = {}
    found: dict[str, DType] = {}
    for index, name in enumerate(node.inputs):
        dtype = scope.value(name).dtype if name else None
        if dtype is None:
            continue
        slot = schema.input_slot(index)
        _check_type(node, slot, name, dtype, scope)
        if not slot.uniform:
            continue
        if found.setdefault(slot.type_variable, dtype) != dtype:
            first, second = describe(scope.value(bound[slot.type_variable])), describe(scope.value(name))
            raise fault(TYPES_CONTRADICT, node, f"inputs {first} and {second} must have one element type")
        bound.setdefault(slot.type_variable, name)
    return tuple(_find_type(schema.output_slot(index), found) for index in range(len(node.outputs)))


def _check_type(node: Node, slot: Slot, name: str, dtype: DType, scope: Scope) -> None:
    if not slot.types or dtype in slot.types:
        return
    allowed = ", ".join(sorted(other.value for other in slot.types))
    problem = f"input {describe(scope.value(name))} has a type that {slot.name!r} does not take"
    raise fault(TYPES_CONTRADICT, node, problem, f"allowed are {allowed}")


def _find_type(slot: Slot, found: dict[str, DType]) -> DType | None:
    if not slot.uniform:
        return None
    if len(slot.types) == 1:
        return next(iter(slot.types))
    return found.get(slot.type_variable)
