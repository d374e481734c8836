"""Definition of kernel `excite`: two products of a few rows with activations, the gate of squeeze and excitation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.activation import activate
from autofusion.ops.definitions.precision import operand, required, widen


def excite(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> np.ndarray:
    """gate(act(x @ reduce^T + reduce_bias) @ expand + expand_bias).

    x [N, C, ...1], reduce [R, C], expand [R, M], the biases [R] and [M].
    """
    x, reduce, expand = required(inputs, 0), required(inputs, 1), required(inputs, 3)
    biases = operand(inputs, 2), operand(inputs, 4)
    outer = {name: attributes[f"gate{suffix}"] for name, suffix in _OUTER}
    with np.errstate(all="ignore"):
        inner = widen(x).reshape(len(x), reduce.shape[1]) @ widen(reduce).T
        hidden = activate(inner if biases[0] is None else inner + biases[0], attributes)
        result = hidden @ widen(expand)
        gates = activate(result if biases[1] is None else result + biases[1], outer)
        return gates.reshape(out_shape).astype(x.dtype, copy=False)


_OUTER = (("activation", ""), ("alpha", "_alpha"), ("beta", "_beta"))
