"""Definition of kernel `pointwise`: a program of elementwise instructions, and one reduction after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.activation import ACTIVATION
from autofusion.ops.definitions.binary import FUNCTIONS as BINARY
from autofusion.ops.definitions.precision import required, widen
from autofusion.ops.definitions.unary import FUNCTIONS as UNARY

COMPARISONS = {
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
}

REDUCTIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "Sum": lambda rows: rows.sum(axis=-1, keepdims=True),
    "Mean": lambda rows: rows.sum(axis=-1, keepdims=True) / np.asarray(rows.shape[-1], rows.dtype),
    "Max": lambda rows: rows.max(axis=-1, keepdims=True, initial=-np.inf),
    "Min": lambda rows: rows.min(axis=-1, keepdims=True, initial=np.inf),
}


def pointwise(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """The last register of `program`, reduced over the last axis, which stays with extent 1, where `reduce` says so.

    Registers are the operands, then one for each instruction `[op, a, b, c, alpha, beta]`; a, b and c are registers,
    -1 where there is none.  `op` is an activation with alpha and beta, a function of kernel `unary`, an operator of
    kernel `binary`, a comparison (1 for true, 0 for false), "Select" (b where a is not 0, else c) or "Constant"
    (alpha).  Operands broadcast to one another and have one floating type, which is the result's; those of truth
    values count as 1 and 0.  Raises KeyError for another op, ValueError where no operand is floating.
    """
    given = [required(inputs, place) for place in range(len(inputs))]
    dtype = next((array.dtype for array in given if array.dtype.kind != "b"), None)
    if dtype is None:
        raise ValueError("no operand is of a floating type")
    registers = [widen(array.astype(dtype, copy=False)) for array in given]
    with np.errstate(all="ignore"):
        for op, *places, alpha, beta in attributes["program"]:
            operands = [registers[int(place)] for place in places if int(place) >= 0]
            registers.append(_compute(str(op), operands, float(alpha), float(beta), registers[0].dtype))
        result = registers[-1]
        if attributes["reduce"]:
            rows = np.broadcast_shapes(*(register.shape for register in registers))
            result = REDUCTIONS[attributes["reduce"]](np.broadcast_to(result, rows))
    return np.broadcast_to(result, out_shape).astype(dtype)


def _compute(op: str, operands: Sequence[np.ndarray], alpha: float, beta: float, dtype: np.dtype[Any]) -> np.ndarray:
    if op == "Constant":
        return np.array(alpha, dtype)
    if op == "Select":
        return np.where(operands[0] != 0, operands[1], operands[2])
    if op in ACTIVATION:
        return ACTIVATION[op](operands[0], dtype.type(alpha), dtype.type(beta)).astype(dtype, copy=False)
    if op in UNARY:
        return UNARY[op](operands[0]).astype(dtype, copy=False)
    if op in COMPARISONS:
        return COMPARISONS[op](*operands).astype(dtype)
    return BINARY[op](*operands).astype(dtype, copy=False)
