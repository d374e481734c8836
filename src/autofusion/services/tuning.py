"""Tuning banks written from what a compilation decided, to be edited by hand or by measurement."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from autofusion.decisions import LayerChoice, Option
from autofusion.tuning import ANY, Bank, Choice, Key, read_bank, write_bank


def open_bank(path: Path) -> Bank:
    """The bank in the file `path`, an empty one where there is no such file; raises what `read_bank` does."""
    return read_bank(path) if path.is_file() else Bank(path.name)


def collect_choices(layers: Iterable[LayerChoice], target: str = ANY) -> dict[Key, Choice]:
    """For an instruction set what each layer took that could have taken something else.

    Of equal layers that took different things the one counts by which constants grow least.
    """
    ordered = sorted(layers, key=lambda layer: -layer.chosen.growth)
    return {
        Key(layer.section, target, layer.layer): as_choice(layer.chosen) for layer in ordered if len(layer.options) > 1
    }


def as_choice(option: Option) -> Choice:
    """The option as a bank has it."""
    return Choice(option.algorithm, option.tile, option.filters)


def extend_bank(path: Path, bank: Bank, layers: Iterable[LayerChoice], target: str = ANY) -> int:
    """Write `bank` with the choices of `layers` that it lacks to the file `path`; the number of those.

    Raises ArtifactError AF515 or AF516 where the file cannot be written.
    """
    added = {key: choice for key, choice in collect_choices(layers, target).items() if key not in bank.choices}
    write_bank(path, Bank(path.name, {**bank.choices, **added}))
    return len(added)
