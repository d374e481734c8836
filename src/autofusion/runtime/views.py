"""Arrays over stored bytes: element types as users see them, and buffers in the model's shape."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from autofusion.plan import Buffer
from autofusion.plan.dtypes import EXTENSIONS, storage_type
from autofusion.plan.stripes import is_view
from autofusion.runtime.shapes import Shape


def array_type(dtype: str) -> np.dtype[Any]:
    """The numpy type of arrays that hold elements of type `dtype`, as users and operators see them.

    Raises ModuleNotFoundError for the types that numpy lacks where ml_dtypes is not installed.
    """
    if dtype not in EXTENSIONS:
        return storage_type(dtype)
    from autofusion.ir import DType

    return DType(dtype).numpy


def present(array: np.ndarray, dtype: str) -> np.ndarray:
    """A stored array of type `dtype` as users see it: the same bytes."""
    return array.view(array_type(dtype)) if dtype in EXTENSIONS else array


def store(array: np.ndarray, dtype: str) -> np.ndarray:
    """The inverse of `present`."""
    return array.view(storage_type(dtype)) if dtype in EXTENSIONS else array


def stored_shape(buffer: Buffer, shape: Shape) -> Shape:
    """The extents of a buffer in memory, outermost first; `shape` is the model's."""
    if buffer.layout == "plain":
        return shape
    return (shape[0], *shape[2:], shape[1] if buffer.pitch is None else buffer.pitch)


def stored_bytes(buffer: Buffer, shape: Shape) -> int:
    """How many bytes a buffer takes; a view from its first element to its last."""
    extents = stored_shape(buffer, shape)
    elements = prod(extents)
    if elements and is_view(buffer):
        elements -= extents[-1] - shape[1]
    return elements * storage_type(buffer.dtype).itemsize


def view_buffer(data: np.ndarray, buffer: Buffer, shape: Shape) -> np.ndarray:
    """The elements of a buffer in the model's shape, over the uint8 array `data`, which may be longer than it needs."""
    kind, extents = storage_type(buffer.dtype), stored_shape(buffer, shape)
    if buffer.layout == "plain":
        return data[: stored_bytes(buffer, shape)].view(kind).reshape(extents)
    steps = [prod(extents[axis + 1 :]) * kind.itemsize for axis in range(len(extents))]
    stored = np.ndarray((*extents[:-1], shape[1]), kind, data[: stored_bytes(buffer, shape)], strides=steps)
    return np.moveaxis(stored, -1, 1)
