"""Pattern files and declarations of operators on disk -> patterns and operators, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from autofusion.diagnostics import Diagnostic, Span
from autofusion.errors import InternalError, PatternError
from autofusion.ops.custom import CustomOperator
from autofusion.patternlang.document import Document, read_document
from autofusion.patternlang.findings import place_of
from autofusion.patternlang.header import Reading, read_pattern
from autofusion.patternlang.lint import check_pattern
from autofusion.patternlang.model import Pattern
from autofusion.patternlang.operators import FOLDER, read_operator
from autofusion.patternlang.surroundings import Surroundings

T = TypeVar("T")


def find_builtin_patterns() -> Path:
    """The folder of the patterns that come with the package: inside it in a wheel, beside `src` in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "patterns", package.parents[1] / "patterns"):
        if folder.is_dir():
            return folder
    raise InternalError(
        Diagnostic("AF902", f"the built-in patterns are missing from {package}", help="install the package again")
    )


def load_patterns(directories: Sequence[Path]) -> tuple[Pattern, ...]:
    """All patterns under `directories`, folder by folder, files by their path.

    Raises PatternError for the first fault of a file (AF401 to AF416, AF421 and AF422 in declarations of operators),
    and AF417 or AF423 where two files define one name.
    """
    operators = load_operators(directories)
    patterns: list[Pattern] = []
    by_name: dict[str, Pattern] = {}
    builtin = find_builtin_patterns().resolve()
    for directory in directories:
        is_builtin = directory.resolve() == builtin
        for path, shown in _list_files(directory):
            if is_declaration(path):
                continue
            reading = read_file(path, shown)
            pattern = replace(_accept(reading.pattern, reading.findings), is_builtin=is_builtin)
            first = by_name.setdefault(pattern.name, pattern)
            if first is not pattern:
                raise PatternError(defined_twice(pattern, first))
            patterns.append(pattern)
    surroundings = Surroundings.of(patterns, operators)
    for pattern in patterns:
        _accept(pattern, tuple(check_pattern(pattern, surroundings)))
    return tuple(patterns)


def load_operators(directories: Sequence[Path]) -> dict[tuple[str, str], CustomOperator]:
    """All operators that files in folders called `operators` under `directories` declare, by domain and name.

    Raises PatternError for the first fault of a file (AF401, AF402, AF421, AF422), and AF423 for an operator that is
    defined already.
    """
    operators: dict[tuple[str, str], CustomOperator] = {}
    for directory in directories:
        for path, shown in _list_files(directory):
            if not is_declaration(path):
                continue
            declared, findings = read_declaration(path, shown)
            operator = _accept(declared, tuple(findings))
            first = operators.setdefault((operator.domain, operator.name), operator)
            if first is not operator:
                raise PatternError(declared_twice(operator, first))
    return operators


def is_declaration(path: Path) -> bool:
    """True for a file that declares an operator, which its folder says."""
    return path.resolve().parent.name == FOLDER


def read_file(path: Path, shown: str) -> Reading:
    """The pattern in the file at `path`, which diagnostics call `shown`; AF401 where it cannot be read."""
    document, findings = _open_document(path, shown)
    return Reading(None, findings) if document is None else read_pattern(document)


def read_declaration(path: Path, shown: str) -> tuple[CustomOperator | None, list[Diagnostic]]:
    """The operator that the file at `path` declares, or None and its faults; AF401 where it cannot be read."""
    document, findings = _open_document(path, shown)
    return (None, list(findings)) if document is None else read_operator(document)


def defined_twice(pattern: Pattern, first: Pattern) -> Diagnostic:
    """The finding on `pattern`, whose name `first` has."""
    message = f"pattern {pattern.name!r} is defined in {first.path} already"
    return Diagnostic("AF417", message, help="give it another name", span=pattern.span)


def declared_twice(operator: CustomOperator, first: CustomOperator) -> Diagnostic:
    """The finding on `operator`, whose domain and name `first` has."""
    place = "another file" if first.span is None else first.span.path
    return Diagnostic("AF423", f"operator {operator.key} is declared in {place} already", span=operator.span)


def _list_files(directory: Path) -> list[tuple[Path, str]]:
    """Pattern files with the path that diagnostics show, which does not tell where the folder lies."""
    if not directory.is_dir():
        remedy = (
            "name the folder that holds the pattern files, not one of them"
            if directory.exists()
            else "name a folder that exists"
        )
        raise PatternError(Diagnostic("AF401", f"{str(directory)!r} is no folder of patterns", help=remedy))
    root = directory.resolve()
    files = sorted(root.rglob("*.toml"), key=lambda path: path.relative_to(root).as_posix())
    if not files:
        remedy = "name a folder that has pattern files, NAME.toml"
        raise PatternError(Diagnostic("AF401", f"there is no pattern file in {str(directory)!r}", help=remedy))
    return [(path, f"{root.name}/{path.relative_to(root).as_posix()}") for path in files]


def _open_document(path: Path, shown: str) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    try:
        return read_document(path.read_text("utf-8"), shown), ()
    except PatternError as error:
        return None, (error.diagnostic,)
    except (OSError, UnicodeDecodeError) as error:
        return None, (Diagnostic("AF401", f"cannot read {shown}: {error}", span=Span(shown)),)


def _accept(found: T | None, findings: tuple[Diagnostic, ...]) -> T:
    if findings or found is None:
        first, *others = sorted(findings, key=place_of)
        notes = tuple(f"{other.span}: {other.message}" for other in others)
        raise PatternError(
            Diagnostic(first.code, first.message, first.help, (*first.notes, *notes), first.span, first.severity)
        )
    return found
