"""Compiling under guard: what is compiled is verified before anybody writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autofusion.compiler import Compilation, compile_model
from autofusion.diagnostics import Diagnostic
from autofusion.errors import VerificationError
from autofusion.fusion import AUTO_DISABLE
from autofusion.options import CompileOptions
from autofusion.report.verification import Culprit, VerifyReport
from autofusion.report.verification_text import render_verdict
from autofusion.services.bisect import disable
from autofusion.services.verify import verify_compilation


@dataclass(frozen=True)
class Guarded:
    """A compilation, the verdict on it, and the fusions that were left out because of earlier verdicts."""

    compilation: Compilation
    verdict: VerifyReport
    disabled: tuple[Culprit, ...] = ()

    def refuse(self) -> None:
        """Raise VerificationError AF603 unless everything lies within its limits."""
        if self.verdict.ok:
            return
        culprit = self.verdict.culprit
        notes = [f"left out before: {fault.pattern} ({fault.name})" for fault in self.disabled]
        remedy = ""
        if culprit is not None:
            notes.append(f"at fault: {culprit.pattern} at {culprit.node}")
        if culprit is not None and culprit.name:
            remedy = f"leave it out with {culprit.option}, or let --auto_disable do so"
        message = f"{self.compilation.model.path}: {render_verdict(self.verdict)}"
        raise VerificationError(Diagnostic("AF603", message, help=remedy, notes=tuple(notes)))


def compile_guarded(model: Path, options: CompileOptions | None = None, *, auto_disable: bool = False) -> Guarded:
    """Compile the file `model` and verify the result.

    With `auto_disable` a fusion at fault is left out and the model compiled again, until everything lies within
    its limits or nothing is left that could be left out; the report gives `DISABLED(auto_disable)` as the reason.
    Raises what compiling raises, and ModelError AF602 where nothing can be told.
    """
    chosen = options or CompileOptions()
    disabled: tuple[Culprit, ...] = ()
    while True:
        compilation = compile_model(model, chosen)
        verdict = verify_compilation(model, compilation)
        culprit = verdict.culprit
        if verdict.ok or not auto_disable or culprit is None or not culprit.name:
            return Guarded(compilation, verdict, disabled)
        if culprit.name in chosen.controls.disabled:
            return Guarded(compilation, verdict, disabled)
        chosen = disable(chosen, culprit.name, AUTO_DISABLE)
        disabled = (*disabled, culprit)
