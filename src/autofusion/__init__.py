"""graph-autofusion: an ahead-of-time graph compiler for ONNX, and the runtime of its artifacts.

What is public is here; running an artifact imports nothing but numpy.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from autofusion.artifact import Artifact, TensorInfo, read_artifact
    from autofusion.errors import AutofusionError
    from autofusion.fusion import Controls, RuleSource
    from autofusion.options import CompileOptions
    from autofusion.runtime import Session, load
    from autofusion.version import VERSION as __version__

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


def compile(  # noqa: A001
    model: str | Path,
    output: str | Path,
    options: CompileOptions | None = None,
    *,
    fusion_rules: RuleSource | None = None,
    bank: str | Path | None = None,
    verify: bool = False,
    auto_disable: bool = False,
) -> Artifact:
    """Compile the ONNX file `model`, write the artifact `output` and its report files, and return the artifact.

    Args:
        model: The ONNX file.
        output: Where the artifact goes; the suffix `.om` is added where it is missing.
        options: How to compile.
        fusion_rules: Manual rules, a dict or a file of them, that come after those of `options`.
        bank: A tuning bank, a file or a folder of them, whose choices win over those of a bank in `options`.
        verify: Compare with the unfused model before anything is written.
        auto_disable: Verify, leave a fusion out that puts results beyond their limits, and compile again; the
            report gives `DISABLED(auto_disable)` as the reason.

    Raises:
        VerificationError: AF603, results lie beyond their limits; nothing is written then.
        ModelError, UsageError, PatternError: The model, the options or a pattern file is wrong.
        ArtifactError: A file cannot be written; then none is.
        UsageError: AF519 where packages are missing that compiling needs, unlike running.
    """
    from dataclasses import replace
    from pathlib import Path

    from autofusion.artifact import read_artifact

    try:
        from autofusion.compiler import compile_model, save_compilation
        from autofusion.fusion import read_rules
        from autofusion.options import CompileOptions
        from autofusion.tuning import ANY, join_banks, read_bank
    except ModuleNotFoundError as error:
        raise _refuse_missing(error) from error
    chosen = options or CompileOptions()
    if fusion_rules is not None:
        rules = (*chosen.controls.rules, *read_rules(fusion_rules))
        chosen = replace(chosen, controls=replace(chosen.controls, rules=rules))
    if bank is not None:
        banks = [*([chosen.bank] if chosen.bank is not None else []), read_bank(Path(bank))]
        chosen = replace(chosen, bank=join_banks(banks, ANY if chosen.bank is None else chosen.bank.target))
    if not (verify or auto_disable):
        return read_artifact(save_compilation(compile_model(Path(model), chosen), Path(output)))
    from autofusion.services.guard import compile_guarded

    guarded = compile_guarded(Path(model), chosen, auto_disable=auto_disable)
    guarded.refuse()
    return read_artifact(save_compilation(guarded.compilation, Path(output)))


def __getattr__(name: str) -> object:
    """Import a public name where it is first used."""
    if name == "__version__":
        return importlib.import_module("autofusion.version").VERSION
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
