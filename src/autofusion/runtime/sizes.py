"""Step attributes that are size expressions, at given dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from autofusion.plan import KERNELS, Plan, Setting, Size, Step, evaluate_size
from autofusion.runtime.refusals import damaged_plan


def bind_steps(plan: Plan, dims: Mapping[str, int]) -> tuple[Step, ...]:
    """`bind_step` of every step of `plan`; each size expression is evaluated once."""
    known: dict[Size, int] = {}
    return tuple(bind_step(step, dims, known) for step in plan.steps)


def bind_step(step: Step, dims: Mapping[str, int], known: dict[Size, int] | None = None) -> Step:
    """`step` with numbers in the place of the size expressions among its attributes.

    `known` has the sizes that were evaluated at these dims, and takes more.  Raises ArtifactError (AF514) where one
    divides by zero or is negative.
    """
    names = KERNELS[step.kernel].sizes
    if not names:
        return step
    known = {} if known is None else known
    attributes: dict[str, Setting] = dict(step.attributes)
    for name in names:
        sizes = cast(Sequence[Size], step.attributes[name])
        attributes[name] = [_evaluate(size, dims, known, step, name) for size in sizes]
    return step._replace(attributes=attributes)


def _evaluate(size: Size, dims: Mapping[str, int], known: dict[Size, int], step: Step, name: str) -> int:
    number = known.get(size)
    if number is None:
        try:
            number = known[size] = evaluate_size(size, dims)
        except ZeroDivisionError:
            number = -1
    if number < 0:
        raise damaged_plan(f"attribute {name} of step {step.node!r} has the impossible size {size}")
    return number
