"""Working precision of evaluations: two-byte floats are computed in float32, everything else as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autofusion.ir import DType, Node
from autofusion.ops.table import Evaluate

_HALVES = (np.dtype(np.float16), DType.BFLOAT16.numpy)


def is_float(dtype: np.dtype[np.generic]) -> bool:
    """True for float16, bfloat16, float32 and float64."""
    return dtype.kind == "f" or dtype == DType.BFLOAT16.numpy


def widen_halves(array: np.ndarray) -> np.ndarray:
    """float16 and bfloat16 in float32, anything else as it is."""
    return array.astype(np.float32) if array.dtype in _HALVES else array


def widen_array(array: np.ndarray) -> np.ndarray:
    """Floats in float64, anything else as it is."""
    return array.astype(np.float64) if is_float(array.dtype) else array


def required(operands: Sequence[np.ndarray | None], index: int) -> np.ndarray:
    """The operand at `index`; raises ValueError where it is absent."""
    array = operands[index] if index < len(operands) else None
    if array is None:
        raise ValueError(f"operand {index} is absent")
    return array


def optional(operands: Sequence[np.ndarray | None], index: int) -> np.ndarray | None:
    """The operand at `index`, None where it is absent or left out at the end."""
    return operands[index] if index < len(operands) else None


def elementwise(function: Callable[..., np.ndarray]) -> Evaluate:
    """Evaluation of one result that has the type of the first operand, by a function of the (widened) operands."""

    def evaluate(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        given = [array for array in operands if array is not None]
        found = function(*(widen_halves(array) for array in given))
        return [np.asarray(found).astype(given[0].dtype, copy=False)]

    return evaluate


def elementwise_with_node(function: Callable[..., np.ndarray]) -> Evaluate:
    """As `elementwise`, for a function that takes the node ahead of the operands."""

    def evaluate(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        return elementwise(lambda *arrays: function(node, *arrays))(node, operands)

    return evaluate
