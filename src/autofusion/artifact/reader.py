"""An artifact file -> its checked contents, the weights mapped into memory."""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from autofusion.artifact.checks import check_plan
from autofusion.artifact.container import ALIGNMENT, Entry, read_container
from autofusion.artifact.digests import BlockCheck, hash_bytes
from autofusion.artifact.manifest import (
    ENTRIES,
    FORMAT,
    GRAPH,
    MANIFEST,
    OLDEST,
    PLAN,
    REPORT,
    WEIGHTS,
    Manifest,
    TensorInfo,
    UnknownFormatError,
    describe_tensors,
    parse_manifest,
)
from autofusion.plan import Plan
from autofusion.plan.serial import parse_plan
from autofusion.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from autofusion.errors import ArtifactError

_PLAN_BYTES = 1 << 12
"""Bytes of a plan that are parsed in the time in which another thread reads a MiB of weights."""


class Artifact(Record):
    """A checked artifact.

    `file` is its name as it was given; `weights` are bytes, uint8 and read-only, that stay in the file until they are
    used; `entries` views the bytes of every entry of the file.
    """

    file: str
    manifest: Manifest
    plan: Plan
    weights: np.ndarray
    entries: Mapping[str, memoryview]

    def __repr__(self) -> str:
        """Name, backend, inputs and outputs, and the number of steps."""
        manifest = self.manifest
        flow = f"{_list(manifest.inputs)} -> {_list(manifest.outputs)}"
        return f"Artifact({self.path.name!r}, {manifest.backend}, {flow}, {len(self.plan.steps)} steps)"

    @property
    def path(self) -> Path:
        """Where the artifact lies."""
        from pathlib import Path

        return Path(self.file)

    @property
    def graph(self) -> bytes:
        """The fused graph as a serialised ONNX model without weights; raises ArtifactError AF513 for a forged one."""
        return bytes(self._take(GRAPH))

    @property
    def report(self) -> str:
        """The fusion report as JSON text; raises ArtifactError AF513 for a forged one."""
        return str(self._take(REPORT), "utf-8")

    def _take(self, name: str) -> memoryview:
        data = self.entries[name]
        if hash_bytes(data) != self.manifest.entries[name].sha256:
            raise _refuse(self.file, "AF513", f"the bytes of {name} do not fit their digest")
        return data


def _list(tensors: Iterable[TensorInfo]) -> str:
    return ", ".join(
        f"{info.name} {info.dtype}{'' if info.shape is None else list(info.shape)}".replace("'", "") for info in tensors
    )


