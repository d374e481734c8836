"""Convolutions and the depthwise ones after them as one step, so that what lies between never passes through memory.

Works on a native draft with layouts.  What is joined are two steps that stay what they were: the values that
they read and give, their folded weights and their activations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from autofusion.lowering.records import Draft
from autofusion.plan import Setting, Step

LEAST_BYTES = 512 << 10
"""Bytes that one image must have between the convolutions: a second-level cache holds less and hands it on as fast."""

FEW_CHANNELS = 8
"""A first convolution with larger windows than 1x1 reads fewer channels than this; others have better algorithms."""

_WINDOW = ("kernel", "strides", "pads", "dilations")
_EPILOGUE = ("activation", "alpha", "beta")


def join_depthwise(draft: Draft, fused: Collection[str]) -> Draft:
    """The draft with a `conv_depthwise` in the place of every two convolutions that are faster so.

    `fused` are the graph nodes that fusion made, each of one step: others are left alone, as the user may have kept
    them out of fusion.  Images with extents that only the run tells count as large.
    """
    pairs = _find_pairs(draft, fused)
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
        joined={draft.steps[first].node: draft.steps[second].node for second, first in pairs.items()},
    )


def _find_pairs(draft: Draft, fused: Collection[str]) -> Mapping[int, int]:
    """The first step of each pair by the second one, by their places."""
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
    for index in made.values():
        step = draft.steps[index]
        source = step.inputs[0]
        first = made.get(source)
        if first is None or first in pairs or readings[source] != 1:
            continue
        if _is_depthwise(draft, step) and _is_joinable(draft, draft.steps[first]) and _is_large(draft, source):
            pairs[index] = first
    return pairs


def _is_depthwise(draft: Draft, step: Step) -> bool:
    weight = draft.constants.get(step.inputs[1])
    if weight is None or weight.ndim != 4 or any(step.inputs[3:]):
        return False
    return weight.shape[1] == 1 and step.attributes["group"] == len(weight)


def _is_joinable(draft: Draft, step: Step) -> bool:
    """True for a convolution over all channels that gives its sums, shifted and activated, and nothing else."""
    weight = draft.constants.get(step.inputs[1])
    if weight is None or weight.ndim != 4 or any(step.inputs[3:]) or len(step.outputs) > 1:
        return False
    is_small = math.prod(weight.shape[2:]) == 1 or weight.shape[1] < FEW_CHANNELS
    return step.attributes["group"] == 1 and is_small


def _is_large(draft: Draft, name: str) -> bool:
    extents = (draft.buffers[name].shape or ())[1:]
    known = [extent for extent in extents if isinstance(extent, int)]
    return len(known) < len(extents) or 4 * math.prod(known) >= LEAST_BYTES


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
