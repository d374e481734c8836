"""Element types that kernels take, and why a kernel takes a value not."""

from __future__ import annotations

from autofusion.ir import DType
from autofusion.lowering.workspace import Workspace

INTEGERS = frozenset(
    {DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64}
)

MOVED = INTEGERS | {DType.FLOAT, DType.DOUBLE, DType.FLOAT16, DType.BFLOAT16, DType.BOOL}
"""Types whose elements are moved and converted."""

COMPARED = INTEGERS | {DType.FLOAT, DType.DOUBLE, DType.BOOL}
"""Types whose elements are compared."""

NUMBERS = frozenset({DType.FLOAT, DType.DOUBLE, DType.INT8, DType.INT32, DType.INT64, DType.UINT8})
"""Types whose elements are reduced and ordered."""

COUNTED = frozenset({DType.FLOAT, DType.DOUBLE, DType.INT16, DType.INT32, DType.INT64})
"""Types in which a Range counts."""

INDICES = frozenset({DType.INT32, DType.INT64})

UNKNOWN_SHAPE = "shapes are not known before the model runs"


def refuse_types(workspace: Workspace, allowed: frozenset[DType], *names: str) -> str:
    """Why no kernel takes these values: types differ or are not `allowed`, or shapes are unknown; "" where one does."""
    types = {workspace.scope.dtype(name) for name in names}
    if None in types or len(types) != 1 or not types <= allowed:
        return "element type " + ", ".join(sorted(dtype.value if dtype else "unknown" for dtype in types))
    return refuse_shapes(workspace, *names)


def refuse_shapes(workspace: Workspace, *names: str) -> str:
    """Why no kernel takes values of these shapes, "" where one may."""
    return UNKNOWN_SHAPE if any(workspace.scope.shape(name) is None for name in names) else ""
