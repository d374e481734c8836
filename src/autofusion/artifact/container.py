"""The ZIP layer of an artifact: stored entries, one after the other, with nothing between or around them.

What is written depends on the entries alone.  What is read must have the same strict layout; how a
ZIP may be spelt otherwise (compression, comments, gaps, overlaps, data descriptors) is refused.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from autofusion.record import Record

ALIGNMENT = 65536
"""Multiple of bytes at which the first entry's data start in the file; a whole page on every processor."""

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR64 = struct.Struct("<4sIQI")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_END64_MARK, _LOCATOR64_MARK = b"PK\6\6", b"PK\6\7"
_EXTRA_HEADER = struct.Struct("<2H")
_EXTRA_SIZES, _EXTRA_PADDING = 0x0001, 0x4647
_DATE = 0x0021  # 1 January 1980, the first day that ZIP knows
_VERSION, _VERSION64 = 20, 45
_MAX16, _MAX32 = 0xFFFF, 0xFFFFFFFF


class Entry(Record):
    """Where the bytes of one entry stand in the file, and their CRC-32."""

    name: str
    header: int
    offset: int
    size: int
    crc: int


def write_container(file: BinaryIO, entries: Mapping[str, Sequence[memoryview]], large: int = _MAX32) -> None:
    """Write `entries`, names of ASCII letters to pieces of bytes, in their order; the first one's data are aligned.

    Sizes and offsets from `large` on take the 64-bit form.  Raises OSError.
    """
    written: list[Entry] = []
    position = 0
    for name, pieces in entries.items():
        header = position
        size, crc = sum(piece.nbytes for piece in pieces), _digest(pieces)
        wide = size >= large
        extra = _pack_sizes(size, size) if wide else b""
        if not written:
            extra += _pack_padding(ALIGNMENT - _LOCAL.size - len(name) - len(extra))
        sizes = (_MAX32, _MAX32) if wide else (size, size)
        version = _VERSION64 if wide else _VERSION
        file.write(_LOCAL.pack(_LOCAL_MARK, version, 0, 0, 0, _DATE, crc, *sizes, len(name), len(extra)))
        file.write(name.encode("ascii") + extra)
        for piece in pieces:
            file.write(piece)
        offset = header + _LOCAL.size + len(name) + len(extra)
        position = offset + size
        written.append(Entry(name, header, offset, size, crc))
    directory = b"".join(_pack_central(entry, large) for entry in written)
    file.write(directory)
    file.write(_pack_end(len(written), len(directory), position, large))


def read_container(data: memoryview) -> dict[str, Entry]:
    """The entries of a container, by name, in the order of the file; raises ValueError, saying what is wrong.

    Names are unique and plain file names; entries are stored and fill the file without gap or overlap.
    """
    count, start, stop = _read_end(data)
    found: dict[str, Entry] = {}
    position, expected = start, 0
    for _ in range(count):
        central, position = _read_central(data, position, stop)
        if central.header != expected:
            raise ValueError(f"entry {central.name!r} does not start where the one before it ends")
        if central.name in found:
            raise ValueError(f"entry {central.name!r} occurs twice")
        offset = _read_local(data, central)
        expected = offset + central.size
        if expected > start:
            raise ValueError(f"entry {central.name!r} reaches past the entries")
        found[central.name] = Entry(central.name, central.header, offset, central.size, central.crc)
    if position != stop or expected != start:
        raise ValueError("there are bytes that belong to no entry")
    return found


def _digest(pieces: Sequence[memoryview]) -> int:
    crc = 0
    for piece in pieces:
        crc = zlib.crc32(piece, crc)
    return crc


def _pack_sizes(*numbers: int) -> bytes:
    return _EXTRA_HEADER.pack(_EXTRA_SIZES, 8 * len(numbers)) + struct.pack(f"<{len(numbers)}Q", *numbers)


def _pack_padding(size: int) -> bytes:
    return _EXTRA_HEADER.pack(_EXTRA_PADDING, size - _EXTRA_HEADER.size) + bytes(size - _EXTRA_HEADER.size)


def _pack_central(entry: Entry, large: int) -> bytes:
    wide = [number for number in (entry.size, entry.size, entry.header) if number >= large]
    extra = _pack_sizes(*wide) if wide else b""
    size = _MAX32 if entry.size >= large else entry.size
    header = _MAX32 if entry.header >= large else entry.header
    version = _VERSION64 if wide else _VERSION
    name = entry.name.encode("ascii")
    fixed = (_CENTRAL_MARK, version, version, 0, 0, 0, _DATE, entry.crc, size, size, len(name), len(extra))
    return _CENTRAL.pack(*fixed, 0, 0, 0, 0, header) + name + extra


def _pack_end(count: int, size: int, start: int, large: int) -> bytes:
    if start < large:
        return _END.pack(_END_MARK, 0, 0, count, count, size, start, 0)
    end64 = _END64.pack(_END64_MARK, _END64.size - 12, _VERSION64, _VERSION64, 0, 0, count, count, size, start)
    locator = _LOCATOR64.pack(_LOCATOR64_MARK, 0, start + size, 1)
    return end64 + locator + _END.pack(_END_MARK, 0, 0, count, count, size, _MAX32, 0)


