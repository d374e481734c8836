"""The file of nodes that stay out of every fusion: sections by name and by operator type, one entry a line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autofusion.fusion.control_file import malformed, read_control_file

_KIND = "file of nodes to skip"
_REMEDY = "write a line [ByNodeName] with names of nodes below it, or [ByNodeType] with operator types"
_SECTIONS = ("ByNodeName", "ByNodeType")


@dataclass(frozen=True)
class SkippedNodes:
    """Names or globs of ONNX nodes, and operator types, each with the name of the file."""

    names: dict[str, str]
    types: dict[str, str]


def read_skip_file(path: Path | None) -> SkippedNodes:
    """The entries of the file, none without a file; `#` begins a comment.

    Raises UsageError AF218 where the file is absent or empty, AF217 where it has another form.
    """
    if path is None:
        return SkippedNodes({}, {})
    entries: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    section = ""
    for number, line in enumerate(read_control_file(path, _KIND, _REMEDY).splitlines(), start=1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        if entry.startswith("[") and entry.endswith("]"):
            section = entry[1:-1].strip()
            if section not in _SECTIONS:
                raise malformed(path, _KIND, f"there is no section {section!r}", _REMEDY, number)
            continue
        if not section:
            raise malformed(path, _KIND, f"{entry!r} stands in no section", _REMEDY, number)
        entries[section][entry] = path.name
    return SkippedNodes(entries["ByNodeName"], entries["ByNodeType"])
