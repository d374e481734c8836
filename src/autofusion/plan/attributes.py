"""Operator attributes of host steps as plain JSON, and back."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from autofusion.plan.dtypes import EXTENSIONS, STORAGE, STRING, decode_strings, encode_strings
from autofusion.plan.records import Setting

_EXTENSION_NAMES = {
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e5m2": "float8e5m2",
    "int4": "int4",
    "uint4": "uint4",
}


def encode_attribute(value: object) -> Setting:
    """A number, text, tuple of either, or array as a `Setting`.

    An array becomes `{"tensor": {"dtype", "shape", "data"}}` with its bytes, little-endian and in
    row-major order, in base64.  Raises ValueError for anything else.
    """
    if isinstance(value, np.ndarray):
        return {"tensor": _encode_array(cast("np.ndarray[Any, Any]", value))}
    if isinstance(value, tuple | list):
        return [encode_attribute(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, str | int | float):
        return value
    raise ValueError(f"{value!r} is no attribute of a host step")


def decode_attribute(value: Setting) -> Any:
    """The inverse of `encode_attribute`; lists come back as tuples.

    An array of a type that numpy lacks needs the package ml_dtypes imported, which names it.
    """
    if isinstance(value, list):
        return tuple(decode_attribute(item) for item in value)
    if isinstance(value, dict):
        return _decode_array(cast(Mapping[str, Any], value["tensor"]))
    return value


def _encode_array(array: np.ndarray) -> dict[str, Setting]:
    dtype = _type_name(array.dtype)
    data = encode_strings(array) if dtype == STRING else np.ascontiguousarray(array).tobytes()
    return {"dtype": dtype, "shape": [*array.shape], "data": base64.b64encode(data).decode("ascii")}


def _decode_array(record: Mapping[str, Any]) -> np.ndarray:
    dtype, shape = str(record["dtype"]), tuple(record["shape"])
    data = base64.b64decode(record["data"])
    if dtype == STRING:
        return decode_strings(data, shape)
    array = np.frombuffer(data, STORAGE[dtype]).reshape(shape)
    if dtype not in EXTENSIONS:
        return array
    return array.view(next(name for name, known in _EXTENSION_NAMES.items() if known == dtype))


def _type_name(dtype: np.dtype[Any]) -> str:
    if dtype.name in _EXTENSION_NAMES:
        return _EXTENSION_NAMES[dtype.name]
    if dtype.kind in "OSU":
        return STRING
    return next(name for name, storage in STORAGE.items() if storage == dtype)
