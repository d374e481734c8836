"""The memory of one run at a time of a bound native plan, and the run itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autofusion.artifact.weights import allocate_aligned
from autofusion.plan import Plan, Step
from autofusion.plan.stripes import find_stripe, is_view
from autofusion.runtime.binding import Binding, Segment, is_held
from autofusion.runtime.native import Context, Native
from autofusion.runtime.records import Place, Space
from autofusion.runtime.refusals import refuse_index
from autofusion.runtime.views import present, store, view_buffer

if TYPE_CHECKING:
    from autofusion.runtime.host import HostStep
    from autofusion.runtime.watch import Watch


class Frame:
    """An arena with what points into it; one run at a time may use it.

    Args:
        plan: A checked native plan.
        binding: The plan at certain dims.
        weights: The bytes of the constants.
        strings: Constants of type string by buffer name.
        arena: At least `binding.arena_bytes` bytes, aligned to 64.
        threads: How many threads may share a step.
    """

    def __init__(
        self,
        plan: Plan,
        binding: Binding,
        weights: np.ndarray,
        strings: Mapping[str, np.ndarray],
        arena: np.ndarray,
        threads: int,
    ) -> None:
        self.binding = binding
        self.arena = arena
        self._plan = plan
        self._weights = weights
        self._strings = strings
        self._threads = threads
        self._context: Context | None = None
        self._slots: list[np.ndarray] = []
        self._held: dict[str, np.ndarray] = {}
        self._held_ends = frozenset(name for name in (*plan.inputs, *plan.outputs) if self._is_held(name))

    def run(
        self,
        native: Native | None,
        host_steps: Mapping[int, HostStep],
        feeds: Mapping[str, np.ndarray],
        results: Mapping[str, np.ndarray],
        watch: Watch | None,
    ) -> dict[str, np.ndarray]:
        """The outputs by name, in storage types, for `feeds` in storage types.

        `results` has C-contiguous arrays for some of the outputs, which are written and returned.
        `native` is None where the plan has no native step.
        """
        try:
            self._hold(feeds, results)
            if native is not None:
                self._bind_slots(native)
            for segment in self.binding.segments if watch is None else _split(self.binding.segments):
                self._run_segment(segment, native, host_steps)
                if watch is not None:
                    self._show(self._plan.steps[segment.first], watch)
            return {name: self._collect(name, results.get(name)) for name in self._plan.outputs}
        finally:
            self._release()

    def _hold(self, feeds: Mapping[str, np.ndarray], results: Mapping[str, np.ndarray]) -> None:
        """Take the arrays of this run."""
        self._held = {**self._strings, **{name: feeds[name] for name in self._held_ends if name in feeds}}
        self._slots = [self._fill_slot(name, feeds, results) for name in self.binding.slots]

    def _release(self) -> None:
        """Let go of the caller's arrays until the next run."""
        self._slots, self._held = [], {}
        if self._context is not None:
            self._context.release()

    def _is_held(self, name: str) -> bool:
        buffer = self._plan.buffers[name]
        return is_held(self._plan.buffers[buffer.alias or name])

    def _fill_slot(self, name: str, feeds: Mapping[str, np.ndarray], results: Mapping[str, np.ndarray]) -> np.ndarray:
        """The bytes of the array that stands for buffer `name` in this run."""
        if name in feeds:
            array = feeds[name]
        elif name in results and self._plan.buffers[name].layout == "plain":
            array = results[name]
        else:
            return allocate_aligned(self.binding.places[name].bytes)
        return array.reshape(-1).view(np.uint8)

    def _bind_slots(self, native: Native) -> None:
        if self._context is not None:
            for slot, array in enumerate(self._slots):
                self._context.bind(slot, array)
            return
        context = Context(self.binding.records, self.arena, self._weights, self._slots, self._threads)
        native.check(context)
        self._context = context

    def _run_segment(self, segment: Segment, native: Native | None, host_steps: Mapping[int, HostStep]) -> None:
        if segment.runner == "native" and native is not None and self._context is not None:
            failed = native.run(self._context, segment.first, segment.last)
            if failed is not None:
                raise refuse_index(self._plan.steps[failed])
            return
        step = self._plan.steps[segment.first]
        if segment.runner == "host":
            operands = [self._read(name) if name else None for name in step.inputs]
            found = host_steps[segment.first](operands)
            for name, array in zip(step.outputs, found, strict=True):
                if name:
                    self._write(step, name, array)
            return
        from autofusion.runtime.host import compute_extents

        name = step.outputs[0]
        shape = self.binding.shapes[name]
        self._write(step, name, compute_extents(step, self.binding.dims, self._plan.buffers[name].dtype, shape))

    def _read(self, name: str) -> np.ndarray:
        """The value of a buffer as users see it, read-only, over the memory it lies in."""
        buffer = self._plan.buffers[name]
        if self._is_held(name):
            array = self._held[buffer.alias or name]
            return array.reshape(self.binding.shapes[name]) if buffer.alias else array
        array = present(self._view(name), buffer.dtype)
        array.flags.writeable = False
        return array

    def _write(self, step: Step, name: str, array: np.ndarray) -> None:
        from autofusion.runtime.host import check_result

        buffer = self._plan.buffers[name]
        check_result(step, name, array, buffer.dtype, self.binding.shapes.get(name))
        if self._is_held(name):
            # An operator may return an operand, which lies in memory that later steps use.
            self._held[buffer.alias or name] = array.copy()
        else:
            self._view(name)[...] = store(array, buffer.dtype)

    def _view(self, name: str) -> np.ndarray:
        place: Place = self.binding.places[name]
        memory = {Space.ARENA: self.arena, Space.WEIGHTS: self._weights}
        data = self._slots[place.slot] if place.space == Space.BINDING else memory[place.space]
        data = data[place.offset : place.offset + place.bytes]
        return view_buffer(data, self._plan.buffers[name], self.binding.shapes[name])

    def _show(self, step: Step, watch: Watch) -> None:
        """Tell what `step` completed, under the names of all buffers that share its bytes."""
        written = {name for name in step.outputs if name}
        roots = {self._plan.buffers[name].alias or name for name in written}
        for name, buffer in self._plan.buffers.items():
            if (buffer.alias or name) not in roots or not (name in self.binding.places or self._is_held(name)):
                continue
            if not self._is_parted(buffer.alias or name) or self._last_writer(name) is step:
                watch(name, self._read(name).copy())

    def _is_parted(self, root: str) -> bool:
        return any(buffer.alias == root and is_view(buffer) for buffer in self._plan.buffers.values())

    def _last_writer(self, name: str) -> Step | None:
        """The last step that writes some of a buffer, or of what shares its bytes."""
        buffers = self._plan.buffers
        root = buffers[buffers[name].alias or name]
        own = find_stripe(buffers[name], root)
        for step in reversed(self._plan.steps):
            written = (buffers[other] for other in step.outputs if other)
            shared = (buffer for buffer in written if (buffer.alias or buffer.name) == root.name)
            if any(find_stripe(buffer, root).share(own) for buffer in shared):
                return step
        return None

    def _collect(self, name: str, result: np.ndarray | None) -> np.ndarray:
        """Output `name` as an array of its own: the slot's where it is one, else a copy."""
        buffer = self._plan.buffers[name]
        if name in self._held_ends:
            return self._read(name).copy()
        view = self._view(name)
        if name in self.binding.slots and buffer.role == "output" and buffer.layout == "plain":
            return view if result is None else result
        if result is None:
            return view.copy()
        result[...] = view
        return result


def _split(segments: Sequence[Segment]) -> list[Segment]:
    return [
        Segment(segment.runner, index, index + 1)
        for segment in segments
        for index in range(segment.first, segment.last)
    ]
