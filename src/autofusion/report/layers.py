"""What computes each layer, as rows of the JSON report."""

from __future__ import annotations

from typing import cast

from autofusion.decisions import BankUse, LayerChoice, Option, Section, Source
from autofusion.report.reading import Json, read_list, read_number, read_ratio, read_rows, read_table, read_text

_SECTIONS = ("operators", "graph")
_SOURCES = ("cost", "bank", "exact", "only")


def describe_layer(layer: LayerChoice) -> dict[str, object]:
    """A row of `layers`: plain JSON values under stable keys."""
    return {
        "nodes": list(layer.nodes),
        "section": layer.section,
        "layer": layer.layer,
        "chosen": _describe_option(layer.chosen),
        "options": [_describe_option(option) for option in layer.options],
        "source": layer.source,
        "reason": layer.reason,
        "refused": layer.refused,
    }


def read_layer(row: Json) -> LayerChoice:
    """The layer that `describe_layer` described; raises ValueError naming the key at fault."""
    return LayerChoice(
        nodes=tuple(map(str, read_list(row, "nodes"))),
        section=cast(Section, _read_word(row, "section", _SECTIONS)),
        layer=read_text(row, "layer"),
        chosen=_read_option(read_table(row, "chosen")),
        options=read_rows(row, "options", _read_option),
        source=cast(Source, _read_word(row, "source", _SOURCES)),
        reason=read_text(row, "reason"),
        refused=read_text(row, "refused"),
    )


def read_bank(row: Json) -> BankUse:
    """What became of a tuning bank; raises ValueError naming the key at fault."""
    return BankUse(
        name=read_text(row, "name"),
        target=read_text(row, "target"),
        digest=read_text(row, "digest"),
        taken=read_number(row, "taken"),
        refused=read_number(row, "refused"),
        unused=read_number(row, "unused"),
    )


def _describe_option(option: Option) -> dict[str, object]:
    return {
        "algorithm": option.algorithm,
        "tile": option.tile,
        "filters": option.filters,
        "cost": option.cost,
        "growth": option.growth,
    }


def _read_option(row: Json) -> Option:
    return Option(
        algorithm=read_text(row, "algorithm"),
        cost=read_ratio(row, "cost"),
        tile=read_number(row, "tile"),
        stored=read_text(row, "filters") == "stored",
        growth=read_number(row, "growth"),
    )


def _read_word(row: Json, key: str, words: tuple[str, ...]) -> str:
    word = read_text(row, key)
    if word not in words:
        raise ValueError(f"{key!r} is {word!r:.60}, not one of {', '.join(words)}")
    return word
