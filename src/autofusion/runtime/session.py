"""Sessions: an opened model that takes and gives named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from autofusion.artifact.manifest import TensorInfo, describe_tensors
from autofusion.artifact.processors import count_processors
from autofusion.artifact.reader import Artifact, read_artifact
from autofusion.plan import Plan
from autofusion.runtime.constants import read_defaults
from autofusion.runtime.dims import check_symbols, read_dims
from autofusion.runtime.executor import NativeExecutor
from autofusion.runtime.feeds import check_feeds, check_results, is_direct
from autofusion.runtime.refusals import artifact_error, input_error, usage_error
from autofusion.runtime.shapes import bind_shapes, show_dims
from autofusion.runtime.views import present

if TYPE_CHECKING:
    from pathlib import Path

    from autofusion.errors import ArtifactError
    from autofusion.runtime.watch import Watch

    class _Executor(Protocol):
        def run(
            self,
            dims: Mapping[str, int],
            feeds: Mapping[str, np.ndarray],
            results: Mapping[str, np.ndarray],
            watch: Watch | None = None,
        ) -> dict[str, np.ndarray]: ...


Backend = Literal["native", "reference"]


class Session:
    """An opened model; every method may be called from many threads at a time.

    `plan` is checked by whoever made it; `open_session` and `load` make sessions.
    """

    def __init__(self, plan: Plan, weights: np.ndarray, threads: int) -> None:
        check_symbols(plan)
        self.plan = plan
        self.inputs: tuple[TensorInfo, ...] = describe_tensors(plan, plan.inputs)
        self.outputs: tuple[TensorInfo, ...] = describe_tensors(plan, plan.outputs)
        self._defaults = read_defaults(plan, weights)
        self._executor = _make_executor(plan, weights, threads)

    def run(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """Compute the outputs, by name.

        Args:
            feeds: One array per input, of its type and of any shape that the model allows; not changed. Inputs
                that have a default may be left out.
            out: Arrays to write some of the outputs into, of their type and shape, sharing no memory with others.

        Raises:
            InputError: AF530 for names, AF531 for types, AF532 for shapes, AF533 for extents that the model
                cannot have, AF534 for arrays of `out`, AF537 for extents beyond their limits, AF538 where no gear
                fits.
            ModelError, ArtifactError: A step failed that runs an operator without a kernel.
        """
        arrays = check_feeds(self.plan, feeds, self._defaults)
        dims = self._find_dims(arrays)
        given: dict[str, np.ndarray] = {}
        if out is not None:
            given = check_results(self.plan, out, bind_shapes(self.plan, dims), arrays)
        direct = {name: array for name, array in given.items() if is_direct(array)}
        found = self._execute(dims, arrays, direct)
        for name, array in given.items():
            if name not in direct:
                array[...] = found[name]
        results = {name: present(array, self.plan.buffers[name].dtype) for name, array in found.items()}
        return {**results, **(out or {})}

    def trace(self, feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """What every step computes, by value name and in the model's shape; one step runs at a time.

        Values that share bytes with a result (the same elements, another shape or layout) are
        there too.  Raises what `run` raises.
        """
        arrays = check_feeds(self.plan, feeds, self._defaults)
        seen: dict[str, np.ndarray] = {}
        self._execute(self._find_dims(arrays), arrays, {}, seen.__setitem__)
        return seen

    def read_dims(self, feeds: Mapping[str, Any]) -> dict[str, int]:
        """The extent of every symbol that the shapes of `feeds` tell; raises InputError as `run` does."""
        return self._find_dims(check_feeds(self.plan, feeds, self._defaults))

    def _find_dims(self, arrays: Mapping[str, np.ndarray]) -> dict[str, int]:
        shapes = {name: array.shape for name, array in arrays.items()}
        dims = read_dims(self.plan, shapes)
        if self.plan.limits or self.plan.gears:
            from autofusion.runtime.limits import check_dims

            check_dims(self.plan, shapes, dims)
        return dims

    def _execute(
        self,
        dims: Mapping[str, int],
        arrays: Mapping[str, np.ndarray],
        results: Mapping[str, np.ndarray],
        watch: Watch | None = None,
    ) -> dict[str, np.ndarray]:
        try:
            return self._executor.run(dims, arrays, results, watch)
        except MemoryError as error:
            given = show_dims(dims) or "these inputs"
            text = f"there is not enough memory to run the model with {given}"
            raise input_error("AF533", text, help="give smaller inputs or use a machine with more memory") from error


def _make_executor(plan: Plan, weights: np.ndarray, threads: int) -> _Executor:
    if plan.backend == "native":
        return NativeExecutor(plan, weights, threads)
    from autofusion.runtime.reference import ReferenceExecutor

    return ReferenceExecutor(plan, weights)


def load(
    path: str | Path, *, threads: int | None = None, backend: Backend = "native", verify_weights: bool = True
) -> Session:
    """Open the artifact at `path`.

    Args:
        path: An `.om` file that this compiler wrote.
        threads: How many threads may share the work; as many as the process has processors where None.
        backend: "native", or "reference" for an artifact that was compiled for it.
        verify_weights: Whether to check the digests of the weights, which reads them once.

    Raises:
        ArtifactError: The file is unreadable, damaged or for another backend, or this machine cannot run it.
        UsageError: AF535 for an unknown backend or number of threads.
    """
    if backend not in ("native", "reference"):
        text = f"there is no backend {backend!r}"
        raise usage_error("AF535", text, help="choose 'native' or 'reference'")
    artifact = read_artifact(path, verify_weights=verify_weights)
    if artifact.plan.backend != backend:
        raise _other_backend(artifact, backend)
    return open_session(artifact.plan, artifact.weights, threads=threads)


def open_session(plan: Plan, weights: np.ndarray, *, threads: int | None = None) -> Session:
    """A session over a plan that needs no file.

    Args:
        plan: A sound plan: one that a checked artifact holds, or that lowering made.
        weights: The bytes of its constants, aligned to 64 (`artifact.join_weights` makes them); not copied.
        threads: As for `load`.
    """
    if threads is not None and (type(threads) is not int or threads < 1):
        text = f"a session cannot run with {threads!r} threads"
        raise usage_error("AF535", text, help="give a number from 1 up, or None for all processors")
    return Session(plan, weights, count_processors() if threads is None else threads)


def _other_backend(artifact: Artifact, backend: Backend) -> ArtifactError:
    made = artifact.plan.backend
    why = "its weights are packed for native kernels" if made == "native" else "its weights are not packed"
    return artifact_error(
        "AF517",
        f"{artifact.file!r} was compiled for the {made} backend and cannot run on the {backend} one: {why}",
        help=f"load it with backend={made!r}, or compile the model with --backend={backend}",
    )
