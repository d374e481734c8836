"""The exception tree, arranged by who erred; every exception carries one `Diagnostic` and an exit code."""

from __future__ import annotations

from autofusion.diagnostics import Diagnostic


class AutofusionError(Exception):
    """Base of all errors that reach a user; `diagnostic` holds what is shown."""

    exit_code = 70

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(f"{diagnostic.code}: {diagnostic.message}")
        self.diagnostic = diagnostic


class UsageError(AutofusionError):
    """A wrong option, name or argument."""

    exit_code = 2


class ModelError(AutofusionError):
    """The model file is broken, contradictory or uses something unsupported."""

    exit_code = 2


class PatternError(AutofusionError):
    """A pattern file is wrong."""

    exit_code = 2


class ArtifactError(AutofusionError):
    """An artifact is damaged, of an unknown version, or cannot be written."""

    exit_code = 2


class InputError(AutofusionError):
    """The arrays given to a session do not fit the model's inputs."""

    exit_code = 2


class InternalError(AutofusionError):
    """Our own fault."""

    exit_code = 70
