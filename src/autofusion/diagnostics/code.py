"""What the table of diagnostic codes says of one code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """One row: `title` names the finding, `meaning` says when it appears, `remedy` what to do about it.

    `cann` is the code of CANN's tool for the same thing, "" where it has none.
    """

    code: str
    title: str
    meaning: str
    remedy: str
    cann: str = ""
