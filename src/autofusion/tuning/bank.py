"""A tuning bank as a value: choices for layers, looked up by what determines a layer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from autofusion.decisions import Section

SECTIONS: tuple[Section, ...] = ("operators", "graph")

ANY = "any"
"""The instruction set of choices that hold for every one."""


@dataclass(frozen=True)
class Choice:
    """What computes a layer: an algorithm of its section, with `tile` and `filters` for `winograd`, else 0 and ""."""

    algorithm: str
    tile: int = 0
    filters: str = ""

    def __str__(self) -> str:
        return f"{self.algorithm} {self.tile}x{self.tile}, filters {self.filters}" if self.tile else self.algorithm


class Key(NamedTuple):
    """What a choice is for: its section, an instruction set or `ANY`, and the text of the layer."""

    section: Section
    target: str
    layer: str


@dataclass(frozen=True)
class Bank:
    """Choices by what they are for; `name` is the base name of the file or folder they come from.

    `target` is the instruction set whose choices win over those for `ANY`; those for others are left alone.
    """

    name: str = ""
    choices: Mapping[Key, Choice] = field(default_factory=dict[Key, Choice])
    target: str = ANY

    def find(self, section: Section, layer: str) -> tuple[Key, Choice] | None:
        """The choice for a layer and its key, None where the bank has none."""
        for target in dict.fromkeys((self.target, ANY)):
            key = Key(section, target, layer)
            if key in self.choices:
                return key, self.choices[key]
        return None

    def narrow(self, keys: Collection[Key]) -> Bank:
        """The bank with the choices for `keys` alone."""
        return Bank(self.name, {key: choice for key, choice in self.choices.items() if key in keys}, self.target)


def merge_choices(banks: Iterable[Bank]) -> dict[Key, Choice]:
    """The choices of all banks: where two have one for the same key, the later bank's holds."""
    return {key: choice for bank in banks for key, choice in bank.choices.items()}


def join_banks(banks: Sequence[Bank], target: str = ANY) -> Bank | None:
    """All of the banks as one for an instruction set, the later ones winning; None without a bank."""
    if not banks:
        return None
    names = dict.fromkeys(bank.name for bank in banks)
    return Bank(",".join(names), merge_choices(banks), target)
