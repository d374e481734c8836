"""Reading and describing the flags of `atc` by the rules of CANN's own parser."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Sequence

from autofusion.cli.atc_options import GROUPS, OPTIONS, AtcOption, Treatment
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError

SWITCHES = ("help", "debug")
"""Flags that take no value."""


def parse_flags(arguments: Sequence[str]) -> dict[str, str]:
    """Flag names and their values as typed; the last of several wins.

    `--k=v` and `--k v` are the same, `-k` counts as `--k`, and `-` in a name as `_`; a flag of `SWITCHES`
    has the value "".  Raises UsageError for an unknown flag, a missing value or a stray word.
    """
    flags: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not _is_flag(word):
            raise UsageError(Diagnostic("AF203", f"Non-option parameter: {word}", help="every option is --name=value"))
        typed, equals, value = word.lstrip("-").partition("=")
        name = "help" if typed == "h" else typed.replace("-", "_")
        if name not in OPTIONS:
            raise _unknown(typed, name)
        if name in SWITCHES:
            flags[name] = ""
        elif equals:
            flags[name] = _unquoted(value)
        elif rest and not _is_flag(rest[0]):
            flags[name] = _unquoted(rest.pop(0))
        else:
            description = describe(OPTIONS[name])
            message = f"flag '{name}' is missing its argument; flag description: {description}"
            raise UsageError(Diagnostic("AF202", message, help=f"write --{name}=VALUE"))
    return flags


def render_help() -> str:
    """The text of `--help`: every option under its group, with what becomes of it."""
    lines = ["usage: atc --model=net.onnx --framework=5 --output=net", ""]
    for heading, groups in GROUPS.items():
        lines.append(f"===== {heading} =====")
        for group, options in groups.items():
            lines.append(f"[{group}]")
            for option in options:
                lines += _help_lines(option)
        lines.append("")
    return "\n".join(lines)


def describe(option: AtcOption) -> str:
    """One sentence on what the option does here."""
    match option.treatment:
        case Treatment.HONOURED:
            return option.reason
        case Treatment.INERT:
            return f"No effect: {option.reason}."
        case Treatment.REFUSED:
            # A boolean has five spellings; its second is the word.
            usual = option.usual[1:2] if option.kind == "boolean" else option.usual
            accepted = f" but for {', '.join(usual)}" if usual else ""
            return f"Refused{accepted}: {option.reason}."


_COLUMN = 34


def _help_lines(option: AtcOption) -> Iterator[str]:
    head = f"  --{option.name}" + (f"={option.values}" if option.values else "")
    text = textwrap.wrap(describe(option), 100 - _COLUMN)
    if len(head) < _COLUMN:
        yield f"{head:<{_COLUMN}}{text.pop(0)}"
    else:
        yield head
    yield from (" " * _COLUMN + line for line in text)


def _is_flag(word: str) -> bool:
    return word.startswith("--") or (len(word) > 1 and word[0] == "-" and word[1].isalpha())


def _unquoted(value: str) -> str:
    """`value` without one pair of quotes around it, which batch files leave in place."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _unknown(typed: str, name: str) -> UsageError:
    close = difflib.get_close_matches(name, OPTIONS, n=3)
    remedy = "did you mean " + " or ".join(f"--{match}" for match in close) if close else "'atc --help' lists them"
    return UsageError(Diagnostic("AF201", f"unknown command line flag '{typed}'", help=remedy))
