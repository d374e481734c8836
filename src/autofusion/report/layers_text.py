"""What computes each layer and why, and what became of a tuning bank, as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from autofusion.decisions import BankUse, LayerChoice, Option
from autofusion.report.tables import render_table
from autofusion.report.wording import count


def render_layers(layers: Sequence[LayerChoice]) -> Iterator[str]:
    """How many layers take which algorithm, then every layer."""
    if not layers:
        yield "Layers with more than one way to compute them: none"
        return
    counts = Counter(layer.chosen.algorithm for layer in layers)
    yield f"Layers: {', '.join(f'{algorithm} {number}' for algorithm, number in counts.most_common())}"
    for layer in layers:
        yield f"  {', '.join(layer.nodes) or '-'}"
        yield from (f"    {line}" for line in render_layer(layer))


def render_layer(layer: LayerChoice) -> Iterator[str]:
    """The text by which tuning banks name the layer, the choice and its reason, and what else there was."""
    yield layer.layer
    yield f"{layer.chosen}: {layer.reason}"
    if layer.refused:
        yield f"the tuning bank's choice was not taken: {layer.refused}"
    if len(layer.options) > 1:
        rows = [("*" if option == layer.chosen else " ", *_spell_option(option)) for option in layer.options]
        yield from (f"  {line}" for line in render_table(rows).splitlines())


def render_bank(bank: BankUse) -> str:
    """How many of a bank's choices were taken, in a line."""
    parts = [f"{count(bank.taken, 'choice')} taken"]
    if bank.refused:
        parts.append(f"{bank.refused} not possible")
    if bank.unused:
        parts.append(f"{bank.unused} for other layers or instruction sets")
    return f"Tuning bank {bank.name} ({bank.target}): {', '.join(parts)}"


def _spell_option(option: Option) -> tuple[str, str, str]:
    cost = f"{_spell_number(option.cost)} multiplications" if option.cost else ""
    growth = f"{_spell_number(option.growth)} more bytes" if option.growth > 0 else ""
    return str(option), cost, growth


def _spell_number(number: float) -> str:
    """Three digits and a prefix of SI."""
    for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {prefix}"
    return f"{number:.0f}"
