"""The errors of sessions, whose classes are imported where one is raised: no run waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autofusion.errors import ArtifactError, InputError, UsageError
    from autofusion.plan import Step


def artifact_error(code: str, message: str, help: str = "") -> ArtifactError:  # noqa: A002
    """The error about an artifact, or about what running it needs."""
    from autofusion.diagnostics import Diagnostic
    from autofusion.errors import ArtifactError

    return ArtifactError(Diagnostic(code, message, help))


def input_error(code: str, message: str, help: str = "") -> InputError:  # noqa: A002
    """The error about arrays that a caller gave."""
    from autofusion.diagnostics import Diagnostic
    from autofusion.errors import InputError

    return InputError(Diagnostic(code, message, help))


def usage_error(code: str, message: str, help: str = "") -> UsageError:  # noqa: A002
    """The error about how a session was opened."""
    from autofusion.diagnostics import Diagnostic
    from autofusion.errors import UsageError

    return UsageError(Diagnostic(code, message, help))


def damaged_plan(finding: str) -> ArtifactError:
    """Error AF514 about a plan that does not hang together at the dims of a run."""
    return artifact_error("AF514", f"the plan is damaged: {finding}", help="compile the model again")


def refuse_index(step: Step) -> InputError:
    """Error AF536 about an index that `step` computed, or was given, and that names no element."""
    text = f"step {step.node!r} ({step.op}) looks up an element that is not there: an index is out of range"
    return input_error("AF536", text, help="give inputs whose numbers, such as token ids, are in range")
