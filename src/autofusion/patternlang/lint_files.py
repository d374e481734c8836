"""Lint of files on disk: every finding of each, names looked up in what else there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autofusion.diagnostics import Diagnostic
from autofusion.ops.custom import CustomOperator
from autofusion.patternlang.findings import place_of
from autofusion.patternlang.header import Reading
from autofusion.patternlang.lint import check_forms, check_pattern, check_statements
from autofusion.patternlang.lint_names import check_predicates
from autofusion.patternlang.load import (
    declared_twice,
    defined_twice,
    find_builtin_patterns,
    is_declaration,
    read_declaration,
    read_file,
)
from autofusion.patternlang.operators import FOLDER
from autofusion.patternlang.surroundings import Surroundings


@dataclass(frozen=True)
class _File:
    """What one file holds: a pattern or the declaration of an operator."""

    path: Path
    pattern: Reading | None
    operator: CustomOperator | None
    faults: tuple[Diagnostic, ...]


def lint_file(path: Path) -> list[Diagnostic]:
    """Every finding in the file at `path`, by line and column, as `lint_files` finds them."""
    return lint_files([path])


def lint_files(paths: Sequence[Path]) -> list[Diagnostic]:
    """Every finding in the files at `paths`, file by file, by line and column.

    In a folder called `operators` a file declares an operator, elsewhere it is a pattern.  Names of patterns and
    operators are looked up in `paths`, in the built-in patterns, in the folder of each file and in the folders
    `normalize`, `fuse` and `operators` beside it; one that two of these files define is a finding too (AF417, AF423).
    """
    files = {path.resolve(): _open(path) for path in paths}
    around = [_open(path) for path in _list_neighbours(paths) if path not in files]
    every = [*around, *files.values()]
    patterns = [file.pattern.pattern for file in every if file.pattern is not None and file.pattern.pattern is not None]
    operators = [file.operator for file in every if file.operator is not None]
    surroundings = Surroundings.of(patterns, {(item.domain, item.name): item for item in operators})
    return [
        finding
        for file in files.values()
        for finding in sorted((*file.faults, *_check(file, every, surroundings)), key=place_of)
    ]


def _open(path: Path) -> _File:
    if is_declaration(path):
        operator, faults = read_declaration(path, str(path))
        return _File(path, None, operator, tuple(faults))
    reading = read_file(path, str(path))
    return _File(path, reading, None, reading.findings)


def _list_neighbours(paths: Sequence[Path]) -> list[Path]:
    builtin = find_builtin_patterns().resolve()
    folders = [builtin / "normalize", builtin / "fuse"]
    for folder in dict.fromkeys(path.resolve().parent for path in paths):
        folders += [folder, *(folder.parent / name for name in ("normalize", "fuse", FOLDER)), folder / FOLDER]
    return list(dict.fromkeys(path for folder in folders for path in sorted(folder.glob("*.toml"))))


def _check(file: _File, every: Sequence[_File], surroundings: Surroundings) -> Iterator[Diagnostic]:
    if file.operator is not None:
        others = [other.operator for other in every if other is not file and other.operator is not None]
        yield from (declared_twice(file.operator, item) for item in others if item.key == file.operator.key)
    pattern = file.pattern.pattern if file.pattern is not None else None
    if file.pattern is None or pattern is None:
        return
    for other in every:
        known = other.pattern.pattern if other.pattern is not None and other is not file else None
        if known is not None and known.name == pattern.name:
            yield defined_twice(pattern, known)
    if file.pattern.has_forms:
        yield from check_pattern(pattern, surroundings)
        return
    yield from check_forms(pattern, surroundings)
    yield from check_statements(pattern, file.pattern.broken, surroundings)
    yield from check_predicates(pattern)
