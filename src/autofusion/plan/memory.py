"""Places of a plan's inner buffers in one arena, which buffers that never live together share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

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
    total = 0
    # Of what has a place, start and end and a number, by the steps during which it lives: most live for a few.
    alive: list[list[tuple[int, int, int]]] = [[] for _ in plan.steps]
    for number, life in enumerate(sorted(lives, key=lambda life: (-life.bytes, life.first, life.name))):
        span = alive[life.first : life.last + 1]
        offset = _find_place(life.bytes, sorted(set(chain.from_iterable(span))), total)
        offsets[life.name] = offset
        total = max(total, offset + life.bytes)
        for others in span:
            others.append((offset, offset + life.bytes, number))
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


def _find_place(size: int, others: Sequence[tuple[int, int, int]], total: int) -> int:
    """The start of the smallest gap that holds `size` between places sorted by start, else behind the last one."""
    end, best, least = 0, -1, total + size + 1
    for start, stop, _ in others:
        if size <= start - end < least:
            best, least = end, start - end
        end = max(end, stop)
    return end if best < 0 or size <= total - end < least else best


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
