"""The table of all diagnostic codes."""

from __future__ import annotations

from autofusion.diagnostics.code import Code
from autofusion.diagnostics.codes_artifact import ARTIFACT_CODES
from autofusion.diagnostics.codes_manual import MANUAL_CODES
from autofusion.diagnostics.codes_model import MODEL_CODES
from autofusion.diagnostics.codes_pattern import PATTERN_CODES
from autofusion.diagnostics.codes_use import USE_CODES
from autofusion.diagnostics.model import Diagnostic

CODES: dict[str, Code] = {
    row.code: row
    for row in sorted(
        (*MODEL_CODES, *USE_CODES, *PATTERN_CODES, *MANUAL_CODES, *ARTIFACT_CODES), key=lambda row: row.code
    )
}

AREAS: dict[str, str] = {
    "1": "Model file",
    "2": "Options and usage",
    "3": "Fusion",
    "4": "Pattern files",
    "5": "Artifacts, runtime, inputs",
    "6": "Verification and checks",
    "9": "Our own faults",
}
"""What the first digit of a code says."""


def cann_code(code: str) -> str:
    """The code that CANN's tool has for the same finding, "" where it has none."""
    return CODES[code].cann if code in CODES else ""


def with_remedy(diagnostic: Diagnostic) -> Diagnostic:
    """`diagnostic` with the remedy of its code in the table, where it brings none of its own."""
    row = CODES.get(diagnostic.code)
    if diagnostic.help or row is None:
        return diagnostic
    text = row.remedy.removesuffix(".")
    return diagnostic._replace(help=text if text[:2].isupper() else text[:1].lower() + text[1:])
