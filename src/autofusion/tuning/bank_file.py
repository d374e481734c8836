"""Tuning banks as files: JSON of a version, read with every entry checked and written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import BinaryIO

from autofusion.artifact.publish import publish_files
from autofusion.decisions import Section
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.fusion.control_file import malformed, read_control_file
from autofusion.plan.fields import parse_json
from autofusion.tuning.bank import SECTIONS, Bank, merge_choices
from autofusion.tuning.choices import UnknownAlgorithm, as_table, describe_choices, read_choices

VERSION = 1

SUFFIX = ".json"
"""Suffix of the files of a folder that are banks."""

_KIND = "tuning bank"
_WRITE = "`autofusion compile MODEL -o OUT --write-bank FILE`"
_REMEDY = f"{_WRITE} writes one to begin with"


def read_bank(path: Path, sections: Collection[Section] = SECTIONS) -> Bank:
    """The choices in a file, or in all files `*.json` of a folder in the order of their names, for `sections`.

    Raises UsageError: AF218 where there is none or it is empty, AF217 where it is damaged or has another form, AF234
    for another version, AF235 for an algorithm that there is not.
    """
    files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        message = f"the folder {path.name!r} has no {_KIND}: no file of it ends in {SUFFIX}"
        raise UsageError(Diagnostic("AF218", message, help=_REMEDY))
    banks = [parse_bank(read_control_file(file, _KIND, _REMEDY), file) for file in files]
    choices = {key: choice for key, choice in merge_choices(banks).items() if key.section in sections}
    return Bank(path.resolve().name, choices)


def parse_bank(text: str, path: Path) -> Bank:
    """The bank that stands in `text`, the content of the file `path`; raises what `read_bank` does."""
    try:
        content = parse_json(text)
    except json.JSONDecodeError as error:
        raise malformed(path, _KIND, f"it is no JSON: {error.msg}", _REMEDY, error.lineno) from error
    except ValueError as error:
        raise malformed(path, _KIND, str(error), _REMEDY) from error
    try:
        table = as_table(content, "it")
        _check_version(table, path)
        return Bank(path.name, read_choices({name: table[name] for name in table if name != "version"}))
    except UnknownAlgorithm as error:
        message = f"the {_KIND} {path.name!r} has {error}"
        raise UsageError(Diagnostic("AF235", message, help=error.help)) from error
    except ValueError as error:
        raise malformed(path, _KIND, str(error), _REMEDY) from error


def render_bank(bank: Bank) -> str:
    """The bank as the text of a file: the same choices give the same bytes."""
    return json.dumps({"version": VERSION, **describe_choices(bank.choices)}, indent=2, sort_keys=True) + "\n"


def write_bank(path: Path, bank: Bank) -> None:
    """Write the bank to the file `path`, over an earlier one; raises ArtifactError AF515 or AF516 where it cannot."""
    publish_files({path: partial(_write, render_bank(bank).encode())})


def _write(data: bytes, file: BinaryIO) -> None:
    file.write(data)


def _check_version(table: dict[str, object], path: Path) -> None:
    version = table.get("version")
    if type(version) is not int:
        raise ValueError("it has no version, which is a number")
    if version != VERSION:
        message = f"the {_KIND} {path.name!r} has version {version}, this compiler reads version {VERSION}"
        raise UsageError(Diagnostic("AF234", message, help=f"write it again with {_WRITE}"))
