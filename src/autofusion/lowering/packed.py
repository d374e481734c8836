"""Fifth stage of native lowering: constant weights in the order in which the kernels read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from autofusion.decisions import Option
from autofusion.ir import DType
from autofusion.lowering.packing import PANEL, is_narrow, pack_conv_weight, pack_matmul_weight
from autofusion.lowering.phases import pack_transposed_weight
from autofusion.lowering.records import Draft
from autofusion.lowering.selection import select_algorithms
from autofusion.lowering.winograd import find_options
from autofusion.plan import Buffer, Step
from autofusion.tuning import Bank


def pack_weights(draft: Draft, *, exact: bool = False, halves: Sequence[DType] = (), bank: Bank | None = None) -> Draft:
    """The draft with packed weights for convolutions and for products with a constant matrix.

    3x3 convolutions get the weights of Winograd's filtering where it pays or `bank` says so, and where
    `exact` does not forbid it.
    Steps that share a weight share its packed form.  The buffer of a packed weight keeps the
    shape of the matrix [K, N] or of the filter; only its bytes differ.  What a type of `halves` holds
    will be stored in it.
    """
    packer = _Packer(draft)
    selections = select_algorithms(draft, partial(find_options, halves=halves), exact=exact, halves=halves, bank=bank)
    steps: list[Step] = []
    for index, step in enumerate(draft.steps):
        selection = selections.get(index)
        steps += packer.pack(step, None if selection is None else selection.chosen)
    used = {*draft.inputs, *draft.outputs, *(name for step in steps for name in (*step.inputs, *step.outputs))}
    used |= {alias for name in used if name and (alias := packer.buffers[name].alias)}
    return replace(
        draft,
        steps=tuple(steps),
        layers=(*draft.layers, *selections.values()),
        buffers={name: buffer for name, buffer in packer.buffers.items() if name in used},
        constants={name: array for name, array in packer.constants.items() if name in used},
    )


class _Packer:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.buffers: dict[str, Buffer] = dict(draft.buffers)
        self.constants: dict[str, np.ndarray] = dict(draft.constants)
        self._packed: dict[tuple[str, str], str] = {}

    def pack(self, step: Step, option: Option | None) -> list[Step]:
        """`step` on its packed weight, a convolution by `option`, after the step that makes the weight if there is one.

        The step itself where it has no weight to pack.
        """
        if step.kernel == "conv_depthwise":
            return [self._pack_both(step)]
        if step.kernel == "conv_transpose":
            return [self._pack_transposed(step)]
        if step.kernel not in ("conv", "conv_pool", "matmul"):
            return [step]
        name = step.inputs[1]
        array = self.constants.get(name)
        if (
            array is None
            or self.buffers[name].role != "constant"
            or (step.kernel == "matmul" and (array.ndim != 2 or step.attributes["trans_a"]))
        ):
            return [step]
        if step.kernel in ("conv", "conv_pool"):
            return self._pack_conv(step, name, array, option or Option("direct", 0.0))
        transposed = bool(step.attributes["trans_b"])
        matrix = array.T if transposed else array
        widths = _part_widths(step, matrix.shape[1])
        packed = self._store(
            name, f"matmul{transposed}{widths}", matrix, lambda weight: pack_matmul_weight(weight, widths)
        )
        attributes = {**step.attributes, "trans_b": False, "packed": True}
        return [step._replace(inputs=(step.inputs[0], packed, *step.inputs[2:]), attributes=attributes)]

    def _pack_conv(self, step: Step, name: str, array: np.ndarray, option: Option) -> list[Step]:
        group = int(str(step.attributes["group"]))
        tile = option.tile if option.stored else 0
        narrow = step.kernel == "conv" and is_narrow(step, array) and not self._draft.is_double(step)
        packed = self._pack_filters(name, group, tile, narrow=narrow)
        attributes = {**step.attributes, "winograd": option.tile} if option.tile else step.attributes
        attributes = {**attributes, "narrow": True} if narrow else attributes
        made = [] if option.stored or not option.tile else [self._make_filters(step, packed, array, option.tile)]
        weight = made[0].outputs[0] if made else packed
        return [*made, step._replace(inputs=(step.inputs[0], weight, *step.inputs[2:]), attributes=attributes)]

    def _make_filters(self, step: Step, packed: str, array: np.ndarray, tile: int) -> Step:
        filters, channels = array.shape[:2]
        name = self._name(f"{step.outputs[0]}:filters")
        shape = ((tile + 2) ** 2, -(-filters // PANEL), channels, PANEL)
        self.buffers[name] = Buffer(name, "float", shape)
        return Step("filter", step.node, step.op, (packed,), (name,), {"tile": tile}, step.origin)

    def _pack_both(self, step: Step) -> Step:
        x, weight, bias, depth_weight, depth_bias = step.inputs
        groups = len(self.constants[depth_weight])
        inputs = (x, self._pack_filters(weight, 1), bias, self._pack_filters(depth_weight, groups), depth_bias)
        return step._replace(inputs=inputs)

    def _pack_transposed(self, step: Step) -> Step:
        name, group = step.inputs[1], int(str(step.attributes["group"]))
        strides, dilations = (_integers(step, setting) for setting in ("strides", "dilations"))
        packed = self._store(
            name,
            f"transposed{group}{strides}{dilations}",
            self.constants[name],
            lambda weight: pack_transposed_weight(weight, group, strides, dilations),
        )
        return step._replace(inputs=(step.inputs[0], packed, *step.inputs[2:]))

    def _pack_filters(self, name: str, group: int, tile: int = 0, *, narrow: bool = False) -> str:
        form = f"winograd{tile}" if tile else f"{'narrow' if narrow else 'conv'}{group}"
        return self._store(
            name, form, self.constants[name], lambda weight: pack_conv_weight(weight, group, tile, narrow=narrow)
        )

    def _store(self, name: str, form: str, array: np.ndarray, pack: Callable[[np.ndarray], np.ndarray]) -> str:
        if (name, form) not in self._packed:
            packed = self._name(f"{name}:packed")
            self.constants[packed] = pack(array)
            self.buffers[packed] = self.buffers[name]._replace(name=packed, shape=tuple(array.shape))
            self._packed[name, form] = packed
        return self._packed[name, form]

    def _name(self, stem: str) -> str:
        """A name that no buffer has."""
        name, number = stem, 0
        while name in self.buffers:
            number += 1
            name = f"{stem}_{number}"
        return name


def _part_widths(step: Step, columns: int) -> list[int]:
    """Columns of the parts of a product, which have panels of their own; none where it is of one piece."""
    if step.attributes.get("gated"):
        return [columns // 2, columns // 2]
    return _integers(step, "widths")


def _integers(step: Step, name: str) -> list[int]:
    """An attribute that is a list of integers; none where it is absent."""
    numbers = step.attributes.get(name)
    return [int(str(number)) for number in numbers] if isinstance(numbers, list) else []
