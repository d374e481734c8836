"""Definitions of kernels `range` and `triangle`: progressions, and matrices cut along a diagonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required


def count(
    inputs: Sequence[np.ndarray | None], _attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """start + i * delta for every i, in their type."""
    start, delta = required(inputs, 0).reshape(()), required(inputs, 1).reshape(())
    with np.errstate(all="ignore"):
        return (start + np.arange(out_shape[0]).astype(start.dtype) * delta).astype(start.dtype)


def triangle(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """The elements of every matrix on and above a diagonal where `upper`, else on and below it; 0 elsewhere.

    `diagonal` is two numbers: it passes through row 0 in the column that their difference names.
    """
    x, (right, down) = required(inputs, 0), attributes["diagonal"]
    cut = np.triu if attributes["upper"] else np.tril
    return cut(x, right - down).reshape(out_shape)
