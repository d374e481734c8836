"""graph-autofusion: an ahead-of-time graph compiler for ONNX, and the runtime of its artifacts.

What is public is here; running an artifact imports nothing but numpy.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from autofusion.version import VERSION as __version__

if TYPE_CHECKING:
    from autofusion.artifact import Artifact, TensorInfo, read_artifact
    from autofusion.errors import AutofusionError
    from autofusion.fusion import Controls
    from autofusion.options import CompileOptions
    from autofusion.runtime import Session, load

__all__ = [
    "Artifact",
    "AutofusionError",
    "CompileOptions",
    "Controls",
    "Session",
    "TensorInfo",
    "__version__",
    "compile",
    "load",
    "read_artifact",
]

_HOMES: Mapping[str, str] = {
    "Artifact": "autofusion.artifact",
    "AutofusionError": "autofusion.errors",
    "CompileOptions": "autofusion.options",
    "Controls": "autofusion.fusion",
    "Session": "autofusion.runtime",
    "TensorInfo": "autofusion.artifact",
    "load": "autofusion.runtime",
    "read_artifact": "autofusion.artifact",
}


def compile(model: str | Path, output: str | Path, options: CompileOptions | None = None) -> Artifact:  # noqa: A001
    """Compile the ONNX file `model`, write the artifact `output` and its report files, and return the artifact.

    The suffix `.om` is added to `output` where it is missing.

    Raises:
        ModelError, UsageError, PatternError: The model, the options or a pattern file is wrong.
        ArtifactError: A file cannot be written; then none is.
        UsageError: AF519 where packages are missing that compiling needs, unlike running.
    """
    from autofusion.artifact import read_artifact

    try:
        from autofusion.compiler import compile_model, save_compilation
    except ModuleNotFoundError as error:
        raise _refuse_missing(error) from error
    return read_artifact(save_compilation(compile_model(Path(model), options), Path(output)))


def __getattr__(name: str) -> object:
    """Import a public name where it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'autofusion' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        raise _refuse_missing(error) from error


def _refuse_missing(error: ModuleNotFoundError) -> Exception:
    from autofusion.errors import UsageError, explain_missing

    found = explain_missing(error)
    return error if found is None else UsageError(found)
