"""Reading the values of options that several commands share."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError

if TYPE_CHECKING:
    from autofusion.plan import Size

_MOST_DIGITS = 18

OPEN = -1
"""An extent of `--input_shape` that stays what the model says."""


def is_number(text: str) -> bool:
    """True for the digits of a number from 0 up that an extent may be."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def parse_dims(texts: Sequence[str], option: str = "--dim") -> dict[str, int]:
    """`("batch=2", "seq=128")` as extents by symbol; raises UsageError."""
    dims: dict[str, int] = {}
    for text in texts:
        name, equals, extent = (part.strip() for part in text.partition("="))
        if not (name and equals and is_number(extent)):
            message = f"{text!r} of {option} is no extent of a dimension"
            raise UsageError(Diagnostic("AF204", message, help=f"write {option} batch=2"))
        dims[name] = int(extent)
    return dims


def parse_sizes(texts: Sequence[str], option: str = "--dim") -> tuple[dict[str, int], ...]:
    """`("batch=1,2", "seq=8,128")` as every combination of extents by symbol, in order; raises UsageError."""
    lists: dict[str, list[int]] = {}
    for text in texts:
        name, _, extents = text.partition("=")
        for extent in extents.split(","):
            ((symbol, number),) = parse_dims((f"{name}={extent}",), option).items()
            lists.setdefault(symbol, []).append(number)
    return tuple(dict(zip(lists, numbers, strict=True)) for numbers in itertools.product(*lists.values()))


def parse_seeds(text: str, option: str = "--seeds") -> tuple[int, ...]:
    """`"0,1,2"` as numbers; raises UsageError."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() for part in parts):
        message = f"{text!r} of {option} is no list of seeds"
        raise UsageError(Diagnostic("AF214", message, help=f"write {option} 0,1,2"))
    return tuple(int(part) for part in parts)


def parse_minimums(texts: Sequence[str], option: str = "--min") -> dict[str, int]:
    """`("Conv+BN+ReLU=33",)` as counts by name; raises UsageError."""
    minimums: dict[str, int] = {}
    for text in texts:
        name, _, count = (part.strip() for part in text.rpartition("="))
        if not (name and count.isdecimal()):
            message = f"{text!r} of {option} is no least count of a fusion"
            raise UsageError(Diagnostic("AF214", message, help=f'write {option} "Conv+BN+ReLU=33"'))
        minimums[name] = int(count)
    return minimums


def parse_shapes(text: str, option: str = "--input_shape") -> dict[str, tuple[Size, ...]]:
    """`"x:batch,3,224,224;y:1,-1"` as shapes by input; raises UsageError.

    `-1` is `OPEN`, `1~10` a range, a name a symbol, and `"n:"` is a scalar.
    An input's name may itself contain colons: the last one ends it.
    """
    shapes: dict[str, tuple[Size, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, extents = (piece.strip() for piece in part.rpartition(":"))
        if not colon or not name:
            raise _bad_shape(part, "there is no name and colon before the extents", option)
        if name in shapes:
            raise _bad_shape(part, f"input {name!r} is given twice", option)
        shapes[name] = tuple(_parse_extent(extent.strip(), part, option) for extent in extents.split(",") if extents)
    if not shapes:
        raise _bad_shape(text, "it is empty", option)
    return shapes


def parse_switches(text: str, option: str = "--optimization_switch") -> dict[str, bool]:
    """`"NameA:off;NameB:on"` as switches by name; raises UsageError."""
    switches: dict[str, bool] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, state = (piece.strip() for piece in part.rpartition(":"))
        if not (name and colon) or state not in ("on", "off"):
            message = f"value {text!r} of {option} is invalid: {part!r} is not NAME:on or NAME:off"
            raise UsageError(Diagnostic("AF214", message, help=f'write {option}="Conv+BN+ReLU:off"'))
        switches[name] = state == "on"
    return switches


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Names separated by commas or semicolons, in order, each once."""
    return tuple(dict.fromkeys(name.strip() for text in texts for name in re.split("[,;]", text) if name.strip()))


def _parse_extent(text: str, part: str, option: str) -> Size:
    if text.isidentifier():
        return text
    if text == "-1":
        return OPEN
    low, tilde, high = text.partition("~")
    if tilde and is_number(low) and (high == "-1" or (is_number(high) and int(low) <= int(high))):
        return f"{int(low)}~{int(high)}"
    if not is_number(text):
        raise _bad_shape(part, f"extent {text!r} is neither a number, a range nor a name", option)
    return int(text)


def _bad_shape(part: str, reason: str, option: str) -> UsageError:
    message = f"{part!r} of {option} is no shape: {reason}"
    remedy = f'write {option}="x:1,3,224,224;y:1,8", with -1 for an extent that stays open, 1~8 within limits'
    return UsageError(Diagnostic("AF205", message, help=remedy))
