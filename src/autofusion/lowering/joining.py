"""Whether two layers that may be one step are: what a tuning bank says, else what their sizes do."""

from __future__ import annotations

from autofusion.decisions import LayerChoice, Option
from autofusion.lowering.layer_key import describe_layer
from autofusion.lowering.records import Draft
from autofusion.plan import Step
from autofusion.tuning import Bank

JOINED = Option("joined")
APART = Option("apart")


def choose_joining(draft: Draft, joined: Step, bank: Bank | None, *, pays: bool, reason: str) -> LayerChoice:
    """The choice for the steps of `draft` in whose place `joined` might stand.

    `pays` says whether it is faster without a bank, `reason` on what ground.
    """
    layer = describe_layer(draft, joined)
    options = (JOINED, APART)
    found = None if bank is None else bank.find("graph", layer)
    if found is None:
        return LayerChoice(joined.origin, "graph", layer, JOINED if pays else APART, options, "cost", reason)
    chosen = next(option for option in options if option.algorithm == found[1].algorithm)
    return LayerChoice(joined.origin, "graph", layer, chosen, options, "bank", "the tuning bank says so")
