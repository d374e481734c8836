"""The operator table: all families of rows behind one look-up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from autofusion.ops import (
    activation,
    arithmetic,
    attention,
    casting,
    control,
    convolution,
    extents,
    gathering,
    logic,
    matmul,
    normalization,
    plain,
    pooling,
    quantization,
    reduction,
    reshaping,
    resize,
    selection,
)
from autofusion.ops.table import Operator

_FAMILIES = (
    activation.ROWS,
    arithmetic.ROWS,
    attention.ROWS,
    casting.ROWS,
    control.ROWS,
    convolution.ROWS,
    extents.ROWS,
    gathering.ROWS,
    logic.ROWS,
    matmul.ROWS,
    normalization.ROWS,
    plain.ROWS,
    pooling.ROWS,
    quantization.ROWS,
    reduction.ROWS,
    reshaping.ROWS,
    resize.ROWS,
    selection.ROWS,
)


@cache
def operators() -> Mapping[tuple[str, str], Operator]:
    """All rows by (domain, name)."""
    return MappingProxyType({(row.domain, row.name): row for family in _FAMILIES for row in family})


def find_operator(name: str, domain: str = "") -> Operator | None:
    """The row of an operator, None where the table has none."""
    return operators().get((domain, name))
