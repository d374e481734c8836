"""The constants of a plan as one run of bytes: every tensor at its offset, zeros between."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np

from autofusion.plan import Tensor
from autofusion.plan.dtypes import STRING, encode_strings

ALIGNMENT = 64
"""Multiple of bytes at which tensors start, in the weights and in memory."""


def lay_out_weights(tensors: Sequence[Tensor], arrays: Sequence[np.ndarray]) -> Iterator[memoryview]:
    """The bytes of the weights, piece by piece; `arrays` are the contents of `tensors`, in the same order.

    Raises ValueError where an array has other bytes than its tensor says, or tensors overlap.
    """
    position = 0
    pairs = zip(tensors, arrays, strict=True)
    for tensor, array in sorted(pairs, key=lambda pair: (pair[0].offset, pair[0].bytes)):
        data = _view_bytes(tensor, array)
        if data.nbytes != tensor.bytes or tensor.offset < position:
            raise ValueError(f"tensor {tensor.name!r} does not fit its place in the weights")
        if tensor.offset > position:
            yield memoryview(bytes(tensor.offset - position))
        yield data
        position = tensor.offset + tensor.bytes


def join_weights(tensors: Sequence[Tensor], arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The weights as one array of bytes that starts at a multiple of `ALIGNMENT`; raises ValueError as above."""
    joined = allocate_aligned(max((tensor.offset + tensor.bytes for tensor in tensors), default=0))
    position = 0
    for piece in lay_out_weights(tensors, arrays):
        joined[position : position + piece.nbytes] = np.frombuffer(piece, np.uint8) if piece.nbytes else ()
        position += piece.nbytes
    return joined


def allocate_aligned(size: int) -> np.ndarray:
    """`size` bytes of any content that start at a multiple of `ALIGNMENT`."""
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -find_address(raw) % ALIGNMENT
    return raw[start : start + size]


def find_address(array: np.ndarray) -> int:
    """Where the first byte of an array of bytes lies."""
    # numpy's own way is the slower one, which a run of a small model feels; the other takes no constant arrays.
    if array.nbytes and array.flags.writeable and array.flags.c_contiguous:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return array.ctypes.data


def _view_bytes(tensor: Tensor, array: np.ndarray) -> memoryview:
    if tensor.dtype == STRING:
        return memoryview(encode_strings(array))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
