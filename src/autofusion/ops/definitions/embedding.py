"""Definition of kernel `embedding`: rows of up to three tables, added, then normalized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.norm import normalize
from autofusion.ops.definitions.precision import operand, required, widen


def embedding(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """(n(sum) * gamma + beta, sum) with sum = (rows of table_1 + rows of table_2) + rows of table_3.

    table_i [V, H] with ids_i: the rows that the ids name, counted from the end where negative; the ids broadcast to
    `out_shape` without its last axis.  Without ids: a tensor that broadcasts to `out_shape`.
    `norm` as for `norm` over the last axis, "" for none.  Raises ValueError for an id outside its table.
    """
    first = required(inputs, 0)
    gamma, beta = operand(inputs, 6), operand(inputs, 7)
    total = np.zeros((), widen(first).dtype)
    with np.errstate(all="ignore"):
        for place in range(0, min(6, len(inputs)), 2):
            table, ids = operand(inputs, place), inputs[place + 1] if place + 1 < len(inputs) else None
            if table is not None:
                rows = table if ids is None else _take_rows(table, ids)
                total = rows if place == 0 else total + rows
        total = np.broadcast_to(total, out_shape)
        result = normalize(total, str(attributes["norm"]), float(attributes["epsilon"]))
        if gamma is not None:
            result = result * gamma
        if beta is not None:
            result = result + beta
    return result.astype(first.dtype), total.astype(first.dtype)


def _take_rows(table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    count = len(table)
    if ids.size and (ids.min() < -count or ids.max() >= count):
        raise ValueError(f"an id is outside of a table of {count} rows")
    return table[ids]
