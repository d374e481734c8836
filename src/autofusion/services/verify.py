"""Verification: what was compiled, its outputs and every rewrite by itself, against the unfused model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from autofusion.artifact import join_weights, read_artifact
from autofusion.compiler import Compilation, FusedModel, fuse_model, lower_model
from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError, UsageError
from autofusion.lowering import DEALT, Dealt
from autofusion.options import CompileOptions
from autofusion.plan import Plan
from autofusion.precision import Precision
from autofusion.report.verification import StoredWeights, VerifyReport
from autofusion.services.bisect import Finding, find_culprit
from autofusion.services.examine import Examiner
from autofusion.services.stored import compare_stored

SEEDS = (0, 1, 2)
"""The seeds of generated inputs where none are chosen."""

AMPLIFIES = "the model amplifies rounding: float32 alone moves its outputs far, and the fused nodes tell more"


def verify_artifact(
    model: Path,
    artifact: Path,
    *,
    seeds: Sequence[int] = SEEDS,
    sizes: Sequence[Mapping[str, int]] = ({},),
    threads: int | None = None,
    pattern_directories: tuple[Path, ...] = (),
    bisect: bool = True,
) -> VerifyReport:
    """Run `artifact` and the unfused `model` on generated inputs and compare.

    Each of `sizes` gives extents for symbols (the others get small ones).  Outputs are compared at each under every
    seed.  At the first under the first, every fused node is compared with its body, both on operands that the
    artifact itself computed, and every normal form with the nodes that it stands for.  Where something lies beyond
    its limits, `bisect` looks for the fusion at fault, for which the model is compiled several times.
    Raises ModelError AF601 where the artifact was not made from `model`, UsageError AF604 where
    `pattern_directories` are not the folders that it was made with.
    """
    opened = read_artifact(artifact)
    options = CompileOptions.from_settings(opened.manifest.options, pattern_directories)
    _check_patterns(opened.manifest.options.get("patterns"), pattern_directories, artifact)
    examiner = Examiner(model, options, seeds=seeds, sizes=sizes, threads=threads)
    if examiner.reference.digest != opened.manifest.source_sha256:
        raise _other_model(model, artifact)
    fused = fuse_model(model, options)
    # The artifact does not say which channels lie where; compiling does.
    dealt = lower_model(fused, options).dealt if _has_dealt(opened.plan) else ()
    return _verify(examiner, options, fused, opened.plan, opened.weights, dealt, bisect=bisect)


def verify_compilation(
    model: Path,
    compilation: Compilation,
    *,
    seeds: Sequence[int] = SEEDS,
    sizes: Sequence[Mapping[str, int]] = ({},),
    threads: int | None = None,
    bisect: bool = True,
) -> VerifyReport:
    """Verify what was compiled from the file `model` and not yet written, as `verify_artifact` does."""
    examiner = Examiner(model, compilation.options, seeds=seeds, sizes=sizes, threads=threads)
    plan = compilation.lowered.plan
    weights = join_weights(plan.tensors, compilation.lowered.weights)
    dealt = compilation.lowered.dealt
    return _verify(examiner, compilation.options, compilation.fused, plan, weights, dealt, bisect=bisect)


def _verify(
    examiner: Examiner,
    options: CompileOptions,
    fused: FusedModel,
    plan: Plan,
    weights: np.ndarray,
    dealt: Sequence[Dealt],
    *,
    bisect: bool,
) -> VerifyReport:
    """The verdict on a plan; one with weights of two bytes is held against the same plan with float32 weights."""
    stored: StoredWeights | None = None
    if options.precision.storage is not None:
        options = replace(options, precision=Precision())
        wide = lower_model(fused, options)
        stored = compare_stored(examiner, plan, weights, wide)
        plan, weights = wide.plan, join_weights(wide.plan.tensors, wide.weights)
    examined = examiner.examine(plan, weights, options, fused.graph, fused.result, dealt)
    finding = find_culprit(examiner, options, examined) if bisect and not examined.ok else Finding(None)
    notes = (AMPLIFIES if examiner.amplifies else "", finding.note)
    return VerifyReport(
        examiner.reference.oracle.name,
        plan.backend,
        examined.outputs,
        examined.nodes,
        finding.culprit,
        tuple(filter(None, notes)),
        stored,
    )


def _has_dealt(plan: Plan) -> bool:
    return any(DEALT in name for name in plan.buffers)


def _check_patterns(recorded: object, given: Sequence[Path], artifact: Path) -> None:
    """Raise UsageError AF604 unless the folders of patterns that the artifact was made with are given."""
    names = [str(name) for name in cast("list[object]", recorded)] if isinstance(recorded, list) else []
    if names == [folder.resolve().name for folder in given]:
        return
    folders = " ".join(f"--pattern_dir {name}" for name in names)
    remedy = f"pass {folders}, as for compiling" if names else "leave --pattern_dir out"
    which = f"the folders of patterns {', '.join(names)}" if names else "the built-in patterns alone"
    raise UsageError(Diagnostic("AF604", f"{artifact.name} was compiled with {which}", help=remedy))


def _other_model(model: Path, artifact: Path) -> ModelError:
    return ModelError(
        Diagnostic(
            "AF601",
            f"{artifact.name} was not made from {model.name}: the digests differ",
            help="give the model the artifact was compiled from, or compile it again",
        )
    )
