"""Constants of a plan as arrays over the weights."""

from __future__ import annotations

import numpy as np

from autofusion.plan import Plan
from autofusion.plan.dtypes import STRING, decode_strings, storage_type
from autofusion.runtime.refusals import damaged_plan


def read_constant(plan: Plan, weights: np.ndarray, name: str) -> np.ndarray | None:
    """The contents of buffer `name`, read-only and in the storage type; None for a buffer without a tensor.

    Raises ArtifactError (AF514) where the bytes of strings are none.
    """
    index = plan.buffers[name].tensor
    if index is None:
        return None
    tensor = plan.tensors[index]
    data = weights[tensor.offset : tensor.offset + tensor.bytes]
    if tensor.dtype != STRING:
        array = data.view(storage_type(tensor.dtype)).reshape(tensor.shape)
        array.flags.writeable = False
        return array
    try:
        return decode_strings(data.tobytes(), tensor.shape)
    except (ValueError, RecursionError) as error:
        raise damaged_plan(f"constant {name!r} holds no strings: {error}") from error


def read_strings(plan: Plan, weights: np.ndarray) -> dict[str, np.ndarray]:
    """The constants of type string, by buffer name."""
    names = [name for name, buffer in plan.buffers.items() if buffer.dtype == STRING and buffer.role == "constant"]
    found = {name: read_constant(plan, weights, name) for name in names}
    return {name: array for name, array in found.items() if array is not None}


def read_defaults(plan: Plan, weights: np.ndarray) -> dict[str, np.ndarray]:
    """What the inputs are that a caller may leave out, by name."""
    found = {name: read_constant(plan, weights, name) for name in plan.inputs}
    return {name: array for name, array in found.items() if array is not None}
