"""Last stage of lowering: places of the constants, and which steps each graph node became."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from autofusion.decisions import HostStep
from autofusion.ir import DType
from autofusion.lowering.records import Draft, Lowered
from autofusion.plan import Buffer, Plan, Tensor
from autofusion.plan.dtypes import encode_strings

ALIGNMENT = 64
"""Every tensor starts at a multiple of this many bytes."""


def assemble(draft: Draft, nodes: Iterable[str]) -> Lowered:
    """The finished plan of `draft` and, for each of the graph's `nodes` by name, the steps that compute it."""
    names, arrays = _order_constants(draft)
    tensors: list[Tensor] = []
    offset = 0
    for name, array in zip(names, arrays, strict=True):
        size = len(encode_strings(array)) if array.dtype.kind in "OSU" else array.nbytes
        tensors.append(Tensor(name, DType.of(array).value, tuple(array.shape), offset, size))
        offset += -(-size // ALIGNMENT) * ALIGNMENT
    plan = Plan(
        backend=draft.backend,
        inputs=draft.inputs,
        outputs=draft.outputs,
        symbols=draft.symbols,
        buffers=_place_buffers(draft, {id(array): index for index, array in enumerate(arrays)}),
        tensors=tuple(tensors),
        steps=draft.steps,
    )
    steps_of: dict[str, list[int]] = {name: [] for name in nodes}
    for index, step in enumerate(draft.steps):
        steps_of.setdefault(step.node, []).append(index)
    for node, other in draft.joined.items():
        steps_of[node] += steps_of[other]
    return Lowered(
        plan,
        tuple(arrays),
        {name: tuple(indices) for name, indices in steps_of.items() if name},
        tuple(
            HostStep(step.node, str(step.attributes["op"]), draft.reasons[step.outputs])
            for step in draft.steps
            if step.kernel == "host"
        ),
        layers=draft.layers,
        dealt=draft.dealt,
    )


def _order_constants(draft: Draft) -> tuple[list[str], list[np.ndarray]]:
    """Constants in the order of their first use, each array once."""
    read = [name for step in draft.steps for name in step.inputs if name]
    roots = (draft.buffers[name].alias or name for name in read)
    read_by_caller = (*draft.inputs, *draft.outputs)
    ordered = dict.fromkeys(name for name in (*roots, *read_by_caller) if name in draft.constants)
    names: list[str] = []
    arrays: dict[int, np.ndarray] = {}
    for name in ordered:
        array = draft.constants[name]
        if id(array) not in arrays:
            names.append(name)
            arrays[id(array)] = array
    return names, list(arrays.values())


def _place_buffers(draft: Draft, index_of: dict[int, int]) -> dict[str, Buffer]:
    placed: dict[str, Buffer] = {}
    for name, buffer in draft.buffers.items():
        array = draft.constants.get(name)
        placed[name] = buffer if array is None else buffer._replace(tensor=index_of[id(array)])
    return placed
