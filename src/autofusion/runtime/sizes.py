"""Step attributes that are size expressions, at given dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from autofusion.plan import KERNELS, Setting, Size, Step, evaluate_size
from autofusion.runtime.damage import damaged_plan


def bind_step(step: Step, dims: Mapping[str, int]) -> Step:
    """`step` with numbers in the place of the size expressions among its attributes.

    Raises ArtifactError (AF514) where one divides by zero or is negative.
    """
    names = KERNELS[step.kernel].sizes
    if not names:
        return step
    attributes: dict[str, Setting] = dict(step.attributes)
    for name in names:
        sizes = cast(Sequence[Size], step.attributes[name])
        attributes[name] = [_evaluate(size, dims, step, name) for size in sizes]
    return replace(step, attributes=attributes)


def _evaluate(size: Size, dims: Mapping[str, int], step: Step, name: str) -> int:
    try:
        number = evaluate_size(size, dims)
    except ZeroDivisionError:
        number = -1
    if number < 0:
        raise damaged_plan(f"attribute {name} of step {step.node!r} has the impossible size {size}")
    return number
