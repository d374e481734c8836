"""Places of a plan's inner buffers in one arena, which buffers that never live together share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from autofusion.plan.dtypes import STRING, storage_type
from autofusion.plan.records import Buffer, Plan
from autofusion.record import Record

ALIGNMENT = 64
"""Every place is a multiple of this many bytes, and so is every extent."""

_MOST_SPANS = 16
"""Buffers that live at a step, on average, up to which their places are kept by steps."""


class Memory(Record):
    """Byte offsets of buffers in the arena, of the scratch memory of all steps, and the arena's extent.

    Aliases have the offset of the buffer that they name.
    """

    offsets: Mapping[str, int]
    scratch: int
    total: int


class Life(Record):
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
    steps = len(plan.steps)
    spans = sum(life.last - life.first + 1 for life in lives)
    placed = _PlacedBySteps(steps) if spans <= _MOST_SPANS * steps else _PlacedByStart(len(lives))
    for life in sorted(lives, key=lambda life: (-life.bytes, life.first, life.name)):
        offset = placed.find_place(life, total)
        offsets[life.name] = offset
        total = max(total, offset + life.bytes)
        placed.add(life, offset)
    for name, buffer in plan.buffers.items():
        if buffer.alias in offsets:
            offsets[name] = offsets[buffer.alias]
    return Memory(offsets, total, total + _round_up(scratch))


def find_lives(plan: Plan, shapes: Mapping[str, tuple[int, ...]]) -> tuple[Life, ...]:
    """Extents and lifetimes, counted in steps, of the buffers that need a place; aliases keep their buffer alive."""
    placed = {
        name
        for name, buffer in plan.buffers.items()
        if buffer.role == "inner" and buffer.dtype != STRING and name in shapes
    }
    roots = {name: root for name, buffer in plan.buffers.items() if (root := buffer.alias or name) in placed}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for index, step in enumerate(plan.steps):
        for name in (*step.inputs, *step.outputs):
            root = roots.get(name)
            if root is not None:
                first.setdefault(root, index)
                last[root] = index
    return tuple(
        Life(name, count_bytes(plan.buffers[name], shapes[name]), begin, last[name]) for name, begin in first.items()
    )


def count_bytes(buffer: Buffer, shape: tuple[int, ...]) -> int:
    """Bytes that `buffer` takes in `shape`, rounded up to a multiple of 64."""
    elements = math.prod(shape)
    if buffer.layout == "nhwc" and buffer.pitch is not None:
        elements = math.prod(shape[:1] + shape[2:]) * buffer.pitch
    return _round_up(elements * storage_type(buffer.dtype).itemsize)


class _PlacedBySteps:
    """What has a place, by the steps during which it lives: quick where most live for a few."""

    def __init__(self, steps: int) -> None:
        self._alive: list[list[tuple[int, int, int]]] = [[] for _ in range(steps)]
        self._count = 0

    def find_place(self, life: Life, total: int) -> int:
        """The start of the smallest gap that holds `life` between what lives together with it, else behind the last."""
        others = sorted(set(chain.from_iterable(self._alive[life.first : life.last + 1])))
        end, best, least = 0, -1, total + life.bytes + 1
        for start, stop, _ in others:
            if life.bytes <= start - end < least:
                best, least = end, start - end
            end = max(end, stop)
        return end if best < 0 or life.bytes <= total - end < least else best

    def add(self, life: Life, offset: int) -> None:
        """Note the place of `life`."""
        self._count += 1
        for others in self._alive[life.first : life.last + 1]:
            others.append((offset, offset + life.bytes, self._count))


class _PlacedByStart:
    """The same by start, for lives of any length: there may be ten thousands of them."""

    def __init__(self, most: int) -> None:
        # Start, end, first and last step.
        self._rows = np.zeros((4, most), np.int64)
        self._count = 0

    def find_place(self, life: Life, total: int) -> int:
        """As `_PlacedBySteps` finds it."""
        starts, ends, first, last = self._rows[:, : self._count]
        meets = (first <= life.last) & (last >= life.first)
        begins = np.concatenate([[0], np.maximum.accumulate(ends[meets])])
        gaps = np.append(starts[meets], total) - begins
        fitting = np.flatnonzero(gaps >= life.bytes)
        return int(begins[fitting[gaps[fitting].argmin()]] if fitting.size else begins[-1])

    def add(self, life: Life, offset: int) -> None:
        """Note the place of `life`."""
        index = int(np.searchsorted(self._rows[0, : self._count], offset, side="right"))
        self._rows[:, index + 1 : self._count + 1] = self._rows[:, index : self._count].copy()
        self._rows[:, index] = offset, offset + life.bytes, life.first, life.last
        self._count += 1


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
