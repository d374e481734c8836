"""A native plan bound to the extents of its symbols: shapes, places in memory, records, order of execution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from autofusion.plan import Buffer, Plan, Step
from autofusion.plan.dtypes import STRING, storage_type
from autofusion.plan.memory import Life, Memory, find_lives, place_lives
from autofusion.plan.stripes import is_view
from autofusion.record import Record
from autofusion.runtime.bound import BroadcastError
from autofusion.runtime.encode import encode_plan, scratch_bytes
from autofusion.runtime.records import KERNEL_CODES, Place, Space
from autofusion.runtime.refusals import damaged_plan, input_error
from autofusion.runtime.shapes import Shape, bind_shapes, refuse_dims, show_dims
from autofusion.runtime.sizes import bind_steps
from autofusion.runtime.views import stored_bytes

MAX_BYTES = 1 << 46
"""More than any machine can give one tensor or arena."""


class Segment(Record):
    """Steps `first` to `last` (not included) that one party runs: the C library, or one step in Python."""

    runner: Literal["native", "host", "extents"]
    first: int
    last: int


class Binding(Record):
    """What executing a plan at given dims needs, short of the memory itself.

    `shapes` has the shape of every buffer whose shape is known before the run.  `slots` are the
    buffers, by number, whose arrays change from run to run: inputs and outputs.  `places` says where
    every buffer lies but those held as Python arrays.  `steps` are the plan's with numbers for sizes, `memory` has
    the arena's places for `lives`, and `scratch` is how many bytes at its end steps work in.
    """

    dims: Mapping[str, int]
    shapes: Mapping[str, Shape]
    places: Mapping[str, Place]
    slots: tuple[str, ...]
    arena_bytes: int
    records: np.ndarray
    segments: tuple[Segment, ...]
    steps: tuple[Step, ...]
    lives: tuple[Life, ...]
    memory: Memory
    scratch: int


def is_held(buffer: Buffer) -> bool:
    """True for a buffer that is a Python array of its own: strings, and shapes that only a run can tell."""
    return buffer.shape is None or buffer.dtype == STRING


def bind(plan: Plan, dims: Mapping[str, int], threads: int, earlier: Binding | None = None) -> Binding:
    """Compute everything that depends on the dims of a native plan.

    `earlier` is a binding of the same plan for as many threads: what is the same at both dims is taken from there, so
    that a decoder's cache may grow by one token from run to run.

    Raises:
        InputError: AF533 where the dims give a buffer an impossible extent, or shapes that do not broadcast.
        ArtifactError: The plan is damaged.
    """
    shapes = bind_shapes(plan, dims)
    steps = bind_steps(plan, dims)
    plan = plan._replace(steps=steps)
    extents = {
        name: stored_bytes(plan.buffers[name], shape)
        for name, shape in shapes.items()
        if not is_held(plan.buffers[name])
    }
    if max(extents.values(), default=0) > MAX_BYTES:
        name, extent = next((name, extent) for name, extent in extents.items() if extent > MAX_BYTES)
        raise refuse_dims(name, shapes[name], dims, f"which takes {extent} bytes")
    scratch = scratch_bytes(plan, shapes, threads)
    lives = find_lives(plan, shapes)
    if earlier is not None and (earlier.lives, earlier.scratch) == (lives, scratch):
        memory = earlier.memory
    else:
        memory = place_lives(plan, lives, scratch)
    slots = tuple(
        name
        for name, buffer in plan.buffers.items()
        if buffer.role in ("input", "output") and buffer.alias is None and not is_held(buffer)
    )
    places = _find_places(plan, extents, memory.offsets, slots)
    _check_arrays(plan, extents, places)
    scratch_place = Place(Space.ARENA, memory.scratch, scratch)
    return Binding(
        dims=dict(dims),
        shapes=shapes,
        places=places,
        slots=slots,
        arena_bytes=memory.total,
        records=_encode_steps(plan, dims, shapes, places, scratch_place, earlier),
        segments=find_segments(plan) if earlier is None else earlier.segments,
        steps=steps,
        lives=lives,
        memory=memory,
        scratch=scratch,
    )


def find_segments(plan: Plan) -> tuple[Segment, ...]:
    """The plan's steps in order, as runs of native steps between single Python steps."""
    segments: list[Segment] = []
    for index, step in enumerate(plan.steps):
        native = step.kernel in KERNEL_CODES
        if native and segments and segments[-1].runner == "native":
            segments[-1] = Segment("native", segments[-1].first, index + 1)
        elif native:
            segments.append(Segment("native", index, index + 1))
        else:
            segments.append(Segment("host" if step.kernel == "host" else "extents", index, index + 1))
    return tuple(segments)


