"""Places of a plan's inner buffers in one arena, which buffers that never live together share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from autofusion.plan.dtypes import STRING, storage_type
from autofusion.plan.records import Buffer, Plan

ALIGNMENT = 64
"""Every place is a multiple of this many bytes, and so is every extent."""


class Memory(NamedTuple):
    """Byte offsets of buffers in the arena, of the scratch memory of all steps, and the arena's extent.

    Aliases have the offset of the buffer that they name.
    """

    offsets: Mapping[str, int]
    scratch: int
    total: int


class Life(NamedTuple):
    """A buffer's bytes, the step that writes it and the last one that touches it."""

    name: str
    bytes: int
    first: int
    last: int


def plan_memory(plan: Plan, shapes: Mapping[str, tuple[int, ...]], scratch: int = 0) -> Memory:
    """Places of the inner buffers that `shapes` gives extents for; strings have none.

    Inputs, outputs and constants live elsewhere.  No step finds its result in the place of one of its
    operands.  `scratch` bytes follow the buffers and belong to whichever step runs.  Equal
    arguments give equal places: the largest buffer goes first, each into the tightest gap.
    """
    return place_lives(plan, find_lives(plan, shapes), scratch)


def place_lives(plan: Plan, lives: Sequence[Life], scratch: int = 0) -> Memory:
    """What `plan_memory` gives, for `lives` that `find_lives` found."""
    offsets: dict[str, int] = {}
    lives = sorted(lives, key=lambda life: (-life.bytes, life.first, life.name))
    # Start, end, first and last step of what has a place, by start: there may be ten thousands of them.
    placed = np.zeros((4, len(lives)), np.int64)
    total = 0
    for count, life in enumerate(lives):
        starts, ends, first, last = placed[:, :count]
        meets = (first <= life.last) & (last >= life.first)
        offset = _find_place(life.bytes, starts[meets], ends[meets], total)
        offsets[life.name] = offset
        total = max(total, offset + life.bytes)
        index = int(np.searchsorted(starts, offset, side="right"))
        placed[:, index + 1 : count + 1] = placed[:, index:count].copy()
        placed[:, index] = offset, offset + life.bytes, life.first, life.last
    for name, buffer in plan.buffers.items():
        if buffer.alias in offsets:
            offsets[name] = offsets[buffer.alias]
    return Memory(offsets, total, total + _round_up(scratch))


def find_lives(plan: Plan, shapes: Mapping[str, tuple[int, ...]]) -> tuple[Life, ...]:
    """Extents and lifetimes, counted in steps, of the buffers that need a place; aliases keep their buffer alive."""
    span: dict[str, tuple[int, int]] = {}
    for index, step in enumerate(plan.steps):
        for name in filter(None, (*step.inputs, *step.outputs)):
            root = plan.buffers[name].alias or name
            span[root] = (span.get(root, (index, index))[0], index)
    return tuple(
        Life(name, count_bytes(plan.buffers[name], shapes[name]), first, last)
        for name, (first, last) in span.items()
        if name in shapes and plan.buffers[name].role == "inner" and plan.buffers[name].dtype != STRING
    )


def count_bytes(buffer: Buffer, shape: tuple[int, ...]) -> int:
    """Bytes that `buffer` takes in `shape`, rounded up to a multiple of 64."""
    elements = math.prod(shape)
    if buffer.layout == "nhwc" and buffer.pitch is not None:
        elements = math.prod(shape[:1] + shape[2:]) * buffer.pitch
    return _round_up(elements * storage_type(buffer.dtype).itemsize)


def _find_place(size: int, starts: np.ndarray, ends: np.ndarray, total: int) -> int:
    """The start of the smallest gap that holds `size` between places sorted by start, else behind the last one."""
    begins = np.concatenate([[0], np.maximum.accumulate(ends)])
    gaps = np.append(starts, total) - begins
    fitting = np.flatnonzero(gaps >= size)
    return int(begins[fitting[gaps[fitting].argmin()]] if fitting.size else begins[-1])


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
