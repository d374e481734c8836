"""Convolutions and the depthwise ones after them as one step, so that what lies between never passes through memory.

Works on a native draft with layouts.  What is joined are two steps that stay what they were: the values that
they read and give, their folded weights and their activations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from autofusion.decisions import LayerChoice
from autofusion.lowering.joining import JOINED, choose_joining
from autofusion.lowering.records import Draft
from autofusion.plan import Setting, Step
from autofusion.tuning import Bank

LEAST_BYTES = 512 << 10
"""Bytes that one image must have between the convolutions: a second-level cache holds less and hands it on as fast."""

FEW_CHANNELS = 8
"""A first convolution with larger windows than 1x1 reads fewer channels than this; others have better algorithms."""

_WINDOW = ("kernel", "strides", "pads", "dilations")
_EPILOGUE = ("activation", "alpha", "beta")


def join_depthwise(draft: Draft, fused: Collection[str], bank: Bank | None = None) -> Draft:
    """The draft with a `conv_depthwise` in the place of every two convolutions that are faster so or in `bank`.

    `fused` are the graph nodes that fusion made, each of one step: others are left alone, as the user may have kept
    them out of fusion.  Images with extents that only the run tells count as large.
    """
    pairs, choices = _find_pairs(draft, fused, bank)
    gone = {draft.steps[first].outputs[0] for first in pairs.values()}
    steps = tuple(
        _join(draft.steps[pairs[index]], step) if index in pairs else step
        for index, step in enumerate(draft.steps)
        if gone.isdisjoint(step.outputs)
    )
    return replace(
        draft,
        steps=steps,
        buffers={name: buffer for name, buffer in draft.buffers.items() if name not in gone},
        layers=(*draft.layers, *choices),
        joined={draft.steps[first].node: draft.steps[second].node for second, first in pairs.items()},
    )


def _find_pairs(
    draft: Draft, fused: Collection[str], bank: Bank | None
) -> tuple[Mapping[int, int], Sequence[LayerChoice]]:
    """The first step of each pair by the second one, by their places, and every choice that was made."""
    counts = Counter(step.node for step in draft.steps if step.kernel != "relayout")
    made = {
        step.outputs[0]: index
        for index, step in enumerate(draft.steps)
        if step.kernel == "conv" and step.node in fused and counts[step.node] == 1
    }
    readings = Counter(name for step in draft.steps for name in step.inputs)
    readings.update(draft.outputs)
    readings.update(buffer.alias for buffer in draft.buffers.values() if buffer.alias)
    pairs: dict[int, int] = {}
    choices: list[LayerChoice] = []
    for index in made.values():
        step = draft.steps[index]
        source = step.inputs[0]
        first = made.get(source)
        if first is None or first in pairs or readings[source] != 1:
            continue
        if not (_is_depthwise(draft, step) and _is_joinable(draft, draft.steps[first])):
            continue
        size = _measure_image(draft, source)
        between = "an image of extents that the run tells" if size is None else f"an image of {size} bytes"
        reason = f"{between} lies between them, and from {LEAST_BYTES} on one step is faster"
        pays = size is None or size >= LEAST_BYTES
        choices.append(choose_joining(draft, _join(draft.steps[first], step), bank, pays=pays, reason=reason))
        if choices[-1].chosen == JOINED:
            pairs[index] = first
    return pairs, choices


def _is_depthwise(draft: Draft, step: Step) -> bool:
    weight = draft.constants.get(step.inputs[1])
    if weight is None or weight.ndim != 4 or any(step.inputs[3:]):
        return False
    return weight.shape[1] == 1 and step.attributes["group"] == len(weight)


def _is_joinable(draft: Draft, step: Step) -> bool:
    """True for a convolution over all channels that gives its sums, shifted and activated, and nothing else."""
    weight = draft.constants.get(step.inputs[1])
    if weight is None or weight.ndim != 4 or any(step.inputs[3:]) or len(step.outputs) > 1 or draft.is_double(step):
        return False
    is_small = math.prod(weight.shape[2:]) == 1 or weight.shape[1] < FEW_CHANNELS
    return step.attributes["group"] == 1 and is_small


def _measure_image(draft: Draft, name: str) -> int | None:
    """Bytes of one image of a batch, None where only the run tells."""
    extents = (draft.buffers[name].shape or ())[1:]
    known = [extent for extent in extents if isinstance(extent, int)]
    return None if len(known) < len(extents) else 4 * math.prod(known)


def _join(first: Step, depthwise: Step) -> Step:
    settings: dict[str, Setting] = {name: first.attributes[name] for name in _WINDOW}
    settings |= {f"depth_{name}": depthwise.attributes[name] for name in _WINDOW}
    settings |= {f"inner_{name}": first.attributes[name] for name in _EPILOGUE}
    settings |= {name: depthwise.attributes[name] for name in _EPILOGUE}
    return depthwise._replace(
        kernel="conv_depthwise",
        inputs=(*first.inputs[:3], *depthwise.inputs[1:3]),
        attributes=settings,
        origin=first.origin + depthwise.origin,
    )
