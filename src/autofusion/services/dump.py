"""The text of one stage of a compilation, which goes no further than that."""

from __future__ import annotations

from pathlib import Path

from autofusion.artifact import SUFFIX, read_artifact
from autofusion.compiler import STAGES, compile_model
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.options import CompileOptions
from autofusion.plan.serial import dump_plan


class _ReachedError(Exception):
    """The stage was reached; ends the compilation."""

    def __init__(self, text: str) -> None:
        super().__init__("stage reached")
        self.text = text


def dump_stage(source: Path, stage: str | None = None, options: CompileOptions | None = None) -> str:
    """The result of `stage` for a model, by default fusion, or the plan of an artifact.

    Raises UsageError AF215 for a stage that the source does not have, and what compiling raises.
    """
    if source.suffix == SUFFIX:
        if stage not in (None, "plan"):
            message = f"an artifact holds its plan only, not what there was after {stage}"
            raise UsageError(Diagnostic("AF215", message, help="dump the model that it was compiled from"))
        return dump_plan(read_artifact(source, verify_weights=False).plan)
    wanted = stage or "fusion"
    if wanted not in STAGES:
        raise UsageError(Diagnostic("AF215", f"there is no stage {wanted!r}", help=f"stages: {', '.join(STAGES)}"))

    def stop(name: str, text: str) -> None:
        if name == wanted:
            raise _ReachedError(text)

    try:
        compile_model(source, options, dump=stop)
    except _ReachedError as reached:
        return reached.text
    raise AssertionError(f"stage {wanted!r} was never reached")
