"""How lowering reads constants: attributes with defaults, scalars, values along the channels, and their range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from autofusion.ir import Node
from autofusion.lowering.scope import Scope


def read_integer(node: Node, name: str, default: int) -> int:
    """Integer attribute `name`."""
    return int(cast(int, node.attributes.get(name, default)))


def read_float(node: Node, name: str, default: float) -> float:
    """Floating-point attribute `name`."""
    return float(cast(float, node.attributes.get(name, default)))


def read_text(node: Node, name: str, default: str) -> str:
    """String attribute `name`."""
    return str(node.attributes.get(name, default))


def read_integers(node: Node, name: str, default: Sequence[int]) -> list[int]:
    """Attribute `name` as a list of integers; an empty list counts as absent."""
    given = cast(Sequence[int], node.attributes.get(name) or default)
    return [int(number) for number in given]


def read_scalar(scope: Scope, name: str) -> float | None:
    """The only element of a constant, else None."""
    array = scope.constant(name)
    if array is None or array.size != 1 or array.dtype.kind in "OSU":
        return None
    return float(array.reshape(()).astype(np.float64))


def read_vector(scope: Scope, name: str, length: int) -> np.ndarray | None:
    """A constant of shape [length] in float64, else None."""
    array = scope.constant(name)
    return None if array is None or array.shape != (length,) else array.astype(np.float64)


def read_channels(scope: Scope, name: str, rank: int, place: int, channels: int) -> np.ndarray | None:
    """A constant that, broadcast to a result of `rank` axes, varies along the channels only: [channels] in float64.

    The channels are the axis at `place` from the end of the result.  None where the constant
    varies along another axis, or would widen the result.
    """
    array = scope.constant(name)
    if array is None or array.ndim > rank:
        return None
    wide = array.astype(np.float64)
    if wide.size == 1:
        return np.full(channels, wide.reshape(()))
    if wide.ndim < place or wide.size != channels or wide.shape[wide.ndim - place] != channels:
        return None
    return wide.reshape(channels)


def fits(array: np.ndarray | None, dtype: np.dtype[np.generic]) -> bool:
    """True where every element of a float64 array stays finite in `dtype`."""
    if array is None:
        return True
    with np.errstate(over="ignore"):
        return bool(np.isfinite(array.astype(dtype).astype(np.float64)).all())
