"""The protobuf wire format, as far as needed to lift the weights out of a model file before it is parsed.

A parsed protobuf message holds a copy of every byte and frees nothing before it is dropped as
a whole.  So the file is walked first: each `raw_data` of some size is left out, and an
`external_data` entry says where in the file its bytes lie.  What remains is small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EMBEDDED_KEY: Final = "autofusion.embedded"
"""Key of the `external_data` entry that stands for bytes left out; its value is `offset:length` in the model file."""

BULK_BYTES: Final = 1024
"""Shorter tensors stay in the message."""

_MAX_DEPTH: Final = 100

_TENSOR: Final = "tensor"
_RAW_DATA: Final = 9
_EXTERNAL_DATA: Final = 13

# Message type -> field number -> type of the message in that field, for all roads that lead to a tensor.
_FIELDS: Final[Mapping[str, Mapping[int, str]]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: _TENSOR, 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: _TENSOR, 6: "graph", 10: _TENSOR, 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: _TENSOR, 2: _TENSOR},
    _TENSOR: {},
}


class WireError(ValueError):
    """The bytes are no protobuf message."""


def lift_weights(data: memoryview) -> bytes:
    """The serialized ModelProto `data` without bulky `raw_data`; raises WireError where the message is malformed."""
    return _lift(data, 0, len(data), "model", 0)


def read_embedded(text: str) -> tuple[int, int]:
    """Offset and length from the value of an `EMBEDDED_KEY` entry; raises ValueError for anything else."""
    offset, _, length = text.partition(":")
    if not (text.isascii() and offset.isdigit() and length.isdigit() and len(text) < 40):
        raise ValueError(f"{text!r} is no place in a file")
    return int(offset), int(length)


def _lift(data: memoryview, start: int, end: int, message: str, depth: int) -> bytes:
    if depth > _MAX_DEPTH:
        raise WireError(f"messages are nested deeper than {_MAX_DEPTH}")
    children = _FIELDS[message]
    pieces: list[bytes] = []
    kept_from = at = start
    while at < end:
        field_at = at
        tag, at = _read_varint(data, at, end)
        if tag & 7 != 2:
            at = _skip_scalar(data, at, end, tag & 7)
            continue
        length, at = _read_varint(data, at, end)
        content_at, at = at, at + length
        if at > end:
            raise WireError(f"field {tag >> 3} at byte {field_at} runs past the end of its message")
        if length < BULK_BYTES:
            continue
        if message == _TENSOR and tag >> 3 == _RAW_DATA:
            replacement = _delimited(_EXTERNAL_DATA, _entry(EMBEDDED_KEY, f"{content_at}:{length}"))
        elif tag >> 3 in children:
            replacement = _delimited(tag >> 3, _lift(data, content_at, at, children[tag >> 3], depth + 1))
        else:
            continue
        pieces += [bytes(data[kept_from:field_at]), replacement]
        kept_from = at
    pieces.append(bytes(data[kept_from:end]))
    return b"".join(pieces)


def _skip_scalar(data: memoryview, at: int, end: int, kind: int) -> int:
    if kind == 0:
        return _read_varint(data, at, end)[1]
    after = at + {1: 8, 5: 4}.get(kind, end + 1)
    if after > end:
        raise WireError(f"no field of a model begins at byte {at}")
    return after


def _read_varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise WireError(f"a number breaks off at byte {at}")


def _entry(key: str, value: str) -> bytes:
    return _delimited(1, key.encode()) + _delimited(2, value.encode())


def _delimited(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
