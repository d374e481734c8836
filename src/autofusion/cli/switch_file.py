"""Files of fusion switches: CANN's JSON form, and its older text form with one `NAME:on` or `NAME:off` a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from autofusion.cli.output import show_diagnostic
from autofusion.diagnostics import Diagnostic, Severity
from autofusion.errors import UsageError
from autofusion.fusion import ALL
from autofusion.fusion.control_file import malformed, read_control_file
from autofusion.plan.fields import parse_json

SECTIONS = ("GraphFusion", "UBFusion")

_KIND = "file of switches"
_REMEDY = 'write {"Switch": {"GraphFusion": {"NAME": "off"}}}, or lines of NAME:off'


def gather_switches(
    optimization_switch: Mapping[str, bool], switch_file: Path | None, option: str
) -> dict[str, Mapping[str, bool]]:
    """What `Controls.switches` holds: those of the option named `option` before those of the file."""
    switches: dict[str, Mapping[str, bool]] = {}
    if optimization_switch:
        switches[option] = optimization_switch
    if switch_file is not None:
        switches[switch_file.name] = read_switch_file(switch_file)
    return switches


def read_switch_file(path: Path) -> dict[str, bool]:
    """Switches by name, `ALL` for the rest; warns of what has no effect.

    Raises UsageError AF218 where the file is absent or empty, AF217 where it has neither form.
    """
    text = read_control_file(path, _KIND, _REMEDY)
    return _read_json(text, path) if text.lstrip().startswith("{") else _read_lines(text, path)


def _read_json(text: str, path: Path) -> dict[str, bool]:
    try:
        content = cast(dict[str, object], parse_json(text))
    except json.JSONDecodeError as error:
        raise _malformed(path, f"it is no JSON: {error.msg}", error.lineno) from error
    except ValueError as error:
        raise _malformed(path, str(error)) from error
    sections = content.get("Switch")
    if not isinstance(sections, dict):
        raise _malformed(path, "it has no object 'Switch'")
    states: dict[str, bool] = {}
    for section, names in cast(dict[str, object], sections).items():
        if section not in SECTIONS or not isinstance(names, dict):
            raise _malformed(path, f"{section!r} is none of the objects {' and '.join(SECTIONS)}")
        for name, state in cast(dict[str, object], names).items():
            if state not in ("on", "off"):
                raise _malformed(path, f"{name!r} is {state!r}, neither 'on' nor 'off'")
            if (section, name) == ("UBFusion", ALL):
                _warn(path, "ALL of UBFusion", "every fusion here is a graph fusion")
            else:
                # A name that both sections have is off where one of them says so.
                states[name] = state == "on" and states.get(name, True)
    for key in content:
        if key != "Switch":
            _warn(path, key, "only 'Switch' is read")
    return states


def _read_lines(text: str, path: Path) -> dict[str, bool]:
    states: dict[str, bool] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, _, state = (part.strip() for part in line.rpartition(":"))
        if not name or state not in ("on", "off"):
            raise _malformed(path, f"{line.strip()!r} is not NAME:on or NAME:off", number)
        if name in states:
            raise _malformed(path, f"{name!r} occurs twice", number)
        states[name] = state == "on"
    return states


def _warn(path: Path, what: str, reason: str) -> None:
    message = f"{what} in {path.name} has no effect: {reason}"
    show_diagnostic(Diagnostic("AF206", message, severity=Severity.WARNING))


def _malformed(path: Path, reason: str, line: int = 0) -> UsageError:
    return malformed(path, _KIND, reason, _REMEDY, line)
