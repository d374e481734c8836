"""What lowering made of the nodes of a model: steps, algorithms, element types of weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autofusion.accounting import strip_packing
from autofusion.artifact import SUFFIX, read_artifact
from autofusion.compiler import FusedModel, compile_model, lower_model
from autofusion.decisions import HostStep, LayerChoice, StoredWeight
from autofusion.errors import ModelError
from autofusion.options import CompileOptions
from autofusion.plan import Plan, Step
from autofusion.report.explanation import Explanation, LoweredStory, PrecisionStory, StepStory
from autofusion.report.records import FusionReport


@dataclass(frozen=True)
class Made:
    """What is known of a lowered model; `failure` says why there is none, and then the rest is empty."""

    steps: tuple[Step, ...] = ()
    layers: tuple[LayerChoice, ...] = ()
    weights: tuple[StoredWeight, ...] = ()
    host: tuple[HostStep, ...] = ()
    failure: str = ""


def make_plan(fused: FusedModel, options: CompileOptions) -> Made:
    """Lower a fused model; a model that cannot be lowered can be explained for the rest."""
    try:
        lowered = lower_model(fused, options)
    except ModelError as error:
        return Made(failure=error.diagnostic.message)
    return Made(
        lowered.plan.steps, lowered.layers, strip_packing((*lowered.stored, *lowered.halves)), lowered.host_steps
    )


def open_plan(plan: Plan, report: FusionReport) -> Made:
    """What an artifact tells of it."""
    return Made(plan.steps, report.layers, (*report.weights, *report.halves), report.host)


def tell_lowered(made: Made, name: str) -> LoweredStory:
    """What lowering made of the ONNX node `name`; changes of layout are told of no node."""
    reasons = {step.node: step.reason for step in made.host}
    steps = (
        StepStory(step.kernel, step.origin, reasons.get(step.node, "") if step.kernel == "host" else "")
        for step in made.steps
        if name in step.origin and step.kernel != "relayout"
    )
    return LoweredStory(
        tuple(dict.fromkeys(steps)),
        tuple(layer for layer in made.layers if name in layer.nodes),
        tuple(weight for weight in made.weights if name in weight.nodes),
        made.failure,
    )


def explain_precision(source: Path, options: CompileOptions | None = None) -> Explanation:
    """What became of the element types of the model or the artifact `source`; raises what compiling or reading does."""
    if source.suffix == SUFFIX:
        from autofusion.services.reports import read_report

        return _explain_types(source, read_report(source), read_artifact(source, verify_weights=False).plan)
    compilation = compile_model(source, options)
    return _explain_types(source, compilation.report, compilation.lowered.plan)


def _explain_types(source: Path, report: FusionReport, plan: Plan) -> Explanation:
    story = PrecisionStory(report.precision, report.carried, report.weights, report.halves, _count_constants(plan))
    return Explanation(source.name, precision=story)


def _count_constants(plan: Plan) -> Mapping[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for tensor in plan.tensors:
        number, size = counts.get(tensor.dtype, (0, 0))
        counts[tensor.dtype] = number + 1, size + tensor.bytes
    return counts
