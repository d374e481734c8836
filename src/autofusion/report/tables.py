"""Columns of text."""

from __future__ import annotations

from collections.abc import Sequence


def render_table(rows: Sequence[Sequence[str]]) -> str:
    """The rows with every column as wide as its longest cell, each row ended by a line break."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "".join(f"{line}\n" for line in lines)


def render_shape(shape: Sequence[object]) -> str:
    """`1x3x224x224`, or `scalar`."""
    return "x".join(str(extent) for extent in shape) or "scalar"