def _encode_steps(
    plan: Plan,
    dims: Mapping[str, int],
    shapes: Mapping[str, Shape],
    places: Mapping[str, Place],
    scratch: Place,
    earlier: Binding | None,
) -> np.ndarray:
    if not plan.symbols:
        return encode_plan(plan, shapes, places, scratch)
    from autofusion.errors import ArtifactError

    try:
        if earlier is None:
            return encode_plan(plan, shapes, places, scratch)
        same = _find_same(earlier, plan.steps, shapes, places, scratch)
        return encode_plan(plan, shapes, places, scratch, earlier=earlier.records, same=same)
    except ArtifactError as error:
        if not isinstance(error.__cause__, BroadcastError):
            raise
        # The same plan binds at other dims, or whoever made it would have refused the model.
        text = f"the model cannot run with {show_dims(dims)}: {error.diagnostic.message}"
        raise input_error("AF533", text, help="give inputs of other extents") from error


def _find_same(
    earlier: Binding,
    steps: tuple[Step, ...],
    shapes: Mapping[str, Shape],
    places: Mapping[str, Place],
    scratch: Place,
) -> frozenset[int]:
    """Numbers of the steps whose records are those of `earlier`."""
    if Place(Space.ARENA, earlier.memory.scratch, earlier.scratch) != scratch:
        return frozenset()
    moved = {
        name
        for name, shape in shapes.items()
        if shape != earlier.shapes[name] or places.get(name) != earlier.places.get(name)
    }
    return frozenset(
        index
        for index, (step, before) in enumerate(zip(steps, earlier.steps, strict=True))
        if step.attributes == before.attributes and moved.isdisjoint(step.inputs) and moved.isdisjoint(step.outputs)
    )


def _find_places(
    plan: Plan, extents: Mapping[str, int], offsets: Mapping[str, int], slots: tuple[str, ...]
) -> dict[str, Place]:
    """Where every buffer with `extents` lies that has a place: an alias where the buffer that it names does."""
    places: dict[str, Place] = {}
    numbers = {name: number for number, name in enumerate(slots)}
    for name, extent in extents.items():
        buffer = plan.buffers[name]
        root = buffer.alias or name
        tensor = plan.buffers[root].tensor
        if root in numbers:
            place = Place(Space.BINDING, 0, extents[root], numbers[root])
        elif tensor is not None:
            place = Place(Space.WEIGHTS, plan.tensors[tensor].offset, plan.tensors[tensor].bytes)
        elif name in offsets:
            place = Place(Space.ARENA, offsets[name], extents[root])
        else:
            continue
        places[name] = place if root == name else _find_part(buffer, extent, place)
    return places


def _find_part(buffer: Buffer, extent: int, place: Place) -> Place:
    """The bytes of an alias, of which there are `extent`, in `place`, that of the buffer that it names."""
    skipped = buffer.offset * storage_type(buffer.dtype).itemsize if extent else 0
    if skipped + extent > place.bytes:
        text = f"buffer {buffer.name!r} has more bytes than {buffer.alias!r}, whose bytes it shares"
        raise damaged_plan(text)
    return place._replace(offset=place.offset + skipped, bytes=extent) if is_view(buffer) else place


def _check_arrays(plan: Plan, extents: Mapping[str, int], places: Mapping[str, Place]) -> None:
    """Raise ArtifactError where an array that Python reads is longer than its constant, which is not packed then."""
    read = {name for step in plan.steps if step.kernel == "host" for name in step.inputs} | set(plan.outputs)
    for name in read & places.keys():
        if extents[name] > places[name].bytes:
            raise damaged_plan(f"constant {name!r} has {places[name].bytes} bytes, which its shape does not fill")
