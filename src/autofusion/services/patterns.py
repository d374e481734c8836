"""What patterns and declared operators there are, and what is wrong with the files of a user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from autofusion.cann_passes import COUNTERPARTS, means_fusion, own_pass
from autofusion.diagnostics import Diagnostic
from autofusion.errors import PatternError
from autofusion.fusion import find_patterns
from autofusion.ops.custom import CustomOperator
from autofusion.patternlang import Pattern, find_builtin_patterns, lint_files, load_operators, load_patterns
from autofusion.patternlang.model import Template
from autofusion.patternlang.variants import enumerate_name_pairs

LEVELS = {
    1: "conservative: results stay within the limits of verify",
    2: "balanced, the default: results stay within the limits of verify",
    3: "aggressive: results may leave the limits of verify",
}
"""What each fusion level promises."""

KINDS = ("normal form", "fusion, stage 1", "fusion, stage 2")
"""What a pattern of each stage is."""


@dataclass(frozen=True)
class PatternRow:
    """One pattern: how its `display` names and operators are made up, and every one that its nodes can have.

    What stands in brackets depends on the match: text, or the operator bound to the statement that is named.

    `cann` are the passes of CANN of the same purpose; where CANN has none, `own_passes` are the names that stand for
    them in switch files and results.  `may_leave_limits` says that results may leave the limits of verify.
    """

    name: str
    level: int
    kind: str
    display: str
    op: str
    displays: tuple[str, ...]
    ops: tuple[str, ...]
    cann: tuple[str, ...]
    own_passes: tuple[str, ...]
    summary: str
    path: str
    may_leave_limits: bool


@dataclass(frozen=True)
class OperatorRow:
    """One declared operator."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]
    meaning: str
    summary: str
    path: str


@dataclass(frozen=True)
class PatternList:
    """All patterns in the order in which they are applied, and all declared operators."""

    patterns: tuple[PatternRow, ...]
    operators: tuple[OperatorRow, ...]

    def to_dict(self) -> dict[str, object]:
        """The list with the meaning of the levels, for JSON."""
        return {"levels": {str(level): text for level, text in LEVELS.items()}, **asdict(self)}


def list_patterns(directories: Sequence[Path], level: int | None = None) -> PatternList:
    """The built-in patterns and those of `directories`, of one `level` alone where it is given.

    Raises PatternError for the first fault of a file.
    """
    folders = [find_builtin_patterns(), *directories]
    patterns = load_patterns(folders)
    pairs = enumerate_name_pairs(patterns)
    ordered = sorted(patterns, key=lambda pattern: (pattern.stage, pattern.level, pattern.name))
    rows = (_describe_pattern(pattern, sorted(pairs[pattern.name])) for pattern in ordered)
    operators = tuple(_describe_operator(operator) for operator in load_operators(folders).values())
    return PatternList(tuple(row for row in rows if level in (None, row.level)), operators)


def find_rows(name: str, directories: Sequence[Path]) -> tuple[PatternRow, ...]:
    """The patterns that `name` means: their own, a display name, a fused operator or a pass of CANN.

    Raises UsageError AF310 where it means none, PatternError for the first fault of a file.
    """
    known = load_patterns([find_builtin_patterns(), *directories])
    meant = {pattern.name for pattern in find_patterns(name, "the command", known)}
    return tuple(row for row in list_patterns(directories).patterns if row.name in meant)


def lint_paths(paths: Sequence[Path]) -> list[Diagnostic]:
    """Every finding in the files at `paths` and in the files below the folders among them.

    Raises PatternError AF401 for a path that is neither, and for a folder without such files.
    """
    return lint_files(list(dict.fromkeys(file for path in paths for file in _list_files(path))))


def _list_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise PatternError(Diagnostic("AF401", f"there is no file and no folder {str(path)!r}"))
    files = sorted(path.rglob("*.toml"))
    if not files:
        remedy = "name a folder that has pattern files, NAME.toml"
        raise PatternError(Diagnostic("AF401", f"there is no pattern file in {str(path)!r}", help=remedy))
    yield from files


def _describe_pattern(pattern: Pattern, pairs: list[tuple[str, str]]) -> PatternRow:
    served = [name for name, _ in COUNTERPARTS if any(means_fusion(name, *pair) for pair in pairs)]
    ops = tuple(dict.fromkeys(op for _, op in pairs))
    return PatternRow(
        name=pattern.name,
        level=pattern.level,
        kind=KINDS[pattern.stage],
        display=_spell_template(pattern.display),
        op=_spell_template(pattern.op),
        displays=tuple(dict.fromkeys(display for display, _ in pairs)),
        ops=ops,
        cann=tuple(dict.fromkeys(served)),
        own_passes=() if served else tuple(map(own_pass, ops)),
        summary=pattern.summary,
        path=pattern.path,
        may_leave_limits=pattern.level == max(LEVELS),
    )


def _spell_template(template: Template) -> str:
    parts = ((part, f"{part.prefix}{part.word}{part.suffix}") for part in template.parts)
    return "".join(f"[{text}]" if part.condition else text for part, text in parts)


def _describe_operator(operator: CustomOperator) -> OperatorRow:
    return OperatorRow(
        name=operator.key,
        inputs=tuple(f"{place.name}?" if place.optional else place.name for place in operator.inputs),
        outputs=operator.outputs,
        attributes=tuple(
            f"{item.name}: {item.kind}" if item.default is None else f"{item.name}: {item.kind} = {item.default}"
            for item in operator.attributes.values()
        ),
        meaning="function" if operator.expression is None else "expression",
        summary=operator.summary,
        path="" if operator.span is None else operator.span.path,
    )
