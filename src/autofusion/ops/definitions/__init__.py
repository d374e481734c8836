"""Numpy definitions of the kernels: what every step of a plan means.

A definition takes exactly what lowering produced (folded weights, merged scale, epilogue
attributes), in the model's shapes and in row-major order, whatever layout the native kernel uses.
It computes in the type of its operands; two-byte floats are widened to float32 inside and
rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.affine import affine
from autofusion.ops.definitions.binary import binary
from autofusion.ops.definitions.conv import conv
from autofusion.ops.definitions.matmul import matmul
from autofusion.ops.definitions.move import move
from autofusion.ops.definitions.pool import pool
from autofusion.ops.definitions.unary import unary

Definition = Callable[[Sequence[np.ndarray | None], Mapping[str, Any], tuple[int, ...]], np.ndarray]
"""(operands in the table's order, None where absent; attributes; shape of the result) -> the result."""

DEFINITIONS: Mapping[str, Definition] = {
    "conv": conv,
    "matmul": matmul,
    "pool": pool,
    "affine": affine,
    "unary": unary,
    "binary": binary,
    "relayout": move,
    "copy": move,
}

__all__ = ["DEFINITIONS", "Definition"]
