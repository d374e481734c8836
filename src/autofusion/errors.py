"""The exception tree, arranged by who erred; every exception carries one `Diagnostic` and an exit code."""

from __future__ import annotations

from collections.abc import Mapping

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


class VerificationError(AutofusionError):
    """What was compiled computes something else than the model does; nothing was written."""

    exit_code = 1


class InternalError(AutofusionError):
    """Our own fault."""

    exit_code = 70


PACKAGES: Mapping[str, str] = {
    "click": "click",
    "google": "protobuf",
    "ml_dtypes": "ml_dtypes",
    "networkx": "networkx",
    "onnx": "onnx",
}
"""The packages that compiling and the commands need beside numpy, by what is imported."""


def explain_missing(error: ModuleNotFoundError) -> Diagnostic | None:
    """What to say where one of `PACKAGES` is not installed, AF519; None for any other module."""
    package = PACKAGES.get((error.name or "").partition(".")[0])
    if package is None:
        return None
    message = (
        f"package {package} is not installed: running artifacts needs numpy alone, but compiling and commands more"
    )
    return Diagnostic("AF519", message, help=f"pip install {' '.join(PACKAGES.values())}")
