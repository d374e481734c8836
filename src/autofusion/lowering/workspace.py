"""The plan under construction: names, constants, aliases and steps, until they are pruned to a `Draft`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from autofusion.ir import Dim, DType, Graph, Node, Value
from autofusion.lowering.records import Backend, Draft
from autofusion.lowering.scope import Scope
from autofusion.ops.strided import Strided, whole
from autofusion.plan import Buffer, Role, Setting, Size, Step


@dataclass(frozen=True)
class Owner:
    """The graph node that steps are made for."""

    name: str
    op: str


class Workspace:
    """Collects the steps of one graph in running order.

    Steps name values; two values that have the same elements and shape go by one name, those
    with another shape become aliases.  Every computed output of the graph has a buffer of its own.
    """

    def __init__(self, graph: Graph, backend: Backend) -> None:
        self.backend: Backend = backend
        self.scope = Scope(graph)
        self._graph = graph
        self._same: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._views: dict[str, tuple[str, Strided]] = {}
        self._steps: list[Step] = []
        self._reasons: dict[tuple[str, ...], str] = {}
        self._taken: set[str] = set()

    @property
    def kernel_types(self) -> tuple[DType, ...]:
        """Element types that kernels take."""
        if self.backend == "native":
            return (DType.FLOAT, DType.DOUBLE)
        return (DType.FLOAT, DType.DOUBLE, DType.FLOAT16, DType.BFLOAT16)

    def fresh(self, stem: str) -> str:
        """A name that no value has."""
        name, number = stem, 0
        while name in self._taken or self.scope.knows(name):
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name

    def is_read(self, name: str) -> bool:
        """True where a node of the graph reads the value, or the caller."""
        return name in self._graph.outputs or bool(self._graph.consumers(name))

    def add_constant(self, stem: str, array: np.ndarray) -> str:
        """Define a constant and return its name."""
        name = self.fresh(stem)
        self.scope.define_constant(name, np.ascontiguousarray(array).reshape(array.shape))
        return name

    def add_value(self, stem: str, like: Value, shape: tuple[Dim, ...] | None = None) -> Value:
        """A new value of the type of `like`, and of its shape unless another is given."""
        value = Value(self.fresh(stem), like.dtype, like.shape if shape is None else shape)
        self.scope.define_value(value)
        return value

    def note_view(self, name: str, root: str, view: Strided) -> None:
        """Say that value `name` has the elements of value `root` through `view`."""
        self._views[name] = (root, view)

    def find_view(self, name: str) -> tuple[str, Strided]:
        """What `note_view` said of a value; the value itself, all of it, where it said nothing.

        Raises ValueError where its shape is not known.
        """
        found = self._views.get(name)
        shape = self.scope.shape(name)
        if found is None and shape is None:
            raise ValueError(f"the shape of {name!r} is not known")
        return found or (name, whole(shape or ()))

    def emit(
        self,
        owner: Owner,
        kernel: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        settings: Mapping[str, Setting],
        origin: tuple[str, ...],
    ) -> None:
        """Append a step."""
        operands = tuple(self._same.get(name, name) for name in inputs)
        self._steps.append(Step(kernel, owner.name, owner.op, operands, outputs, dict(settings), origin))

    def emit_host(
        self, owner: Owner, node: Node, operands: tuple[str, ...], settings: Mapping[str, Setting], reason: str
    ) -> None:
        """Append a step that runs `node` by its reference implementation on `operands`."""
        self._reasons[node.outputs] = reason
        self.emit(owner, "host", operands, node.outputs, settings, node.origin)

    def alias(self, owner: Owner, source: str, result: Value, origin: tuple[str, ...]) -> None:
        """Say that `result` has the bytes of `source`; a copy where it is an output of the model."""
        source = self._same.get(source, source)
        root = self._aliases.get(source, source)
        self.scope.define_value(result)
        if result.name in self._graph.outputs:
            self.emit(owner, "copy", (source,), (result.name,), {}, origin)
        elif self.scope.shape(source) == result.shape:
            self._same[result.name] = source
        elif self.scope.shape(root) == result.shape:
            self._same[result.name] = root
        else:
            self._aliases[result.name] = root

    def finish(self) -> Draft:
        """Everything that the outputs need, and nothing else."""
        outputs = self._graph.outputs
        steps = _prune(self._steps, outputs, self._aliases)
        buffers = {name: self._buffer(name) for name in (*self._graph.inputs, *self._used(steps), *outputs)}
        return Draft(
            backend=self.backend,
            inputs=self._graph.inputs,
            outputs=outputs,
            symbols=tuple(sorted(self.scope.symbols)),
            buffers=buffers,
            constants=self._constants(buffers),
            steps=tuple(steps),
            reasons=self._reasons,
        )

    def _used(self, steps: list[Step]) -> Iterator[str]:
        for step in steps:
            for name in (*step.inputs, *step.outputs):
                if name in self._aliases:
                    yield self._aliases[name]
                if name:
                    yield name

    def _buffer(self, name: str) -> Buffer:
        value = self.scope.value(name)
        dtype = value.dtype.value if value.dtype else ""
        shape = None if value.shape is None else tuple(_size(dim) for dim in value.shape)
        return Buffer(name, dtype, shape, self._role(name), alias=self._aliases.get(name))

    def _role(self, name: str) -> Role:
        if name in self._graph.inputs:
            return "input"
        if self.scope.constant(name) is not None:
            return "constant"
        return "output" if name in self._graph.outputs else "inner"

    def _constants(self, buffers: Mapping[str, Buffer]) -> dict[str, np.ndarray]:
        """Contents of the constants, and of the inputs that the caller may leave out."""
        found: dict[str, np.ndarray] = {}
        for name, buffer in buffers.items():
            array = self._graph.defaults.get(name) if buffer.role == "input" else self.scope.constant(name)
            if array is not None and buffer.role in ("input", "constant"):
                found[name] = array
        return found


def _prune(steps: list[Step], outputs: tuple[str, ...], aliases: Mapping[str, str]) -> list[Step]:
    needed = set(outputs)
    kept: list[Step] = []
    for step in reversed(steps):
        if needed.isdisjoint(step.outputs):
            continue
        kept.append(step)
        for name in step.inputs:
            needed |= {name, aliases.get(name, name)}
    return kept[::-1]


def _size(dim: Dim) -> Size:
    return dim if isinstance(dim, int) else str(dim)


def with_name(value: Value, name: str) -> Value:
    """`value` under another name."""
    return replace(value, name=name)
