"""Execution of a native plan: bindings by dims, and memory that runs take turns in."""

from __future__ import annotations

import _thread
import mmap
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from autofusion.artifact.weights import ALIGNMENT, allocate_aligned
from autofusion.plan import Plan
from autofusion.runtime.binding import Binding, bind
from autofusion.runtime.constants import read_strings
from autofusion.runtime.frame import Frame
from autofusion.runtime.native import load_library
from autofusion.runtime.records import KERNEL_CODES

if TYPE_CHECKING:
    from autofusion.runtime.host import HostStep
    from autofusion.runtime.watch import Watch

MAX_BINDINGS = 32
"""How many combinations of dims a session remembers, besides those of all gears."""

_HUGE_PAGE = 2 << 20
_LARGE = 4 << 20


class NativeExecutor:
    """Runs one native plan; any number of threads may call `run` at a time.

    Args:
        plan: A checked native plan.
        weights: The bytes of its constants, aligned to 64; never copied.
        threads: How many threads may share a step.
    """

    def __init__(self, plan: Plan, weights: np.ndarray, threads: int) -> None:
        self._plan = plan
        # numpy gives arrays of no bytes any address.
        self._weights = weights if weights.size else allocate_aligned(ALIGNMENT)
        self._threads = threads
        self._native = load_library() if any(step.kernel in KERNEL_CODES for step in plan.steps) else None
        self._host_steps = _prepare_host_steps(plan)
        self._strings = read_strings(plan, weights)
        # The module threading takes half a millisecond to import.
        self._lock = _thread.allocate_lock()
        self._bindings: OrderedDict[tuple[int, ...], Binding] = OrderedDict()
        self._free: list[Frame] = []

    def run(
        self,
        dims: Mapping[str, int],
        feeds: Mapping[str, np.ndarray],
        results: Mapping[str, np.ndarray],
        watch: Watch | None = None,
    ) -> dict[str, np.ndarray]:
        """The outputs by name, in storage types, for `feeds` in storage types.

        `results` has C-contiguous arrays for some of the outputs, which are written and returned.
        """
        frame = self._take_frame(self._bind(dims))
        try:
            return frame.run(self._native, self._host_steps, feeds, results, watch)
        finally:
            with self._lock:
                self._free.append(frame)

    def _bind(self, dims: Mapping[str, int]) -> Binding:
        key = tuple(dims.get(symbol, 0) for symbol in self._plan.symbols)
        with self._lock:
            binding = self._bindings.get(key)
            if binding is not None:
                self._bindings.move_to_end(key)
                return binding
            latest = next(reversed(self._bindings.values()), None)
        binding = bind(self._plan, dims, self._threads, latest)
        with self._lock:
            binding = self._bindings.setdefault(key, binding)
            if len(self._bindings) > max(MAX_BINDINGS, len(self._plan.gears)):
                self._bindings.popitem(last=False)
        return binding

    def _take_frame(self, binding: Binding) -> Frame:
        """A frame that no other run uses: one of this binding, else a new one in the memory of another."""
        arena = None
        with self._lock:
            for index in reversed(range(len(self._free))):
                if self._free[index].binding is binding:
                    return self._free.pop(index)
            if self._free:
                arena = self._free.pop(0).arena
        if arena is None or arena.nbytes < binding.arena_bytes:
            arena = allocate_arena(binding.arena_bytes)
        return Frame(self._plan, binding, self._weights, self._strings, arena, self._threads)


def _prepare_host_steps(plan: Plan) -> dict[int, HostStep]:
    """What runs each host step, by its index; most plans have none and do not wait for the module."""
    if all(step.kernel != "host" for step in plan.steps):
        return {}
    from autofusion.runtime.host import prepare_host_steps

    return prepare_host_steps(plan)


def allocate_arena(size: int) -> np.ndarray:
    """At least `size` bytes, aligned to 64; raises MemoryError.

    Large ones are made of huge pages where there are any: touching 2 MiB for the first time takes less time by such a
    page than by a fifth of them in small ones.  numpy asks for them from `_LARGE` on as well, but without aligning.
    """
    if size < _LARGE:
        return allocate_aligned(max(size, ALIGNMENT))
    whole = -(-size // _HUGE_PAGE) * _HUGE_PAGE
    try:
        memory = mmap.mmap(-1, whole + _HUGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise MemoryError(str(error)) from error
    # Some kernels have no huge pages.
    with suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    raw = np.frombuffer(memory, np.uint8)
    start = -raw.ctypes.data % _HUGE_PAGE
    return raw[start : start + whole]