class _DamagedError(ValueError):
    """A finding about the file, with the code to report it under."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_artifact(path: str | Path, *, verify_weights: bool = True) -> Artifact:
    """Open and check the artifact at `path`.

    Structure, plan, the CRC-32 of every entry and the SHA-256 of the plan are checked; the weights only if
    `verify_weights`, for they take about 15 milliseconds per 100 MB.  The other SHA-256 are checked where somebody
    asks for what they belong to.

    Raises:
        ArtifactError: AF510 where the file cannot be read, AF511 where it is no artifact or a damaged one,
            AF512 for an unknown format version, AF513 for bytes that do not fit their digest, AF514 for
            a plan that does not hang together.
    """
    file = os.fspath(path)
    data = _map_file(file)
    try:
        return _check_artifact(file, data, verify_weights)
    except _DamagedError as error:
        name, suffix = os.path.splitext(os.path.basename(file))
        if error.code == "AF511" and suffix == ".onnx":
            remedy = f"compile it first: autofusion compile {name}{suffix} -o {name}"
            raise _refuse(file, error.code, "its name is that of an ONNX model", remedy) from error
        raise _refuse(file, error.code, str(error)) from error
    except UnknownFormatError as error:
        text = f"{error}; this program reads {OLDEST}" + (f" to {FORMAT}" if FORMAT > OLDEST else "")
        raise _refuse(file, "AF512", text, "compile the model again, or use the version that wrote it") from error


def _map_file(file: str) -> memoryview:
    try:
        with open(file, "rb") as stream:
            # An empty file cannot be mapped.
            empty = stream.seek(0, 2) == 0
            return memoryview(b"" if empty else mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        help_text = "name an artifact that `autofusion compile` or `atc` wrote"
        raise _refuse(file, "AF510", f"cannot be read: {reason[:1].lower() + reason[1:]}", help_text) from error


def _check_artifact(file: str, data: memoryview, verify_weights: bool) -> Artifact:
    places = _read_places(data)
    entries = {name: data[place.offset : place.offset + place.size] for name, place in places.items()}
    if MANIFEST not in entries:
        raise _DamagedError("AF511", f"it is a ZIP file without {MANIFEST}")
    _check_crc(entries[MANIFEST], places[MANIFEST])
    try:
        manifest = parse_manifest(bytes(entries[MANIFEST]))
    except UnknownFormatError:
        raise
    except ValueError as error:
        raise _DamagedError("AF511", str(error)) from error
    _check_entries(entries, places, manifest)
    check = _start_check(entries, manifest) if verify_weights else None
    _check_bytes(entries, places, manifest)
    if check is not None:
        check.await_others()
    plan = _read_plan(entries, manifest)
    damaged = None if check is None else check.finish()
    if damaged is not None:
        raise _DamagedError("AF513", f"the bytes of {WEIGHTS} do not fit their digest in MiB {damaged}")
    weights = np.frombuffer(entries[WEIGHTS], np.uint8) if entries[WEIGHTS].nbytes else np.empty(0, np.uint8)
    weights.flags.writeable = False
    return Artifact(file, manifest, plan, weights, entries)


def _read_places(data: memoryview) -> dict[str, Entry]:
    try:
        return read_container(data)
    except ValueError as error:
        raise _DamagedError("AF511", str(error)) from error


def _check_entries(entries: Mapping[str, memoryview], places: Mapping[str, Entry], manifest: Manifest) -> None:
    if set(entries) != set(ENTRIES) or set(manifest.entries) != set(ENTRIES) - {MANIFEST}:
        raise _DamagedError("AF511", f"its entries are not {', '.join(sorted(ENTRIES))}")
    for name, record in manifest.entries.items():
        if entries[name].nbytes != record.bytes:
            raise _DamagedError("AF513", f"{name} has {entries[name].nbytes} bytes, the manifest says {record.bytes}")
    if places[WEIGHTS].offset % ALIGNMENT:
        raise _DamagedError("AF511", f"{WEIGHTS} does not start at a multiple of {ALIGNMENT} bytes")


def _check_bytes(entries: Mapping[str, memoryview], places: Mapping[str, Entry], manifest: Manifest) -> None:
    for name in (PLAN, GRAPH, REPORT):
        _check_crc(entries[name], places[name])
    if hash_bytes(entries[PLAN]) != manifest.entries[PLAN].sha256:
        raise _DamagedError("AF513", f"the bytes of {PLAN} do not fit their digest")


def _check_crc(data: memoryview, place: Entry) -> None:
    if zlib.crc32(data) != place.crc:
        raise _DamagedError("AF513", f"the bytes of {place.name} do not fit their digest")


def _start_check(entries: Mapping[str, memoryview], manifest: Manifest) -> BlockCheck:
    try:
        return BlockCheck(entries[WEIGHTS], manifest.blocks, entries[PLAN].nbytes // _PLAN_BYTES)
    except ValueError as error:
        raise _DamagedError("AF513", f"{WEIGHTS} has {error}") from error


def _read_plan(entries: Mapping[str, memoryview], manifest: Manifest) -> Plan:
    try:
        plan = parse_plan(bytes(entries[PLAN]))
        check_plan(plan, entries[WEIGHTS].nbytes)
    except ValueError as error:
        raise _DamagedError("AF514", f"its plan is invalid: {error}") from error
    inputs, outputs = describe_tensors(plan, plan.inputs), describe_tensors(plan, plan.outputs)
    if (plan.backend, inputs, outputs) != (manifest.backend, manifest.inputs, manifest.outputs):
        raise _DamagedError("AF514", "its plan has other inputs or outputs than the manifest")
    return plan


def _refuse(file: str, code: str, reason: str, help_text: str = "compile the model again") -> ArtifactError:
    from autofusion.diagnostics import Diagnostic
    from autofusion.errors import ArtifactError

    reason = reason if code == "AF510" else f"is no usable artifact: {reason}"
    return ArtifactError(Diagnostic(code, f"{file!r} {reason}", help=help_text))
