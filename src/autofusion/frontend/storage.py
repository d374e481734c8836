"""The bytes of a model: its file, the external files beside it, and the digest over both."""

from __future__ import annotations

import hashlib
import mmap
from io import FileIO
from pathlib import Path

import numpy as np

from autofusion.errors import ModelError
from autofusion.frontend.faults import (
    CORRUPT_TENSOR,
    EMPTY_FILE,
    EXTERNAL_MISSING,
    EXTERNAL_PATH,
    EXTERNAL_RANGE,
    NO_FILE,
    NOT_A_MODEL,
    fault,
)
from autofusion.frontend.wire import WireError, lift_weights

_HASH_BLOCK = 1 << 20


class Storage:
    """The model file `path` and the external files that its tensors name.

    Every byte of a weight is held once: embedded weights are read into an array of their own,
    external ones are mapped into memory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._maps: dict[Path, mmap.mmap | None] = {}
        self._locations: dict[str, Path] = {}

    def read_structure(self) -> bytes:
        """The serialized model without bulky weights; raises ModelError where there is no model file."""
        with _open_file(self.path) as file:
            if not self.path.stat().st_size:
                raise fault(EMPTY_FILE, f"model file {self.path.name!r} is empty", "export or download it again")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
                try:
                    return lift_weights(data)
                except WireError as error:
                    raise not_a_model(self.path.name, str(error)) from error

    def read_embedded(self, offset: int, length: int, tensor: str) -> np.ndarray:
        """Bytes of the model file itself."""
        if offset + length > self.path.stat().st_size:
            raise fault(CORRUPT_TENSOR, f"the bytes of tensor {tensor!r} lie outside the model file")
        place = np.empty(length, np.uint8)
        rest = place.data
        with _open_file(self.path) as file:
            file.seek(offset)
            # One call reads less than 2 GiB.
            while rest and (count := file.readinto(rest)):
                rest = rest[count:]
        if rest:
            raise fault(CORRUPT_TENSOR, f"the model file ended while tensor {tensor!r} was read")
        return place

    def map_external(self, location: str, offset: int, length: int | None, tensor: str) -> np.ndarray:
        """Bytes of the external file `location` from `offset` on, to its end without `length`.

        Raises ModelError where the file is missing, lies outside the model's folder (symbolic
        links resolved) or is too short; nothing of a file outside is read.
        """
        path = self._resolve(location, tensor)
        size = path.stat().st_size
        count = max(size - offset, 0) if length is None else length
        if offset < 0 or count < 0 or offset + count > size:
            raise fault(
                EXTERNAL_RANGE,
                f"tensor {tensor!r} takes bytes {offset} to {offset + count} of {location!r}, which has {size}",
                "the file is cut off or belongs to another model; copy it again",
            )
        mapped = self._map(path)
        if mapped is None or not count:
            return np.empty(0, np.uint8)
        return np.frombuffer(mapped, np.uint8, count, offset)

    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the model file followed by its external files in order of their locations."""
        state = hashlib.sha256()
        for path in (self.path, *(self._locations[location] for location in sorted(self._locations))):
            with _open_file(path) as file:
                while block := file.read(_HASH_BLOCK):
                    state.update(block)
        return state.hexdigest()

    def _resolve(self, location: str, tensor: str) -> Path:
        known = self._locations.get(location)
        if known is not None:
            return known
        if not location or "\0" in location:
            raise fault(EXTERNAL_PATH, f"external data of tensor {tensor!r} names no file")
        path = (self.path.parent / location).resolve()
        # A model that is a link itself may have its data beside the file that it points to.
        homes = (self.path.parent.resolve(), self.path.resolve().parent)
        if Path(location).is_absolute() or not any(path.is_relative_to(home) for home in homes):
            link = f", a link to {str(path)!r}" if (self.path.parent / location).is_symlink() else ""
            raise fault(
                EXTERNAL_PATH,
                f"external data of tensor {tensor!r} lies outside the model's folder: {location!r}{link}",
                "put the file beside the model and name it by a relative path",
            )
        if not path.is_file():
            raise fault(
                EXTERNAL_MISSING,
                f"external data file {location!r} of tensor {tensor!r} does not exist",
                "copy it beside the model file",
            )
        self._locations[location] = path
        return path

    def _map(self, path: Path) -> mmap.mmap | None:
        if path not in self._maps:
            with _open_file(path) as file:
                empty = not path.stat().st_size
                self._maps[path] = None if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._maps[path]


def not_a_model(name: str, cause: str) -> ModelError:
    """The error to raise for a file that does not hold an ONNX model."""
    remedy = "the file is damaged, cut off or of another kind; export or download it again"
    return fault(NOT_A_MODEL, f"{name!r} is no ONNX model: {cause}", remedy)


def _open_file(path: Path) -> FileIO:
    try:
        if not path.is_file():
            kind = "is a folder" if path.is_dir() else "is no regular file" if path.exists() else "does not exist"
            raise fault(NO_FILE, f"model file {str(path)!r} {kind}")
        return path.open("rb", buffering=0)
    except OSError as error:
        raise fault(NO_FILE, f"cannot read {str(path)!r}: {error.strerror}") from error
