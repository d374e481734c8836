"""The file of nodes that keep their element types: one ONNX name, or `OpType::` and an operator type, a line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autofusion.fusion.control_file import malformed, read_control_file

if TYPE_CHECKING:
    from autofusion.precision import Mode, Precision

_KIND = "file of nodes that keep their type"
_REMEDY = "write one name of a node a line, or OpType:: and an operator type, as in OpType::Conv"
_TYPE = "OpType::"


def read_precision(mode: Mode, path: Path | None) -> Precision:
    """Mode `mode` but for the nodes that the file names, none without a file; `#` begins a comment line.

    Raises UsageError AF218 where the file is absent or empty, AF217 where it has another form.
    """
    from autofusion.precision import Precision

    if path is None:
        return Precision(mode)
    names: dict[str, str] = {}
    types: dict[str, str] = {}
    for number, line in enumerate(read_control_file(path, _KIND, _REMEDY).splitlines(), start=1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        if not entry.startswith(_TYPE):
            names[entry] = path.name
            continue
        op = entry.removeprefix(_TYPE).strip()
        if not op:
            raise malformed(path, _KIND, f"no operator type follows {_TYPE}", _REMEDY, number)
        types[op] = path.name
    return Precision(mode, names, types)
