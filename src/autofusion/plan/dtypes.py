"""Element types of buffers by name: how they are stored, in memory and in the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

STRING = "string"

STORAGE: Mapping[str, np.dtype[Any]] = {
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16),
    "uint32": np.dtype(np.uint32),
    "uint64": np.dtype(np.uint64),
    "bool": np.dtype(np.bool_),
    "complex64": np.dtype(np.complex64),
    "complex128": np.dtype(np.complex128),
    "bfloat16": np.dtype(np.uint16),
    "float8e4m3fn": np.dtype(np.uint8),
    "float8e5m2": np.dtype(np.uint8),
    "int4": np.dtype(np.int8),
    "uint4": np.dtype(np.uint8),
    STRING: np.dtype(np.object_),
}
"""The numpy type whose bytes hold one element; four-bit integers take a byte each, strings are Python objects."""

EXTENSIONS = frozenset({"bfloat16", "float8e4m3fn", "float8e5m2", "int4", "uint4"})
"""Element types that numpy itself lacks; arrays of them have the types of the package ml_dtypes."""

_SPELLED: Mapping[str, str] = {"float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2"}

ARRAY_NAMES: Mapping[str, str] = {
    name: _SPELLED.get(name, name if name in EXTENSIONS or name == STRING else storage.name)
    for name, storage in STORAGE.items()
}
"""The names of the element types as arrays have them (`float32`), those of ml_dtypes for `EXTENSIONS`, and `string`."""

_ELEMENTS: Mapping[str, str] = {array: name for name, array in ARRAY_NAMES.items()}


def element_type(array_name: str) -> str:
    """The inverse of `ARRAY_NAMES`; raises ValueError for an unknown name."""
    if array_name not in _ELEMENTS:
        raise ValueError(f"{array_name!r} is no element type of arrays")
    return _ELEMENTS[array_name]


def storage_type(dtype: str) -> np.dtype[Any]:
    """The numpy type that stores elements of type `dtype`; raises ValueError for an unknown name."""
    storage = STORAGE.get(dtype)
    if storage is None:
        raise ValueError(f"{dtype!r} is no element type")
    return storage


def encode_strings(array: np.ndarray) -> bytes:
    """The bytes that hold a constant of type string in the weights: a JSON list of its elements in row-major order."""
    return json.dumps([str(element) for element in array.ravel()]).encode("ascii")


def decode_strings(data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    """The inverse of `encode_strings`; raises ValueError where `data` holds no such list."""
    elements: object = json.loads(data)
    if not isinstance(elements, list):
        raise ValueError("string data is no list")
    strings = cast(list[object], elements)
    if not all(isinstance(element, str) for element in strings):
        raise ValueError("string data holds something else than strings")
    array = np.empty(len(strings), object)
    array[:] = strings
    return array.reshape(shape)
