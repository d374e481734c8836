"""Definition of kernel `rotary`: rotary position embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required, widen
from autofusion.ops.definitions.views import view


def rotary(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """x rotated in pairs: y_1 = x_1 cos_1 - x_2 sin_1, y_2 = x_2 cos_2 + x_1 sin_2.

    x is read as [batch, heads, rows, size] (`extents`) through `x_view`, y written through `y_view`.  The first
    `width` numbers of each head are rotated, the others copied; a pair is the halves' i-th numbers, with
    `interleaved` neighbours.  cos and sin broadcast to [batch, heads, rows, width], or have half that width:
    then both numbers of a pair have one angle.  Formula: ONNX RotaryEmbedding-23.
    """
    x = required(inputs, 0)
    extents = [int(extent) for extent in attributes["extents"]]
    width, interleaved = int(attributes["width"]), bool(attributes["interleaved"])
    cos, sin = (_full(widen(required(inputs, place)), width, interleaved) for place in (1, 2))
    heads = view(widen(np.ascontiguousarray(x)), extents, attributes["x_view"])
    turned, rest = heads[..., :width], heads[..., width:]
    with np.errstate(all="ignore"):
        result = turned * cos + _partners(turned, interleaved) * sin
    y = np.empty(out_shape, x.dtype)
    view(y, extents, attributes["y_view"])[...] = np.concatenate([result, rest], axis=-1)
    return y


def _full(table: np.ndarray, width: int, interleaved: bool) -> np.ndarray:
    """One angle a number from a table that may have one a pair."""
    if table.shape[-1] == width:
        return table
    return np.repeat(table, 2, axis=-1) if interleaved else np.concatenate([table, table], axis=-1)


def _partners(x: np.ndarray, interleaved: bool) -> np.ndarray:
    """The other number of each pair, negated where it is the second."""
    if interleaved:
        return np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
