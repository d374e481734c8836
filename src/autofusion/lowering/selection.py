"""Which algorithm computes each convolution: the one that costs least, within the size that an artifact may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from autofusion.ir import DType
from autofusion.lowering.halves import count_bytes
from autofusion.lowering.records import Draft
from autofusion.plan import Step

GROWTH = 0.22
"""Share of the constants' bytes by which weights that are stored in a larger form may make them grow.

With the plan, the fused graph and the report an artifact stays within 1.25 times the weights of its model.
"""

LEAST_GAIN = 1.2
"""How many times faster than plain sums an algorithm must be by its estimate."""


@dataclass(frozen=True)
class Option:
    """An algorithm for a layer: `direct`, or `winograd` for `tile` results each way.

    `cost` is in multiplications; `stored` says that the weights lie in the artifact as the kernel takes them, by which
    they grow `growth` bytes, and are not made from the filters in every run.
    """

    algorithm: str
    cost: float
    tile: int = 0
    stored: bool = False
    growth: int = 0


@dataclass(frozen=True)
class Selection:
    """The option that a layer takes and all that it had, plain sums first."""

    chosen: Option
    options: Sequence[Option]


def select_algorithms(
    draft: Draft,
    find_options: Callable[[Draft, Step], list[Option]],
    *,
    exact: bool = False,
    halves: Sequence[DType] = (),
) -> Mapping[int, Selection]:
    """For every convolution of a native draft with a constant weight, by the index of its step, what computes it.

    A layer takes the cheapest option that needs no room.  Then those that gain most by a byte come first, each with the
    cheapest option that still fits, until the constants have grown as much as they may; those that a type of `halves`
    holds are stored in it.  `exact` leaves plain sums.
    """
    found = {
        index: find_options(draft, step)
        for index, step in enumerate(draft.steps)
        if step.kernel in ("conv", "conv_pool") and step.inputs[1] in draft.constants
    }
    if exact:
        return {index: Selection(options[0], options) for index, options in found.items()}
    chosen = {index: _find_cheapest(options, 0) for index, options in found.items()}
    left = int(GROWTH * sum(count_bytes(array, halves) for array in draft.constants.values()))
    ranked = sorted(found, key=lambda index: (-_rate_growth(found[index], chosen[index]), index))
    for index in ranked:
        better = _find_cheapest(found[index], left)
        left -= better.growth
        chosen[index] = better
    return {index: Selection(chosen[index], options) for index, options in found.items()}


def _find_cheapest(options: Sequence[Option], room: int) -> Option:
    """The cheapest option that grows by `room` bytes at most: plain sums, unless another one is clearly faster."""
    plain = options[0]
    faster = [option for option in options if option.growth <= room and option.cost * LEAST_GAIN <= plain.cost]
    return min(faster, key=lambda option: option.cost, default=plain)


def _rate_growth(options: Sequence[Option], chosen: Option) -> float:
    """Multiplications that the cheapest option saves beside the chosen one, for a byte of its growth."""
    best = _find_cheapest(options, max(option.growth for option in options))
    return (chosen.cost - best.cost) / best.growth if best.growth else 0.0
