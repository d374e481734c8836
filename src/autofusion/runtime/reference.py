"""Execution of a reference plan: every step by the numpy definition of its kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from autofusion.plan import Plan, Step
from autofusion.runtime.constants import read_constant
from autofusion.runtime.host import check_result, compute_extents, prepare_host_steps
from autofusion.runtime.refusals import artifact_error, damaged_plan, refuse_index
from autofusion.runtime.shapes import Shape, bind_shapes
from autofusion.runtime.sizes import bind_step
from autofusion.runtime.views import present, store

if TYPE_CHECKING:
    from autofusion.ops.definitions import Definition
    from autofusion.runtime.watch import Watch


class ReferenceExecutor:
    """Runs one reference plan; any number of threads may call `run` at a time.

    Raises ArtifactError (AF519) where a package that the definitions need is not installed.
    """

    def __init__(self, plan: Plan, weights: np.ndarray) -> None:
        self._plan = plan
        self._definitions = _load_definitions()
        self._host_steps = prepare_host_steps(plan)
        self._constants = {
            name: present(array, plan.buffers[name].dtype)
            for name, buffer in plan.buffers.items()
            if buffer.role == "constant" and (array := read_constant(plan, weights, name)) is not None
        }

    def run(
        self,
        dims: Mapping[str, int],
        feeds: Mapping[str, np.ndarray],
        results: Mapping[str, np.ndarray],
        watch: Watch | None = None,
    ) -> dict[str, np.ndarray]:
        """The outputs by name, in storage types, for `feeds` in storage types.

        `results` has arrays for some of the outputs, which are written and returned.
        """
        shapes = bind_shapes(self._plan, dims)
        values = dict(self._constants)
        for name, array in feeds.items():
            values[name] = present(array, self._plan.buffers[name].dtype)
        last = self._find_last_readers()
        for index, step in enumerate(self._plan.steps):
            operands = [self._read(name, values, shapes) if name else None for name in step.inputs]
            found = self._compute(index, step, operands, dims, shapes)
            for name, array in zip(step.outputs, found, strict=True):
                if not name:
                    continue
                check_result(step, name, array, self._plan.buffers[name].dtype, shapes.get(name))
                values[self._root(name)] = array
                if watch is not None:
                    self._show(name, array, shapes, watch)
            for name in last.get(index, ()):
                values.pop(name, None)
        return {name: self._collect(name, values, shapes, results.get(name)) for name in self._plan.outputs}

    def _compute(
        self,
        index: int,
        step: Step,
        operands: Sequence[np.ndarray | None],
        dims: Mapping[str, int],
        shapes: Mapping[str, Shape],
    ) -> Sequence[np.ndarray]:
        if step.kernel == "host":
            return self._host_steps[index](operands)
        name = step.outputs[0]
        if step.kernel == "extents":
            return [compute_extents(step, dims, self._plan.buffers[name].dtype, shapes[name])]
        attributes = bind_step(step, dims).attributes
        try:
            found = self._definitions[step.kernel](operands, attributes, shapes[name])
            return found[: len(step.outputs)] if isinstance(found, tuple) else [found]
        except IndexError as error:
            raise refuse_index(step) from error
        except MemoryError:
            raise
        except Exception as error:
            # Definitions meet attributes from a file: whatever they make of wrong ones is the file's fault.
            reason = str(error) or type(error).__name__
            text = f"step {step.node!r} is no valid {step.kernel} step: {reason}"
            raise artifact_error("AF520", text, help="compile the model again") from error

    def _find_last_readers(self) -> dict[int, list[str]]:
        """Values that nothing reads after a step, by the index of that step."""
        last: dict[str, int] = {}
        for index, step in enumerate(self._plan.steps):
            for name in filter(None, (*step.inputs, *step.outputs)):
                last[self._root(name)] = index
        for name in self._plan.outputs:
            last.pop(self._root(name), None)
        dropped: dict[int, list[str]] = {}
        for name, index in last.items():
            dropped.setdefault(index, []).append(name)
        return dropped

    def _root(self, name: str) -> str:
        return self._plan.buffers[name].alias or name

    def _read(self, name: str, values: Mapping[str, np.ndarray], shapes: Mapping[str, Shape]) -> np.ndarray:
        array = values[self._root(name)]
        if self._plan.buffers[name].alias is None:
            return array
        if array.size != prod(shapes[name]):
            raise damaged_plan(f"buffer {name!r} has not the elements of {self._root(name)!r}, whose bytes it shares")
        return array.reshape(shapes[name])

    def _show(self, written: str, array: np.ndarray, shapes: Mapping[str, Shape], watch: Watch) -> None:
        root = self._root(written)
        for name, buffer in self._plan.buffers.items():
            if (buffer.alias or name) == root:
                watch(name, self._read(name, {root: array}, shapes).copy())

    def _collect(
        self,
        name: str,
        values: Mapping[str, np.ndarray],
        shapes: Mapping[str, Shape],
        result: np.ndarray | None,
    ) -> np.ndarray:
        array = store(self._read(name, values, shapes), self._plan.buffers[name].dtype)
        if result is None:
            return array.copy()
        result[...] = array
        return result


def _load_definitions() -> Mapping[str, Definition]:
    try:
        from autofusion.ops.definitions import DEFINITIONS
    except ModuleNotFoundError as error:
        text = f"package {error.name} is not installed, and the reference backend needs it"
        raise artifact_error("AF519", text, help=f"install {error.name}") from error
    return DEFINITIONS
