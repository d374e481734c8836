"""Choices for layers as JSON values, with every entry checked, and their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import cast

from autofusion.decisions import Section
from autofusion.plan.fields import format_json
from autofusion.tuning.bank import SECTIONS, Bank, Choice, Key

ALGORITHMS: Mapping[Section, tuple[str, ...]] = {"operators": ("direct", "winograd"), "graph": ("joined", "apart")}

_FILTERS = ("stored", "made")
"""Where Winograd's filters come from: the artifact, or a step before the layer in every run."""


class UnknownAlgorithm(ValueError):
    """An algorithm that there is not; `help` lists those of its section."""

    def __init__(self, key: Key, algorithm: str) -> None:
        super().__init__(f"the algorithm {algorithm!r:.60} for {key.layer!r:.200}")
        self.help = f"those of {key.section!r} are {', '.join(ALGORITHMS[key.section])}"


def describe_choices(choices: Mapping[Key, Choice]) -> dict[str, object]:
    """The choices as JSON values, keys sorted: by section, by instruction set, by layer."""
    tables: dict[str, dict[str, dict[str, object]]] = {section: {} for section in SECTIONS}
    for key, choice in sorted(choices.items()):
        winograd = {"filters": choice.filters, "tile": choice.tile} if choice.tile else {}
        entry: dict[str, object] = {"algorithm": choice.algorithm, **winograd}
        tables[key.section].setdefault(key.target, {})[key.layer] = entry
    return cast(dict[str, object], tables)


def read_choices(tables: Mapping[str, object]) -> dict[Key, Choice]:
    """The choices that `describe_choices` described; a section that is not there has none.

    Raises UnknownAlgorithm, and ValueError for any other form.
    """
    for section in tables:
        if section not in SECTIONS:
            raise ValueError(f"it has {section!r:.60}, which is none of {', '.join(SECTIONS)}")
    return dict(_list_choices(tables))


def digest_bank(bank: Bank) -> str:
    """SHA-256 of the choices, in hexadecimal: the same for the same choices, whatever files they come from."""
    return hashlib.sha256(format_json(describe_choices(bank.choices)).encode()).hexdigest()


def as_table(value: object, place: str) -> dict[str, object]:
    """`value` as a JSON object; raises ValueError where it is none, naming the `place`."""
    if not isinstance(value, dict):
        raise ValueError(f"{place} is no object")
    return cast(dict[str, object], value)


def _list_choices(tables: Mapping[str, object]) -> Iterator[tuple[Key, Choice]]:
    for section in SECTIONS:
        for target, layers in as_table(tables.get(section, {}), repr(section)).items():
            for layer, entry in as_table(layers, f"{target!r:.60} of {section!r}").items():
                key = Key(section, target, layer)
                yield key, _read_choice(key, as_table(entry, f"the entry of {layer!r:.200}"))


def _read_choice(key: Key, entry: Mapping[str, object]) -> Choice:
    algorithm = entry.get("algorithm")
    if not isinstance(algorithm, str):
        raise ValueError(f"the entry of {key.layer!r:.200} has no algorithm, which is a text")
    if algorithm not in ALGORITHMS[key.section]:
        raise UnknownAlgorithm(key, algorithm)
    names = ("algorithm", "tile", "filters") if algorithm == "winograd" else ("algorithm",)
    if set(entry) != set(names):
        raise ValueError(f"the entry of {key.layer!r:.200} does not have {', '.join(names)} and nothing else")
    if algorithm != "winograd":
        return Choice(algorithm)
    tile, filters = entry["tile"], entry["filters"]
    if type(tile) is not int or tile < 1:
        raise ValueError(f"tile of {key.layer!r:.200} is {tile!r:.60}, not a number from 1 up")
    if filters not in _FILTERS:
        raise ValueError(f"filters of {key.layer!r:.200} are {filters!r:.60}, not {' or '.join(_FILTERS)}")
    return Choice(algorithm, tile, cast(str, filters))
