"""What a scenario of a diagnostic is: it makes its files in the current folder and says how to provoke it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import onnx
import pytest

from autofusion.diagnostics import Diagnostic

Outcome = list[str] | Diagnostic
"""The words of a command, or a diagnostic that no command of today shows."""

Scenario = Callable[[pytest.MonkeyPatch], Outcome]
"""May also raise the error itself, where a library call alone provokes it."""


def write_model(proto: onnx.ModelProto | bytes, name: str = "net.onnx") -> str:
    """Write a model into the current folder and return its name."""
    Path(name).write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
    return name


def compiling(build: Callable[[], onnx.ModelProto | bytes], *words: str) -> Scenario:
    """`autofusion compile` of the model that `build` makes."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        return ["compile", write_model(build()), "-o", "net", *words]

    return scenario


def calling(*words: str, model: Callable[[], onnx.ModelProto] | None = None) -> Scenario:
    """A command, beside the model `net.onnx` if there is one."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        if model is not None:
            write_model(model())
        return list(words)

    return scenario


def first_with(code: str, findings: Iterable[Diagnostic]) -> Diagnostic:
    """The first finding with the code."""
    return next(finding for finding in findings if finding.code == code)
