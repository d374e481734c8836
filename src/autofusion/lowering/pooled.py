"""Convolutions and the pools that alone read their results as one step, or the average before the convolution.

Works on a native draft with layouts and joins steps of one graph node: fusion has decided that they belong together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from autofusion.decisions import LayerChoice
from autofusion.lowering.joining import JOINED, choose_joining
from autofusion.lowering.packing import is_narrow
from autofusion.lowering.records import Draft
from autofusion.plan import Buffer, Setting, Size, Step
from autofusion.tuning import Bank

LEAST_LINES = 16
"""Lines of a pooled image from which on the convolution is pooled line by line: those at a cut are computed twice."""

LEAST_FILTERS = 32
"""Filters from which on a pool of whole images has enough for several threads."""


def join_pools(draft: Draft, fused: Collection[str], bank: Bank | None = None) -> Draft:
    """The draft with one `conv_pool` in the place of every convolution and its pool, where that suits them or
    `bank` wants it.

    `fused` are the graph nodes that fusion or a manual rule made: others are left alone, as the user may have kept them
    out of fusion.  An average of a 1x1 convolution that nothing follows is taken before it, where fewer pixels are left
    to convolve.
    """
    made = {step.outputs[0]: index for index, step in enumerate(draft.steps) if step.kernel == "conv"}
    readers: dict[str, int] = {}
    for step in draft.steps:
        for name in step.inputs:
            readers[name] = readers.get(name, 0) + 1
    shared = {*draft.outputs, *(buffer.alias for buffer in draft.buffers.values() if buffer.alias)}
    joiner = _Joiner(draft, bank)
    for pool in draft.steps:
        first = made.get(pool.inputs[0]) if pool.kernel == "pool" else None
        if first is None or readers[pool.inputs[0]] != 1 or pool.inputs[0] in shared:
            continue
        conv = draft.steps[first]
        if any((*conv.inputs[4:], *conv.outputs[1:])):
            continue
        if conv.node == pool.node and conv.node in fused and conv.inputs[1] in draft.constants:
            joiner.join(conv, pool)
    return joiner.finish()


class _Joiner:
    def __init__(self, draft: Draft, bank: Bank | None) -> None:
        self._draft = draft
        self._bank = bank
        self._choices: list[LayerChoice] = []
        self._buffers: dict[str, Buffer] = dict(draft.buffers)
        self._exchanged: dict[tuple[str, ...], tuple[Step, ...]] = {}

    def join(self, conv: Step, pool: Step) -> None:
        """Exchange both steps, if one step or another order suits them better."""
        if self._commutes(conv, pool):
            self._swap(conv, pool)
            return
        if not self._is_poolable(conv, pool):
            return
        settings = {f"pool_{name}": value for name, value in pool.attributes.items()}
        step = pool._replace(
            kernel="conv_pool",
            inputs=conv.inputs,
            attributes={**conv.attributes, **settings},
            origin=conv.origin + pool.origin,
        )
        pays, reason = self._weigh(conv, pool)
        self._choices.append(choose_joining(self._draft, step, self._bank, pays=pays, reason=reason))
        if self._choices[-1].chosen == JOINED:
            self._exchange(conv, pool, step)

    def finish(self) -> Draft:
        """The draft with the steps exchanged."""
        steps = tuple(new for step in self._draft.steps for new in self._exchanged.get(step.outputs, (step,)))
        return replace(self._draft, steps=steps, buffers=self._buffers, layers=(*self._draft.layers, *self._choices))

    def _exchange(self, conv: Step, pool: Step, *steps: Step) -> None:
        self._exchanged |= {conv.outputs: (), pool.outputs: steps}
        del self._buffers[conv.outputs[0]]

    def _commutes(self, conv: Step, pool: Step) -> bool:
        """True for averages, over pixels that all exist, of a 1x1 convolution without residual and activation."""
        plain = not conv.attributes["activation"] and not conv.inputs[3]
        if not plain or pool.attributes["kind"] != "average" or not _is_pointwise(conv.attributes):
            return False
        if pool.attributes.get("include_pad") and not _is_all(pool.attributes["pads"], 0):
            return False
        before, after = self._image(conv.outputs[0]), self._image(pool.outputs[0])
        return before is not None and after is not None and 2 * after <= before

    def _swap(self, conv: Step, pool: Step) -> None:
        source = self._draft.buffers[conv.inputs[0]]
        result = self._draft.buffers[pool.outputs[0]]
        shape: tuple[Size, ...] = (*(source.shape or ())[:2], *(result.shape or ())[2:])
        name, number = f"{source.name}:pooled", 0
        while name in self._buffers:
            number += 1
            name = f"{source.name}:pooled_{number}"
        layout = self._draft.buffers[conv.outputs[0]].layout
        self._buffers[name] = Buffer(name, source.dtype, shape, layout=layout)
        first = pool._replace(inputs=(source.name,), outputs=(name,))
        self._exchange(conv, pool, first, conv._replace(inputs=(name, *conv.inputs[1:]), outputs=pool.outputs))

    def _is_poolable(self, conv: Step, pool: Step) -> bool:
        shape = self._draft.buffers[pool.outputs[0]].shape or ()
        weight = self._draft.constants[conv.inputs[1]]
        if self._draft.is_double(pool):
            return False
        is_depthwise = weight.shape[1] == 1 and (conv.attributes["group"] != 1 or len(weight) == 1)
        if is_depthwise or is_narrow(conv, weight):
            return False
        if pool.attributes["is_global"]:
            return conv.attributes["group"] == 1
        return len(shape) == 4 and isinstance(shape[2], int)

    def _weigh(self, conv: Step, pool: Step) -> tuple[bool, str]:
        """Whether a pool that can be one step with its convolution is faster so, and on what ground."""
        if pool.attributes["is_global"]:
            filters = len(self._draft.constants[conv.inputs[1]])
            return filters >= LEAST_FILTERS, f"{filters} filters, and from {LEAST_FILTERS} on one step is faster"
        lines, *_ = (self._draft.buffers[pool.outputs[0]].shape or ())[2:] or (0,)
        pays = isinstance(lines, int) and lines >= LEAST_LINES
        return pays, f"{lines} lines of the pooled image, and from {LEAST_LINES} on one step is faster"

    def _image(self, name: str) -> int | None:
        """Pixels of an image, None where they are not known."""
        count = 1
        for extent in (self._draft.buffers[name].shape or ())[2:]:
            if not isinstance(extent, int):
                return None
            count *= extent
        return count


def _is_pointwise(settings: Mapping[str, Setting]) -> bool:
    """True where every result is the sum over one pixel, and every pixel has a result."""
    return _is_all(settings["kernel"], 1) and _is_all(settings["strides"], 1) and _is_all(settings["pads"], 0)


def _is_all(setting: Setting, number: int) -> bool:
    return isinstance(setting, list) and all(item == number for item in setting)
