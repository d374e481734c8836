"""Digests of the weights, one per MiB: taken piece by piece when they are written, in parallel when they are loaded."""

from __future__ import annotations

import _thread
import importlib
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from autofusion.artifact.processors import count_processors

BLOCK = 1 << 20
"""Bytes under one digest."""

METHOD = "crc32"
"""Name of the digest in the manifest.

It finds damage, not forgery, and is the fastest one of the standard library: several times the
speed of SHA-256 where the processor has carry-less multiplication.
"""

_SHARE = 4  # blocks for which starting a thread pays

_BLOCK_LATER = (
    *(0x56F5CAB9, 0xADEB9572, 0x80A62CA5, 0xDA3D5F0B, 0x6F0BB857, 0xDE1770AE, 0x675FE71D, 0xCEBFCE3A),
    *(0x460E9A35, 0x8C1D346A, 0xC34B6E95, 0x5DE7DB6B, 0xBBCFB6D6, 0xACEE6BED, 0x82ADD19B, 0xDE2AA577),
    *(0x67244CAF, 0xCE48995E, 0x47E034FD, 0x8FC069FA, 0xC4F1D5B5, 0x5292AD2B, 0xA5255A56, 0x913BB2ED),
    *(0xF906639B, 0x297DC177, 0x52FB82EE, 0xA5F705DC, 0x909F0DF9, 0xFA4F1DB3, 0x2FEF3D27, 0x5FDE7A4E),
)
"""What a CRC-32 with one bit set becomes by `BLOCK` zero bytes: the 2 ** 23th power of its step, bit by bit."""


def hash_bytes(data: memoryview) -> str:
    """The SHA-256 of `data`, in hexadecimal digits."""
    return _find_sha256()(data).hexdigest()


def _find_sha256() -> Callable[[memoryview], Any]:
    # hashlib loads OpenSSL, which takes longer than most plans take to hash.
    for name in ("_sha256", "_sha2"):
        try:
            return importlib.import_module(name).sha256
        except ImportError:
            continue
    return importlib.import_module("hashlib").sha256


def digest_pieces(pieces: Iterable[memoryview]) -> tuple[str, ...]:
    """The digests of the consecutive blocks of `pieces` joined, eight hexadecimal digits each."""
    digests: list[str] = []
    crc, room = 0, BLOCK
    for piece in pieces:
        start = 0
        while start < piece.nbytes:
            part = piece[start : start + room]
            crc, start, room = zlib.crc32(part, crc), start + part.nbytes, room - part.nbytes
            if room == 0:
                digests.append(_spell_digest(crc))
                crc, room = 0, BLOCK
    return (*digests, _spell_digest(crc)) if room < BLOCK else tuple(digests)


class BlockCheck:
    """The bytes `data` and the digests that they should have, which other threads read.

    There are as many threads as processors but one, which is left to the caller: until `finish`, he has time for as
    many blocks as `ahead` says, and the others take those too.  Raises ValueError where there are not as many
    digests as blocks.
    """

    def __init__(self, data: memoryview, expected: Sequence[str], ahead: int = 0) -> None:
        count = -(-data.nbytes // BLOCK)
        if len(expected) != count:
            raise ValueError(f"{count} MiB, the manifest says {len(expected)}")
        self._data = data
        self._expected = expected
        whole = data.nbytes // BLOCK
        workers = max(0, min(count_processors() - 1, whole // _SHARE))
        others = min(whole, (whole * workers + ahead) // (workers + 1)) if workers else 0
        self._places = [others * worker // workers for worker in range(workers)] + [others, whole]
        self._found = [0] * (workers + 1)
        self._unbegun = [_thread.allocate_lock() for _ in range(workers)]
        self._unfinished = [_thread.allocate_lock() for _ in range(workers)]
        for lock in (*self._unbegun, *self._unfinished):
            lock.acquire()
        for worker in range(workers):
            _thread.start_new_thread(self._read_aside, (worker,))

    def await_others(self) -> None:
        """Return when all other threads read: until then they may wait for the interpreter for milliseconds."""
        for lock in self._unbegun:
            lock.acquire()

    def finish(self) -> int | None:
        """Read the rest; the number of the first block that does not fit its digest, None where all do."""
        self._read(len(self._unfinished))
        expected = [self._join_expected(*self._places[worker : worker + 2]) for worker in range(len(self._found))]
        for lock in self._unfinished:
            lock.acquire()
        for worker, (found, number) in enumerate(zip(self._found, expected, strict=True)):
            if found != number:
                return self._find_damage(*self._places[worker : worker + 2])
        # The last block may be shorter than the others.
        whole = self._places[-1]
        rest = self._data[whole * BLOCK :]
        return whole if rest.nbytes and zlib.crc32(rest) != _parse_digest(self._expected[whole]) else None

    def _read_aside(self, worker: int) -> None:
        self._unbegun[worker].release()
        try:
            self._read(worker)
        finally:
            self._unfinished[worker].release()

    def _read(self, worker: int) -> None:
        # One call for all blocks: a thread that ends a call waits until another one gives the interpreter up.
        first, last = self._places[worker : worker + 2]
        self._found[worker] = zlib.crc32(self._data[first * BLOCK : last * BLOCK])

    def _join_expected(self, first: int, last: int) -> int | None:
        """The CRC-32 of the blocks `first` to `last` (not included) together; None where a digest is no number."""
        crc = 0
        for digest in self._expected[first:last]:
            number = _parse_digest(digest)
            if number is None:
                return None
            crc = _advance(crc) ^ number
        return crc

    def _find_damage(self, first: int, last: int) -> int:
        for index in range(first, last):
            block = self._data[index * BLOCK : (index + 1) * BLOCK]
            if zlib.crc32(block) != _parse_digest(self._expected[index]):
                return index
        return first


def _parse_digest(digest: str) -> int | None:
    try:
        number = int(digest, 16)
    except ValueError:
        return None
    return number if digest == _spell_digest(number) else None


def _spell_digest(crc: int) -> str:
    return f"{crc:08x}"


def _advance(crc: int) -> int:
    """The CRC-32 of bytes as part of that of the same bytes with another block behind them."""
    advanced = 0
    for bit, image in enumerate(_BLOCK_LATER):
        if crc >> bit & 1:
            advanced ^= image
    return advanced
