"""Pattern files on disk -> patterns, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from autofusion.diagnostics import Diagnostic, Span
from autofusion.errors import InternalError, PatternError
from autofusion.patternlang.document import read_document
from autofusion.patternlang.header import Reading, read_pattern
from autofusion.patternlang.lint import check_pattern
from autofusion.patternlang.model import Pattern
from autofusion.patternlang.surroundings import Surroundings


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

    Raises PatternError for the first fault of a file (AF401 to AF416), and AF417 where two files
    define one name.
    """
    patterns: list[Pattern] = []
    by_name: dict[str, Pattern] = {}
    builtin = find_builtin_patterns().resolve()
    for directory in directories:
        is_builtin = directory.resolve() == builtin
        for path, shown in _list_files(directory):
            reading = _read_file(path, shown)
            pattern = replace(_accept(reading.pattern, reading.findings), is_builtin=is_builtin)
            first = by_name.setdefault(pattern.name, pattern)
            if first is not pattern:
                message = f"pattern {pattern.name!r} is defined in {first.path} already"
                raise PatternError(Diagnostic("AF417", message, help="give it another name", span=pattern.span))
            patterns.append(pattern)
    surroundings = Surroundings.of(patterns)
    for pattern in patterns:
        _accept(pattern, tuple(check_pattern(pattern, surroundings)))
    return tuple(patterns)


def lint_file(path: Path) -> list[Diagnostic]:
    """Every finding in the pattern file at `path`, by line and column.

    Names of other patterns and of the operators they emit are looked up in the built-in patterns,
    in the file's own folder and in the folders `normalize` and `fuse` beside it.
    """
    reading = _read_file(path, str(path))
    if reading.pattern is None:
        return sorted(reading.findings, key=_place)
    folder, builtin = path.resolve().parent, find_builtin_patterns()
    folders = (builtin / "normalize", builtin / "fuse", folder, folder.parent / "normalize", folder.parent / "fuse")
    known = {pattern.name: pattern for folder in folders for pattern in _read_leniently(folder)}
    known[reading.pattern.name] = reading.pattern
    return sorted(check_pattern(reading.pattern, Surroundings.of(known.values())), key=_place)


def _list_files(directory: Path) -> list[tuple[Path, str]]:
    """Pattern files with the path that diagnostics show, which does not tell where the folder lies."""
    if not directory.is_dir():
        raise PatternError(Diagnostic("AF401", f"{str(directory)!r} is no folder of patterns"))
    root = directory.resolve()
    files = sorted(root.rglob("*.toml"), key=lambda path: path.relative_to(root).as_posix())
    if not files:
        remedy = "name a folder that has pattern files, NAME.toml"
        raise PatternError(Diagnostic("AF401", f"there is no pattern file in {str(directory)!r}", help=remedy))
    return [(path, f"{root.name}/{path.relative_to(root).as_posix()}") for path in files]


def _read_file(path: Path, shown: str) -> Reading:
    try:
        return read_pattern(read_document(path.read_text("utf-8"), shown))
    except PatternError as error:
        return Reading(None, (error.diagnostic,))
    except (OSError, UnicodeDecodeError) as error:
        return Reading(None, (Diagnostic("AF401", f"cannot read {shown}: {error}", span=Span(shown)),))


def _read_leniently(directory: Path) -> list[Pattern]:
    """The patterns in a folder, without those that cannot be read."""
    readings = [_read_file(path, str(path)).pattern for path in sorted(directory.glob("*.toml"))]
    return [pattern for pattern in readings if pattern is not None]


def _accept(pattern: Pattern | None, findings: tuple[Diagnostic, ...]) -> Pattern:
    if findings or pattern is None:
        first, *others = sorted(findings, key=_place)
        notes = tuple(f"{other.span}: {other.message}" for other in others)
        raise PatternError(
            Diagnostic(first.code, first.message, first.help, (*first.notes, *notes), first.span, first.severity)
        )
    return pattern


def _place(finding: Diagnostic) -> tuple[int, int]:
    return (finding.span.line, finding.span.column) if finding.span is not None else (0, 0)
