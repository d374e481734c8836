"""The fusion at fault where a model computes something else than it did unfused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from autofusion.compiler import fuse_model
from autofusion.fusion import Fusion
from autofusion.ir import MANUAL
from autofusion.options import CompileOptions
from autofusion.report.verification import Culprit
from autofusion.services.comparison import Case
from autofusion.services.examine import Examined, Examiner

UNFUSED_IS_WRONG = "no fusion is at fault: without any the outputs are beyond their limits too"
FRESH_IS_RIGHT = (
    "no fusion is at fault: compiled again the outputs lie within their limits, so the artifact was changed, "
    "or another version made it"
)


@dataclass(frozen=True)
class Finding:
    """The culprit, or a sentence that says why there is none."""

    culprit: Culprit | None
    note: str = ""


def find_culprit(examiner: Examiner, options: CompileOptions, examined: Examined) -> Finding:
    """The first fusion at fault for what `examined` found beyond its limits.

    That is the first rewrite that is wrong by itself, if without it everything lies within its limits.  Otherwise,
    where outputs are wrong, the rewrites are made one after the other as far as the outputs stay right, which
    halving finds: the next one is at fault.  The model is compiled once for each attempt.
    """
    suspect = next((row for row in examined.nodes if not row.ok), None)
    culprit: Culprit | None = None
    if suspect is not None:
        culprit = _accuse(suspect.node, suspect.pattern, suspect.op, suspect.source, suspect.is_spelling)
        culprit = _confirm(culprit, options, examiner.is_right)
    wrong = next((row for row in examined.outputs if not row.ok), None)
    if wrong is None or (culprit is not None and culprit.is_confirmed):
        return Finding(culprit)
    found = _bisect(options, examiner, Case(wrong.seed, wrong.dims))
    return found if found.culprit is not None or culprit is None else Finding(culprit)


def disable(options: CompileOptions, name: str, by: str) -> CompileOptions:
    """`options` with the fusion `name` left out at the wish of `by`."""
    controls = options.controls
    return replace(options, controls=replace(controls, disabled={**controls.disabled, name: by}))


def _bisect(options: CompileOptions, examiner: Examiner, case: Case) -> Finding:
    result = fuse_model(examiner.model, options).result
    steps = {step.number: step for step in (*result.normalized, *result.fusions)}

    def is_right(limit: int | None) -> bool:
        controls = replace(options.controls, stop_after=limit)
        return examiner.is_right(replace(options, controls=controls), case)

    if is_right(None):
        return Finding(None, FRESH_IS_RIGHT)
    if not is_right(0):
        return Finding(None, UNFUSED_IS_WRONG)
    right, wrong = 0, max(steps, default=0)
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if is_right(middle):
            right = middle
        else:
            wrong = middle
    culprit = _accuse_step(steps[wrong])
    return Finding(_confirm(culprit, options, lambda without: examiner.is_right(without, case)))


def _accuse_step(step: Fusion) -> Culprit:
    return _accuse(step.node, step.display, step.op, step.pattern, not step.stage)


def _accuse(node: str, display: str, op: str, source: str, is_spelling: bool) -> Culprit:
    if source == MANUAL:
        return Culprit(node, display, op, "", source)
    # The operator of a spelling has others too, and stands in fusions.
    name = source if is_spelling else op
    return Culprit(node, display, op, f"--fusion_blacklist={name}", source, name)


def _confirm(culprit: Culprit, options: CompileOptions, is_right: Callable[[CompileOptions], bool]) -> Culprit:
    """The culprit with the verdict on what the model gives without it."""
    if not culprit.name:
        return culprit
    return replace(culprit, is_confirmed=is_right(disable(options, culprit.name, "bisecting")))
