"""The text of one stage of a compilation, which goes no further than that."""

from __future__ import annotations

from pathlib import Path

from autofusion.artifact import SUFFIX, read_artifact
from autofusion.compiler import STAGES, compile_model
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.options import CompileOptions
from autofusion.plan.serial import dump_plan
from autofusion.plan.text import render_plan


class _ReachedError(Exception):
    """The stage was reached; ends the compilation."""

    def __init__(self, text: str) -> None:
        super().__init__("stage reached")
        self.text = text


def dump_stage(
    source: Path, stage: str | None = None, options: CompileOptions | None = None, *, as_json: bool = False
) -> str:
    """The result of `stage` for a model, by default fusion, or the plan of an artifact.

    With `as_json` the plan as an artifact holds it.  Raises UsageError AF215 for a stage that the source does not
    have, or that has no JSON form, and what compiling raises.
    """
    if source.suffix == SUFFIX:
        if stage not in (None, "plan"):
            message = f"an artifact holds its plan only, not what there was after {stage}"
            raise UsageError(Diagnostic("AF215", message, help="dump the model that it was compiled from"))
        plan = read_artifact(source, verify_weights=False).plan
        return dump_plan(plan) if as_json else render_plan(plan)
    wanted = stage or "fusion"
    if wanted not in STAGES:
        raise UsageError(Diagnostic("AF215", f"there is no stage {wanted!r}", help=f"stages: {', '.join(STAGES)}"))
    if not as_json:
        return _dump_text(source, wanted, options)
    if wanted != "plan":
        remedy = "pass --after plan, or write the graph as JSON with atc --mode=1"
        raise UsageError(Diagnostic("AF215", f"stage {wanted!r} has no JSON form", help=remedy))
    return dump_plan(compile_model(source, options).lowered.plan)


def _dump_text(source: Path, wanted: str, options: CompileOptions | None) -> str:
    def stop(name: str, text: str) -> None:
        if name == wanted:
            raise _ReachedError(text)

    try:
        compile_model(source, options, dump=stop)
    except _ReachedError as reached:
        return reached.text
    raise AssertionError(f"stage {wanted!r} was never reached")
