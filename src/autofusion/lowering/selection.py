"""Which algorithm computes each convolution: what a tuning bank says, else the one that costs least.

Costs are estimates in multiplications; constants may grow within the size that an artifact may have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autofusion.decisions import LayerChoice, Option, Source
from autofusion.ir import DType
from autofusion.lowering.halves import count_bytes
from autofusion.lowering.layer_key import describe_layer
from autofusion.lowering.records import Draft
from autofusion.plan import Step
from autofusion.tuning import Bank, Choice

GROWTH = 0.22
"""Share of the constants' bytes by which weights that are stored in a larger form may make them grow.

With the plan, the fused graph and the report an artifact stays within 1.25 times the weights of its model.
"""

LEAST_GAIN = 1.2
"""How many times faster than plain sums an algorithm must be by its estimate."""


def select_algorithms(
    draft: Draft,
    find_options: Callable[[Draft, Step], list[Option]],
    *,
    exact: bool = False,
    halves: Sequence[DType] = (),
    bank: Bank | None = None,
) -> Mapping[int, LayerChoice]:
    """For every convolution of a native draft with a constant weight, by the index of its step, what computes it.

    A layer takes what `bank` says, if that is among its options.  Of the others each takes the cheapest option that
    needs no room.  Then one after the other gets the option that saves most for a byte, as long as the constants have
    not grown as much as they may; those that a type of `halves` holds are stored in it.  `exact` leaves plain sums.
    """
    found = {
        index: find_options(draft, step)
        for index, step in enumerate(draft.steps)
        if step.kernel in ("conv", "conv_pool") and step.inputs[1] in draft.constants
    }
    layers = {index: describe_layer(draft, draft.steps[index]) for index in found}
    asked = {index: _ask(bank, layers[index], options, exact) for index, options in found.items()}
    fixed = {index: option for index, (option, _) in asked.items() if option is not None}
    room = int(GROWTH * sum(count_bytes(array, halves) for array in draft.constants.values()))
    plain = {index: options[0] for index, options in found.items()}
    chosen = plain if exact else _choose_cheapest(found, fixed, room)
    decided: dict[int, LayerChoice] = {}
    for index, options in found.items():
        source, reason = _explain(chosen[index], options, is_fixed=index in fixed, exact=exact)
        step, refused = draft.steps[index], asked[index][1]
        decided[index] = LayerChoice(
            step.origin, "operators", layers[index], chosen[index], tuple(options), source, reason, refused
        )
    return decided


def _ask(bank: Bank | None, layer: str, options: Sequence[Option], exact: bool) -> tuple[Option | None, str]:
    """What the bank has for a layer, and why that cannot be taken; None and "" where it has nothing."""
    found = None if bank is None else bank.find("operators", layer)
    if found is None:
        return None, ""
    choice = found[1]
    option = next((option for option in options if _is_meant(option, choice)), None)
    if option is None:
        return None, f"{choice}: the layer can be computed by {'; '.join(map(str, options))}"
    if exact and option != options[0]:
        return None, f"{choice}: exact results are asked for, and it rounds more than plain sums"
    return option, ""


def _is_meant(option: Option, choice: Choice) -> bool:
    return (option.algorithm, option.tile, option.filters) == (choice.algorithm, choice.tile, choice.filters)


def _choose_cheapest(
    found: Mapping[int, Sequence[Option]], fixed: Mapping[int, Option], left: int
) -> Mapping[int, Option]:
    """The options that are fixed, and for the other layers the cheapest within `left` bytes of growth for all.

    One layer after the other gets the option that saves most for a byte, as long as there is room for one.
    """
    left -= sum(option.growth for option in fixed.values())
    chosen = {index: fixed.get(index) or _find_cheapest(options) for index, options in found.items()}
    larger = {index: _find_faster(options) for index, options in found.items() if index not in fixed}
    while True:
        fitting = [
            (_rate_growth(option, chosen[index]), -index, option)
            for index, options in larger.items()
            for option in options
            if option.cost < chosen[index].cost and 0 < option.growth - chosen[index].growth <= left
        ]
        if not fitting:
            return chosen
        _, place, option = max(fitting, key=lambda entry: entry[:2])
        left -= option.growth - chosen[-place].growth
        chosen[-place] = option


def _find_cheapest(options: Sequence[Option]) -> Option:
    """The cheapest option that needs no room."""
    return min(
        (option for option in _find_faster(options) if option.growth <= 0),
        key=lambda option: option.cost,
        default=options[0],
    )


def _find_faster(options: Sequence[Option]) -> Sequence[Option]:
    """The options that are clearly faster than plain sums."""
    return [option for option in options if option.cost * LEAST_GAIN <= options[0].cost]


def _rate_growth(option: Option, chosen: Option) -> float:
    """Multiplications that an option saves beside the chosen one, for a byte that it needs more."""
    return (chosen.cost - option.cost) / (option.growth - chosen.growth)


def _explain(chosen: Option, options: Sequence[Option], *, is_fixed: bool, exact: bool) -> tuple[Source, str]:
    """Who decided for an option, and why."""
    if len(options) == 1:
        return "only", "no other algorithm suits the layer"
    if exact:
        return "exact", "exact results are asked for, and the others round more"
    if is_fixed:
        return "bank", "the tuning bank says so"
    best = min(options, key=lambda option: option.cost)
    is_plain = chosen == options[0]
    is_beaten = chosen.cost > best.cost * (LEAST_GAIN if is_plain else 1.0)
    room = "what is faster needs more room than constants may grow by"
    if is_plain:
        return "cost", room if is_beaten else f"no other is {LEAST_GAIN} times as fast by its estimate"
    gain = f"{options[0].cost / chosen.cost:.2f} times as fast as plain sums by its estimate"
    return "cost", f"{gain}; {room}" if is_beaten else gain
