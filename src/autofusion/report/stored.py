"""Weights that are stored in two bytes an element, and values that are carried in four, as lines of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from autofusion.decisions import StoredWeight
from autofusion.report.wording import count

SHOWN_WEIGHTS = 8


def render_carried(types: Sequence[str], precision: str) -> str:
    """How values of two bytes are computed."""
    if precision == "force_fp32":
        return f"{', '.join(types)}: computed and kept in float32 (force_fp32)"
    return f"{', '.join(types)}: computed in float32, rounded after every node"


def render_stored(weights: Sequence[StoredWeight], *, everything: bool = False) -> Iterator[str]:
    """The lowered weights, the largest first, then those that stayed float32, each with its reason.

    Without `everything` the largest of each alone.
    """
    lowered = sorted((row for row in weights if not row.reason), key=_size)
    yield (
        f"Weights stored in {_types(lowered)}, computed in float32: {_total(lowered)}"
        if lowered
        else ("Weights stored in two bytes: none")
    )
    shown = len(weights) if everything else SHOWN_WEIGHTS
    for row in lowered[:shown]:
        yield f"  {row.tensor} ({_reader(row)}): {_sizes([row])}, rounding {row.rounding:.1e} of its column or row"
    if len(lowered) > shown:
        worst = max(row.rounding for row in lowered)
        yield f"  and {len(lowered) - shown} more, rounding at most {worst:.1e}: the JSON report has them all"
    left = sorted((row for row in weights if row.reason), key=_size)
    if left:
        size = sum(row.bytes_after for row in left)
        yield f"Weights left in float32: {count(len(left), 'tensor')}, {_megabytes(size)}"
    yield from (f"  {row.tensor} ({_reader(row)}): {row.reason}" for row in left[:shown])
    if len(left) > shown:
        yield f"  and {len(left) - shown} more: the JSON report has them all"


def render_weight(row: StoredWeight) -> str:
    """How a weight is stored: its bytes and rounding, or why it stays float32."""
    if row.reason:
        return f"float32, because {row.reason}"
    rounding = f"rounding {row.rounding:.1e} of its column or row" if row.rounding else "no rounding"
    return f"{row.dtype}, {_sizes([row])}, {rounding}"


def render_halves(weights: Sequence[StoredWeight]) -> Iterator[str]:
    """Of a model of two-byte floats the weights that are stored as they are, then those that are float32, and why."""
    kept = [row for row in weights if not row.reason]
    if kept:
        size = _megabytes(sum(row.bytes_after for row in kept))
        yield f"Weights stored in {_types(kept)} as they are: {count(len(kept), 'tensor')}, {size}"
    left = sorted((row for row in weights if row.reason), key=_size)
    if left:
        size = _megabytes(sum(row.bytes_after for row in left))
        yield f"Weights stored in float32: {count(len(left), 'tensor')}, {size}"
    yield from (f"  {row.tensor} ({_reader(row)}): {row.reason}" for row in left)


def render_constants(constants: Mapping[str, tuple[int, int]]) -> str:
    """How many tensors of each type an artifact has, and their bytes; the largest part first."""
    ordered = sorted(constants.items(), key=lambda entry: -entry[1][1])
    parts = (f"{dtype} {count(number, 'tensor')}, {_megabytes(size)}" for dtype, (number, size) in ordered)
    return f"Constants of the artifact: {'; '.join(parts) or 'none'}"


def summarize_stored(weights: Sequence[StoredWeight]) -> str:
    """How many weights were lowered, in a few words."""
    lowered = [row for row in weights if not row.reason]
    return f"weights in {_types(lowered)} {len(lowered)} ({_sizes(lowered)})" if lowered else "weights in two bytes 0"


def _types(lowered: Sequence[StoredWeight]) -> str:
    return ", ".join(sorted({row.dtype for row in lowered}))


def _total(lowered: Sequence[StoredWeight]) -> str:
    return f"{count(len(lowered), 'tensor')}, {_sizes(lowered)}"


def _sizes(rows: Sequence[StoredWeight]) -> str:
    before, after = sum(row.bytes_before for row in rows), sum(row.bytes_after for row in rows)
    return f"{_megabytes(before)} -> {_megabytes(after)}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} bytes"


def _reader(row: StoredWeight) -> str:
    """The last node that reads it: what a fused node begins with is often a normalization."""
    return row.nodes[-1] if row.nodes else "-"


def _size(row: StoredWeight) -> int:
    return -row.bytes_before
