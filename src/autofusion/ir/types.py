"""Element types, shapes and typed values of the IR."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import ml_dtypes
import numpy as np

from autofusion.ir.dims import Dim


class DType(Enum):
    """Element types, spelled as ONNX text does."""

    FLOAT = "float"
    DOUBLE = "double"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BOOL = "bool"
    STRING = "string"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"
    FLOAT8E4M3FN = "float8e4m3fn"
    FLOAT8E5M2 = "float8e5m2"
    INT4 = "int4"
    UINT4 = "uint4"

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type that stores one element (`object` for strings)."""
        return _NUMPY[self]

    @property
    def is_float(self) -> bool:
        """True for the four real floating types that fusions may rewrite."""
        return self in (DType.FLOAT, DType.DOUBLE, DType.FLOAT16, DType.BFLOAT16)

    @classmethod
    def of(cls, array: np.ndarray) -> DType:
        """The element type of `array`; raises KeyError where ONNX has no such type."""
        if array.dtype.kind in "OSU":
            return cls.STRING
        return _FROM_NUMPY[array.dtype]


_NUMPY: dict[DType, np.dtype[np.generic]] = {
    DType.FLOAT: np.dtype(np.float32),
    DType.DOUBLE: np.dtype(np.float64),
    DType.FLOAT16: np.dtype(np.float16),
    DType.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    DType.INT8: np.dtype(np.int8),
    DType.INT16: np.dtype(np.int16),
    DType.INT32: np.dtype(np.int32),
    DType.INT64: np.dtype(np.int64),
    DType.UINT8: np.dtype(np.uint8),
    DType.UINT16: np.dtype(np.uint16),
    DType.UINT32: np.dtype(np.uint32),
    DType.UINT64: np.dtype(np.uint64),
    DType.BOOL: np.dtype(np.bool_),
    DType.STRING: np.dtype(np.object_),
    DType.COMPLEX64: np.dtype(np.complex64),
    DType.COMPLEX128: np.dtype(np.complex128),
    DType.FLOAT8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    DType.FLOAT8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    DType.INT4: np.dtype(ml_dtypes.int4),
    DType.UINT4: np.dtype(ml_dtypes.uint4),
}
_FROM_NUMPY = {numpy_type: dtype for dtype, numpy_type in _NUMPY.items()}

Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class Value:
    """A tensor flowing along edges; `dtype` or `shape` None means not known (rank unknown).

    `content` holds the elements of a small integer tensor of rank 0 or 1 as far as they follow
    from the shapes of the inputs: what `Shape`, `Gather`, `Concat` and their like compute.
    """

    name: str
    dtype: DType | None = None
    shape: Shape | None = None
    content: tuple[Dim, ...] | None = None

    @property
    def rank(self) -> int | None:
        """Number of axes, or None where the shape is unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """True where every extent is a number."""
        return self.shape is not None and all(isinstance(dim, int) for dim in self.shape)
