"""TensorProto and SparseTensorProto -> arrays, every encoding, every length checked."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
from onnx import SparseTensorProto, TensorProto

from autofusion.frontend.faults import CORRUPT_TENSOR, ELEMENT_TYPE, EXTERNAL_RANGE, SPARSE_TENSOR, TOO_LARGE, fault
from autofusion.frontend.storage import Storage
from autofusion.frontend.wire import EMBEDDED_KEY, read_embedded
from autofusion.ir import DType
from autofusion.ops.element_types import DTYPES

MAX_SPARSE_BYTES = 1 << 32
"""A sparse tensor that would be larger when written out is refused."""

_NIBBLES = {DType.INT4: ml_dtypes.int4, DType.UINT4: ml_dtypes.uint4}
_STORED_AS_BITS = {
    DType.FLOAT16: np.uint16,
    DType.BFLOAT16: np.uint16,
    DType.FLOAT8E4M3FN: np.uint8,
    DType.FLOAT8E5M2: np.uint8,
}
_COMPLEX = (DType.COMPLEX64, DType.COMPLEX128)


def read_dtype(code: int, where: str) -> DType:
    """The element type of ONNX number `code`; raises ModelError naming `where` for others than `DType` has."""
    dtype = DTYPES.get(code)
    if dtype is not None:
        return dtype
    if code == TensorProto.UNDEFINED or code not in TensorProto.DataType.values():
        raise fault(ELEMENT_TYPE, f"{where} has no element type that ONNX knows ({code})")
    name = TensorProto.DataType.Name(code).lower()
    raise fault(ELEMENT_TYPE, f"{where} has the element type {name}, which is not supported")


def read_tensor(proto: TensorProto, name: str, storage: Storage) -> np.ndarray:
    """The tensor as a read-only array that owns or maps its bytes; raises ModelError where the proto is broken."""
    dtype = read_dtype(proto.data_type, f"tensor {name!r}")
    shape = tuple(proto.dims)
    if min(shape, default=0) < 0:
        raise fault(CORRUPT_TENSOR, f"tensor {name!r} has a negative extent: {list(shape)}")
    if proto.HasField("segment"):
        raise fault(CORRUPT_TENSOR, f"tensor {name!r} is stored in segments, which ONNX has dropped")
    flat = _read_elements(proto, dtype, math.prod(shape), name, storage)
    try:
        array = flat.reshape(shape)
    except ValueError as error:
        raise fault(CORRUPT_TENSOR, f"tensor {name!r} has an impossible shape: {list(shape)}") from error
    array.flags.writeable = False
    return array


def read_sparse(proto: SparseTensorProto, name: str, storage: Storage) -> np.ndarray:
    """The sparse tensor as a dense array; raises ModelError for coordinates that are unsorted, doubled or outside."""
    shape = tuple(proto.dims)
    if not shape or min(shape) < 0:
        raise fault(SPARSE_TENSOR, f"sparse tensor {name!r} has no valid shape: {list(shape)}")
    values = read_tensor(proto.values, name, storage)
    if values.ndim != 1:
        raise fault(SPARSE_TENSOR, f"sparse tensor {name!r} has values of rank {values.ndim}, not 1")
    size = math.prod(shape)
    if values.itemsize * size > MAX_SPARSE_BYTES:
        raise fault(TOO_LARGE, f"sparse tensor {name!r} of shape {list(shape)} takes more than 4 GiB when written out")
    flat = _read_coordinates(proto, shape, len(values), name, storage)
    if np.any(flat[1:] <= flat[:-1]):
        raise fault(SPARSE_TENSOR, f"sparse tensor {name!r} has coordinates out of order")
    dense = np.zeros(size, values.dtype)
    dense[flat] = values
    dense.flags.writeable = False
    return dense.reshape(shape)


def _read_coordinates(
    proto: SparseTensorProto, shape: tuple[int, ...], count: int, name: str, storage: Storage
) -> np.ndarray:
    """Places of the values in the flattened tensor."""
    indices = read_tensor(proto.indices, f"{name} indices", storage)
    if indices.dtype != np.int64 or indices.shape not in ((count,), (count, len(shape))):
        problem = f"sparse tensor {name!r} has {count} values but indices {indices.dtype} {list(indices.shape)}"
        raise fault(SPARSE_TENSOR, problem, "indices must be int64 of shape [values] or [values, rank]")
    limits = np.array(shape if indices.ndim == 2 else [math.prod(shape)], np.int64)
    if np.any((indices < 0) | (indices >= limits)):
        raise fault(SPARSE_TENSOR, f"sparse tensor {name!r} has a coordinate outside its shape {list(shape)}")
    if indices.ndim == 1:
        return indices
    return indices @ np.array([math.prod(shape[axis + 1 :]) for axis in range(len(shape))], np.int64)


def _read_elements(proto: TensorProto, dtype: DType, count: int, name: str, storage: Storage) -> np.ndarray:
    if dtype is DType.STRING:
        return _read_strings(proto, count, name)
    stored = (count + 1) // 2 if dtype in _NIBBLES else count * dtype.numpy.itemsize
    raw = _read_raw(proto, dtype, stored, name, storage)
    if raw is None:
        return _read_typed_field(proto, dtype, count, name)
    if dtype in _NIBBLES:
        return _unpack(raw, count, dtype)
    if dtype is DType.BOOL:
        return raw != 0
    if raw.ctypes.data % dtype.numpy.alignment:
        raw = raw.copy()
    return raw.view(dtype.numpy)


def _read_raw(proto: TensorProto, dtype: DType, stored: int, name: str, storage: Storage) -> np.ndarray | None:
    """The `stored` bytes of the tensor, wherever they are; None for a tensor that has a typed field instead."""
    entries = {entry.key: entry.value for entry in proto.external_data}
    if EMBEDDED_KEY in entries:
        try:
            offset, length = read_embedded(entries[EMBEDDED_KEY])
        except ValueError as error:
            raise fault(EXTERNAL_RANGE, f"tensor {name!r} gives its place in the file by no numbers") from error
        _require_count(proto, dtype, "bytes", stored, length, name)
        return storage.read_embedded(offset, length, name)
    if proto.data_location == TensorProto.EXTERNAL:
        offset, length = _read_place(entries, "offset", name) or 0, _read_place(entries, "length", name)
        raw = storage.map_external(entries.get("location", ""), offset, length, name)
    elif proto.HasField("raw_data"):
        raw = np.frombuffer(bytearray(proto.raw_data), np.uint8)
    else:
        return None
    _require_count(proto, dtype, "bytes", stored, len(raw), name)
    return raw


def _read_place(entries: dict[str, str], key: str, name: str) -> int | None:
    text = entries.get(key)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise fault(EXTERNAL_RANGE, f"external data of tensor {name!r} has the {key} {text!r}, which is no size")
    return int(text)


def _read_typed_field(proto: TensorProto, dtype: DType, count: int, name: str) -> np.ndarray:
    match dtype:
        case DType.FLOAT | DType.COMPLEX64:
            items = np.array(proto.float_data, np.float32)
        case DType.DOUBLE | DType.COMPLEX128:
            items = np.array(proto.double_data, np.float64)
        case DType.INT64:
            items = np.array(proto.int64_data, np.int64)
        case DType.UINT32 | DType.UINT64:
            items = np.array(proto.uint64_data, np.uint64)
        case _:
            items = np.array(proto.int32_data, np.int32)
    wanted = (count + 1) // 2 if dtype in _NIBBLES else 2 * count if dtype in _COMPLEX else count
    _require_count(proto, dtype, "numbers", wanted, len(items), name)
    if dtype in _NIBBLES:
        return _unpack(items.astype(np.uint8), count, dtype)
    if dtype in _COMPLEX:
        return items.view(dtype.numpy)
    if dtype in _STORED_AS_BITS:
        return items.astype(_STORED_AS_BITS[dtype]).view(dtype.numpy)
    return items.astype(dtype.numpy)


def _read_strings(proto: TensorProto, count: int, name: str) -> np.ndarray:
    _require_count(proto, DType.STRING, "strings", count, len(proto.string_data), name)
    array = np.empty(count, np.object_)
    array[:] = [text.decode() for text in proto.string_data]
    return array


def _require_count(proto: TensorProto, dtype: DType, unit: str, wanted: int, found: int, name: str) -> None:
    if found != wanted:
        kind = f"{dtype.value} {list(proto.dims)}"
        problem = f"tensor {name!r} is {kind} and takes {wanted} {unit}, but the file has {found}"
        raise fault(CORRUPT_TENSOR, problem, "the file is damaged or cut off; export or download it again")


def _unpack(raw: np.ndarray, count: int, dtype: DType) -> np.ndarray:
    """Two four-bit numbers a byte, the low half first."""
    halves = np.stack([raw & 15, raw >> 4], axis=-1).reshape(-1)[:count].astype(np.int8)
    return (((halves ^ 8) - 8) if dtype is DType.INT4 else halves).astype(_NIBBLES[dtype])
