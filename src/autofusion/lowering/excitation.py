"""Squeeze and excitation without passes over the image: channel means, their gate, and what the gate scales.

Works on the steps of a draft.  Each of the three parts is done by itself, wherever it is legal: a global average by
the depthwise convolution whose result it averages, the two small products of a gate by one step, and the
multiplication with the gate by the 1x1 convolution that alone reads the scaled image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from autofusion.lowering.records import Draft
from autofusion.plan import Buffer, Setting, Size, Step


def join_excitations(draft: Draft, fused: Collection[str], apart: Collection[str] = ()) -> Draft:
    """The draft with fewer steps for the same values, less those that only steps in between read.

    `fused` are the graph nodes that fusion made: averages and multiplications of others stay steps of their own, as
    the user may have kept them out of fusion.  Steps of the nodes in `apart` stay as they are.
    """
    joiner = _Joiner(draft, fused, apart)
    for join in (joiner.join_products, joiner.join_gate, joiner.join_mean):
        joiner.apply(join)
    return joiner.finish()


class _Joiner:
    """The steps of a draft, and which of them makes or reads a value; values that share bytes count as one."""

    def __init__(self, draft: Draft, fused: Collection[str], apart: Collection[str]) -> None:
        self._draft = draft
        self._fused = fused
        self._apart = apart
        self._steps: list[Step] = list(draft.steps)
        self._buffers: dict[str, Buffer] = dict(draft.buffers)
        self._constants: dict[str, np.ndarray] = dict(draft.constants)
        self._made: dict[str, int] = {}
        self._reads: Counter[str] = Counter()

    def apply(self, join: Callable[[int], Sequence[int] | None]) -> None:
        """Let `join` change the step at every place; what it gives are places of steps that are no longer needed."""
        self._made = {
            self._root(name): index for index, step in enumerate(self._steps) for name in step.outputs if name
        }
        self._reads = Counter(self._root(name) for step in self._steps for name in step.inputs if name)
        self._reads.update(self._root(name) for name in self._draft.outputs)
        gone: set[int] = set()
        for index, step in enumerate(self._steps):
            if not self._draft.is_double(step):
                gone.update(join(index) or ())
        self._steps = [step for index, step in enumerate(self._steps) if index not in gone]

    def finish(self) -> Draft:
        """The draft of the steps as they are now."""
        used = {*self._draft.inputs, *self._draft.outputs}
        used.update(name for step in self._steps for name in (*step.inputs, *step.outputs) if name)
        used |= {alias for name in used if (alias := self._buffers[name].alias)}
        return replace(
            self._draft,
            steps=tuple(self._steps),
            buffers={name: buffer for name, buffer in self._buffers.items() if name in used},
            constants={name: array for name, array in self._constants.items() if name in used},
        )

    def join_products(self, index: int) -> Sequence[int] | None:
        """The two products on channel means that make the gate of a multiplication, as one `excite`."""
        parts = self._split_gated(index)
        outer = self._find(parts[1]) if parts else None
        inner = self._find(self._steps[outer].inputs[0]) if outer is not None else None
        if outer is None or inner is None or self._find_pool(self._steps[inner].inputs[0]) is None:
            return None
        first, second = self._steps[inner], self._steps[outer]
        matrices = self._read_matrix(first), self._read_matrix(second)
        if matrices[0] is None or matrices[1] is None or self._reads[self._root(first.outputs[0])] > 1:
            return None
        reduce = self._add_constant(first.inputs[1], "reduce", matrices[0])
        expand = self._add_constant(second.inputs[1], "expand", matrices[1].T)
        attributes: dict[str, Setting] = {name: first.attributes[name] for name in ("activation", "alpha", "beta")}
        names = (("gate", "activation"), ("gate_alpha", "alpha"), ("gate_beta", "beta"))
        attributes |= {name: second.attributes[old] for name, old in names}
        inputs = (first.inputs[0], reduce, first.inputs[2], expand, second.inputs[2])
        origin = first.origin + second.origin
        self._steps[outer] = second._replace(kernel="excite", inputs=inputs, attributes=attributes, origin=origin)
        return [inner]

    def join_gate(self, index: int) -> Sequence[int] | None:
        """A multiplication with a gate that a 1x1 convolution alone reads, as an operand of it."""
        step = self._steps[index]
        if step.kernel != "conv" or step.node in self._apart or any(step.inputs[4:]) or not _is_pointwise(step):
            return None
        product = self._made.get(step.inputs[0])
        parts = self._split_gated(product) if product is not None else None
        filters = self._shape(step.outputs[0])[1]
        if product is None or parts is None or self._reads[step.inputs[0]] > 1:
            return None
        if self._shape(parts[0])[1] == filters == 1:
            return None
        origin = self._steps[product].origin + step.origin
        self._steps[index] = step._replace(inputs=(parts[0], *step.inputs[1:4], parts[1]), origin=origin)
        return [product]

    def join_mean(self, index: int) -> Sequence[int] | None:
        """The global average of what a depthwise convolution gives, as its second result."""
        step = self._steps[index]
        source = self._made.get(step.inputs[0]) if self._is_global_average(step) else None
        if source is None:
            return None
        conv = self._steps[source]
        if conv.kernel != "conv" or conv.node in self._apart:
            return None
        if any(conv.outputs[1:]) or not self._is_depthwise(conv):
            return None
        outputs = (conv.outputs[0], step.outputs[0])
        self._steps[source] = conv._replace(outputs=outputs, origin=conv.origin + step.origin)
        return [index]

    def _root(self, name: str) -> str:
        return self._buffers[name].alias or name

    def _find(self, name: str) -> int | None:
        return self._made.get(self._root(name))

    def _find_pool(self, name: str) -> int | None:
        made = self._find(name)
        return made if made is not None and self._is_global_average(self._steps[made]) else None

    def _shape(self, name: str) -> tuple[Size, ...]:
        return self._buffers[name].shape or ()

    def _split_gated(self, index: int) -> tuple[str, str] | None:
        """Image and gate of a multiplication with one number for every channel of every image."""
        step = self._steps[index]
        if step.kernel != "binary" or step.node not in self._fused:
            return None
        if step.attributes["op"] != "Mul" or step.attributes["activation"]:
            return None
        shape = self._shape(step.outputs[0])
        gate = (*shape[:2], *[1] * (len(shape) - 2))
        for image, other in (step.inputs, step.inputs[::-1]):
            if 3 <= len(shape) <= 5 and self._shape(image) == shape and self._shape(other) == gate:
                return image, other
        return None

    def _is_global_average(self, step: Step) -> bool:
        if step.kernel != "pool" or step.node not in self._fused:
            return False
        return bool(step.attributes["is_global"]) and step.attributes["kind"] == "average"

    def _is_depthwise(self, step: Step) -> bool:
        channels, filters = self._shape(step.inputs[0])[1], self._shape(step.outputs[0])[1]
        return step.attributes["group"] == channels == filters != 1

    def _read_matrix(self, step: Step) -> np.ndarray | None:
        """The matrix [results, operands] of a product of single pixels or of rows; None where a step does more."""
        is_product = step.kernel in ("conv", "matmul") and step.node not in self._apart
        weight = self._constants.get(step.inputs[1]) if is_product else None
        if weight is None or self._buffers[step.inputs[1]].role != "constant" or any(step.inputs[3:]):
            return None
        if step.kernel == "matmul":
            plain = step.attributes["scale"] == 1 and not any(step.attributes.get(name) for name in _FURTHER_WORK)
            is_matrix = weight.ndim == 2 and len(self._shape(step.inputs[0])) == 2
            matrix = weight if step.attributes["trans_b"] else weight.T
            return matrix if plain and is_matrix else None
        extents = [extent for name in (step.inputs[0], step.outputs[0]) for extent in self._shape(name)[2:]]
        is_plain = _is_pointwise(step) and all(extent == 1 for extent in extents)
        return weight.reshape(len(weight), -1) if is_plain else None

    def _add_constant(self, weight: str, use: str, matrix: np.ndarray) -> str:
        name, number = f"{weight}:{use}", 0
        while name in self._buffers:
            number += 1
            name = f"{weight}:{use}_{number}"
        self._constants[name] = np.ascontiguousarray(matrix)
        self._buffers[name] = Buffer(name, self._buffers[weight].dtype, matrix.shape, "constant")
        return name


_FURTHER_WORK = ("trans_a", "norm", "widths", "gated")


def _is_pointwise(step: Step) -> bool:
    """True for windows of one pixel, one apart, without pads, over all channels."""
    lists = [[int(str(number)) for number in _entries(step, name)] for name in ("kernel", "strides", "pads")]
    kernel, strides, pads = lists
    return {*kernel, *strides} == {1} and not any(pads) and step.attributes["group"] == 1


def _entries(step: Step, name: str) -> Sequence[Setting]:
    value = step.attributes[name]
    return value if isinstance(value, list | tuple) else ()
