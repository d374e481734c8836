"""The manifest of an artifact: what it is, what it takes and gives, and the digests of its entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from autofusion.artifact.digests import METHOD
from autofusion.plan import Plan, Setting, Size
from autofusion.plan.dtypes import ARRAY_NAMES
from autofusion.plan.fields import Fields, format_json, parse_json
from autofusion.plan.serial import decode_setting, encode_setting
from autofusion.record import Record

FORMAT = 1
"""Version of the format that is written."""

OLDEST = max(1, FORMAT - 1)
"""Oldest version of the format that is read."""

MANIFEST, GRAPH, PLAN, WEIGHTS, REPORT = "manifest.json", "graph.onnx", "plan.json", "weights.bin", "report.json"
ENTRIES = (WEIGHTS, MANIFEST, PLAN, GRAPH, REPORT)
"""Every entry of an artifact, in the order of the file."""

_KEYS = ("format", "tool", "backend", "inputs", "outputs", "options", "source", "entries", "blocks")


class TensorInfo(Record):
    """An input or output of the model; `dtype` as arrays have it (`float32`), extents are numbers or size texts.

    `shape` is None where only a run can tell it.  Types that numpy lacks have the names of ml_dtypes, and texts are
    `string`.
    """

    name: str
    dtype: str
    shape: tuple[Size, ...] | None


class EntryRecord(Record):
    """Size and SHA-256 (hexadecimal) of one entry."""

    bytes: int
    sha256: str


class Manifest(Record):
    """What an artifact says of itself.

    `options` are the normalised options of the compilation, `source_name` and `source_sha256` name
    the model it was made from, `entries` has a record for every entry but the manifest itself,
    and `blocks` the digest of every MiB of the weights.
    """

    tool: str
    backend: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    options: Mapping[str, Setting]
    source_name: str
    source_sha256: str
    entries: Mapping[str, EntryRecord]
    blocks: tuple[str, ...]
    format: int = FORMAT


class UnknownFormatError(ValueError):
    """The manifest is of a format version that this program does not read."""


def describe_tensors(plan: Plan, names: Iterable[str]) -> tuple[TensorInfo, ...]:
    """Name, type and shape of the buffers `names` of `plan`."""
    return tuple(
        TensorInfo(name, ARRAY_NAMES.get(plan.buffers[name].dtype, ""), plan.buffers[name].shape) for name in names
    )


def dump_manifest(manifest: Manifest) -> str:
    """The canonical JSON text of `manifest`; raises ValueError where an option is no `Setting`."""
    return format_json(
        {
            "format": manifest.format,
            "tool": manifest.tool,
            "backend": manifest.backend,
            "inputs": [info._asdict() for info in manifest.inputs],
            "outputs": [info._asdict() for info in manifest.outputs],
            "options": encode_setting(manifest.options),
            "source": {"name": manifest.source_name, "sha256": manifest.source_sha256},
            "entries": {name: record._asdict() for name, record in manifest.entries.items()},
            "blocks": {"method": METHOD, "digests": manifest.blocks},
        }
    )


def parse_manifest(text: bytes) -> Manifest:
    """The inverse of `dump_manifest`.

    Raises UnknownFormatError for another format version and ValueError, naming the place, for
    anything else that is no manifest.
    """
    value = parse_json(text)
    version: object = cast(dict[str, object], value).get("format") if isinstance(value, dict) else None
    if type(version) is not int:
        raise ValueError("manifest has no format version")
    if not OLDEST <= version <= FORMAT:
        raise UnknownFormatError(f"format version is {version}")
    fields = Fields("manifest", cast(object, value), _KEYS)
    source = Fields("manifest.source", fields.fields["source"], ("name", "sha256"))
    blocks = Fields("manifest.blocks", fields.fields["blocks"], ("method", "digests"))
    blocks.choice("method", (METHOD,))
    options = decode_setting(fields.object("options"))
    if not isinstance(options, dict):
        raise ValueError("manifest.options is no object")
    return Manifest(
        format=version,
        tool=fields.text("tool"),
        backend=fields.text("backend"),
        inputs=_read_tensors(fields, "inputs"),
        outputs=_read_tensors(fields, "outputs"),
        options=options,
        source_name=source.text("name"),
        source_sha256=source.text("sha256"),
        entries=_read_entries(fields),
        blocks=blocks.texts("digests"),
    )


def _read_tensors(fields: Fields, name: str) -> tuple[TensorInfo, ...]:
    records = fields.records(name, ("name", "dtype", "shape"))
    return tuple(
        TensorInfo(record.text("name"), record.text("dtype"), record.optional_sizes("shape")) for record in records
    )


def _read_entries(fields: Fields) -> dict[str, EntryRecord]:
    entries: dict[str, EntryRecord] = {}
    for name, value in fields.object("entries").items():
        record = Fields(f"manifest.entries.{name:.40}", value, ("bytes", "sha256"))
        entries[name] = EntryRecord(record.number("bytes"), record.text("sha256"))
    return entries
