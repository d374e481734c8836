"""Write the pages that follow from tables in the code: codes.md and atc-options.md.

usage: python docs/generate.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autofusion.cli.atc_options import GROUPS, AtcOption, Treatment
from autofusion.diagnostics.codes import AREAS, CODES

FOLDER = Path(__file__).parent


def render_codes() -> str:
    """The page of diagnostic codes."""
    lines = [
        "# Diagnostic codes",
        "",
        "Every error, warning and note has a code. The last column has the code of CANN's `atc` for the same thing,",
        "which this project's `atc` prints too.",
    ]
    for digit, area in AREAS.items():
        rows = [row for row in CODES.values() if row.code[2] == digit]
        if not rows:
            continue
        lines += ["", f"## AF{digit}xx: {area}", "", "| code | finding | when | what to do | CANN |"]
        lines.append("| --- | --- | --- | --- | --- |")
        lines += [f"| {row.code} | {row.title} | {row.meaning} | {row.remedy} | {row.cann} |" for row in rows]
    return "\n".join(lines) + "\n"


def render_atc_options() -> str:
    """The page of the options of `atc`."""
    lines = [
        "# Options of `atc`",
        "",
        "Names and values are those of CANN's tool. An option is *honoured*, *accepted* with a warning because",
        "results do not depend on it, or *refused* because ignoring it would change results. Values in the third",
        "column ask for what happens anyway; they are taken without a word.",
    ]
    header = "| option | treatment | usual values | what it does, or why not |"
    for heading, groups in GROUPS.items():
        for group, options in groups.items():
            lines += ["", f"## {heading}: {group}", "", header, "| --- | --- | --- | --- |", *_option_rows(options)]
    return "\n".join(lines) + "\n"


def _option_rows(options: tuple[AtcOption, ...]) -> Iterator[str]:
    names = {Treatment.HONOURED: "honoured", Treatment.INERT: "accepted", Treatment.REFUSED: "refused"}
    for option in options:
        values = f"={option.values}" if option.values else ""
        spelled = f"`--{option.name}{values}`".replace("|", "\\|")
        text = option.reason + (f"; {option.help}" if option.help else "")
        usual = ", ".join(f"`{value}`" for value in option.usual)
        yield f"| {spelled} | {names[option.treatment]} | {usual} | {text} |"


PAGES = {"codes.md": render_codes, "atc-options.md": render_atc_options}

if __name__ == "__main__":
    for name, render in PAGES.items():
        (FOLDER / name).write_text(render(), encoding="utf-8")
