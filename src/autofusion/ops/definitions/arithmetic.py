"""Definition of kernel `arithmetic`: one function of two broadcast operands, integers and truth values too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import required


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b; of integers the quotient rounded toward zero, and 0 where b is 0."""
    if a.dtype.kind not in "iu":
        return a / b
    quotient = a // b
    inexact = (a % b != 0) & ((a < 0) != (b < 0))
    return quotient + inexact.astype(quotient.dtype)


def power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a ** b; of integers and a negative exponent 1 / a ** -b cut to an integer, and 0 where a is 0."""
    if a.dtype.kind != "i" or not (b < 0).any():
        return np.power(a, b)
    positive = np.power(a, np.maximum(b, 0))
    unit = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0)).astype(a.dtype)
    return np.where(b < 0, unit, positive)


FUNCTIONS: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": divide,
    "Mod": np.mod,
    "FMod": np.fmod,
    "Pow": power,
    "Max": np.maximum,
    "Min": np.minimum,
    "And": np.bitwise_and,
    "Or": np.bitwise_or,
    "Xor": np.bitwise_xor,
}


def arithmetic(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """op(a, b) under ONNX broadcasting, in the type of the operands: integers wrap, a remainder by 0 is 0."""
    a, b = required(inputs, 0), required(inputs, 1)
    with np.errstate(all="ignore"):
        return FUNCTIONS[str(attributes["op"])](a, b).astype(a.dtype, copy=False).reshape(out_shape)
