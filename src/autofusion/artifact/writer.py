"""What the compiler made -> the artifact and the report files beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from autofusion.artifact.checks import check_plan
from autofusion.artifact.container import write_container
from autofusion.artifact.digests import digest_pieces
from autofusion.artifact.manifest import (
    ENTRIES,
    GRAPH,
    MANIFEST,
    PLAN,
    REPORT,
    WEIGHTS,
    EntryRecord,
    Manifest,
    describe_tensors,
    dump_manifest,
)
from autofusion.artifact.publish import publish_files
from autofusion.artifact.weights import lay_out_weights
from autofusion.diagnostics import Diagnostic
from autofusion.errors import InternalError
from autofusion.plan import Plan, Setting
from autofusion.plan.serial import dump_plan
from autofusion.version import VERSION

SUFFIX = ".om"
"""Suffix of artifacts."""


@dataclass(frozen=True, eq=False)
class ArtifactContents:
    """What goes into an artifact.

    `weights` are the contents of the plan's tensors, in their order (strings as object arrays);
    `graph` is the serialised ONNX model without weights; `report` the fusion report as JSON text.
    `options` must hold neither folders nor anything else that differs from machine to machine.
    """

    plan: Plan
    weights: Sequence[np.ndarray]
    graph: bytes
    report: str
    options: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    source_name: str = ""
    source_sha256: str = ""


def write_artifact(path: str | Path, contents: ArtifactContents, beside: Mapping[str, bytes] | None = None) -> Path:
    """Write `contents` to `path` and return it as a Path.

    Equal contents give equal bytes, whatever the machine and the folder.

    Args:
        path: The artifact; by convention it ends in `.om`.
        contents: What goes into it.
        beside: More files of the same folder that appear together with it: what follows the
            artifact's name without its suffix -> bytes (`{".fusion.txt": b".."}`).

    Raises:
        ArtifactError: AF515, AF516 where the files cannot be written; then none is.
        InternalError: The plan does not hang together.
    """
    target = Path(path)
    entries = pack_entries(contents)
    files = {target: partial(_write_entries, entries)}
    for suffix, data in (beside or {}).items():
        files[target.with_name(target.name.removesuffix(SUFFIX) + suffix)] = partial(_write_bytes, data)
    publish_files(files)
    return target


def pack_entries(contents: ArtifactContents) -> dict[str, Sequence[memoryview]]:
    """The bytes of every entry, in pieces and in the order of the file; raises InternalError for an unsound plan."""
    try:
        weights = tuple(lay_out_weights(contents.plan.tensors, contents.weights))
        check_plan(contents.plan, sum(piece.nbytes for piece in weights))
        plan = dump_plan(contents.plan)
    except ValueError as error:
        raise InternalError(Diagnostic("AF911", f"lowering made an impossible plan: {error}")) from error
    data: dict[str, Sequence[memoryview]] = {
        WEIGHTS: weights,
        PLAN: (memoryview(plan.encode("ascii")),),
        GRAPH: (memoryview(contents.graph),),
        REPORT: (memoryview(contents.report.encode("utf-8")),),
    }
    manifest = Manifest(
        tool=VERSION,
        backend=contents.plan.backend,
        inputs=describe_tensors(contents.plan, contents.plan.inputs),
        outputs=describe_tensors(contents.plan, contents.plan.outputs),
        options=contents.options,
        source_name=contents.source_name,
        source_sha256=contents.source_sha256,
        entries={name: _record_entry(pieces) for name, pieces in data.items()},
        blocks=digest_pieces(weights),
    )
    data[MANIFEST] = (memoryview(dump_manifest(manifest).encode("ascii")),)
    return {name: data[name] for name in ENTRIES}


def _record_entry(pieces: Sequence[memoryview]) -> EntryRecord:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return EntryRecord(sum(piece.nbytes for piece in pieces), digest.hexdigest())


def _write_entries(entries: Mapping[str, Sequence[memoryview]], file: BinaryIO) -> None:
    write_container(file, entries)


def _write_bytes(data: bytes, file: BinaryIO) -> None:
    file.write(data)
