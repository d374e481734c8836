"""The error about an index that a run computed, or was given, and that names no element."""

from __future__ import annotations

from autofusion.diagnostics import Diagnostic
from autofusion.errors import InputError
from autofusion.plan import Step


def refuse_index(step: Step) -> InputError:
    """Error AF536 about `step`."""
    text = f"step {step.node!r} ({step.op}) looks up an element that is not there: an index is out of range"
    return InputError(Diagnostic("AF536", text, help="give inputs whose numbers, such as token ids, are in range"))