def _read_end(data: memoryview) -> tuple[int, int, int]:
    """Number of entries, and begin and end of the central directory."""
    stop = data.nbytes - _END.size
    if stop < 0 or bytes(data[stop : stop + 4]) != _END_MARK:
        raise ValueError("it does not end as a ZIP file does")
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(data, stop)
    if disk or first_disk or here != count or comment:
        raise ValueError("it is a ZIP file of several parts or with a comment")
    if start == _MAX32:
        stop -= _LOCATOR64.size + _END64.size
        if stop < 0 or bytes(data[stop : stop + 4]) != _END64_MARK:
            raise ValueError("its 64-bit directory is missing")
        _, length, _, _, disk, first_disk, here, count, size, start = _END64.unpack_from(data, stop)
        mark, locator_disk, position, disks = _LOCATOR64.unpack_from(data, stop + _END64.size)
        if (mark, locator_disk, position, disks) != (_LOCATOR64_MARK, 0, stop, 1) or length != _END64.size - 12:
            raise ValueError("its 64-bit directory is damaged")
        if disk or first_disk or here != count:
            raise ValueError("it is a ZIP file of several parts")
    if start + size != stop:
        raise ValueError("its directory does not stand where its end says")
    return count, start, stop


def _read_central(data: memoryview, position: int, stop: int) -> tuple[Entry, int]:
    """One record of the central directory, as an Entry whose offset is not known yet, and where the next begins."""
    after = position + _CENTRAL.size
    if after > stop or bytes(data[position : position + 4]) != _CENTRAL_MARK:
        raise ValueError("its directory is damaged")
    fields = _CENTRAL.unpack_from(data, position)
    flags, method, crc, packed, size, name_length, extra_length, comment, disk = (*fields[3:5], *fields[7:14])
    header = fields[16]
    name_end, end = after + name_length, after + name_length + extra_length
    if end > stop:
        raise ValueError("its directory is truncated")
    name = _check_name(bytes(data[after:name_end]))
    if method != 0 or packed != size:
        raise ValueError(f"entry {name!r} is compressed")
    if flags or comment or disk:
        raise ValueError(f"entry {name!r} is encrypted or spelt in a way that artifacts do not have")
    wide = _read_sizes(bytes(data[name_end:end]))
    expected = (2 if size == _MAX32 else 0) + (1 if header == _MAX32 else 0)
    if len(wide) != expected:
        raise ValueError(f"entry {name!r} has a damaged size")
    if size == _MAX32:
        packed, size = wide[0], wide[1]
    if header == _MAX32:
        header = wide[-1]
    if packed != size:
        raise ValueError(f"entry {name!r} is compressed")
    return Entry(name, header, 0, size, crc), end


def _read_local(data: memoryview, entry: Entry) -> int:
    """Where the data of `entry` begin; its local header must say what the directory says."""
    after = entry.header + _LOCAL.size
    if after > data.nbytes:
        raise ValueError(f"entry {entry.name!r} is truncated")
    mark, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack_from(data, entry.header)
    offset = after + name_length + extra_length
    if offset > data.nbytes:
        raise ValueError(f"entry {entry.name!r} is truncated")
    extra = bytes(data[after + name_length : offset])
    if size == _MAX32:
        sizes = _read_sizes(extra[: _EXTRA_HEADER.size + 16])
        packed, size = sizes if len(sizes) == 2 else (packed, size)
    same = (mark, flags, method, crc, packed, size) == (_LOCAL_MARK, 0, 0, entry.crc, entry.size, entry.size)
    if not same or bytes(data[after : after + name_length]) != entry.name.encode("ascii"):
        raise ValueError(f"entry {entry.name!r} has another header than the directory says")
    return offset


def _read_sizes(extra: bytes) -> tuple[int, ...]:
    """The numbers of a 64-bit extra field, which must be the only one; none for no field."""
    if not extra:
        return ()
    if len(extra) < _EXTRA_HEADER.size or (len(extra) - _EXTRA_HEADER.size) % 8:
        raise ValueError("an entry has a damaged extra field")
    kind, size = _EXTRA_HEADER.unpack_from(extra)
    if kind != _EXTRA_SIZES or size != len(extra) - _EXTRA_HEADER.size:
        raise ValueError("an entry has an unknown extra field")
    return struct.unpack(f"<{size // 8}Q", extra[_EXTRA_HEADER.size :])


def _check_name(name: bytes) -> str:
    text = name.decode("ascii", "backslashreplace")
    plain = text.replace(".", "").replace("_", "").replace("-", "")
    if not (name.isascii() and plain.isalnum() and not text.startswith(".")):
        raise ValueError(f"entry {text!r:.80} has a name that no artifact uses")
    return text
