"""Views that are copied take the shape in which alone they are read."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from autofusion.lowering.records import Draft
from autofusion.plan import Step


def reshape_results(draft: Draft) -> Draft:
    """The draft with strided steps that give one alias of their result what it has the bytes of.

    So the channels that a Reshape, a Transpose and a Reshape shuffle are those of an image again, whatever its layout.
    """
    read = Counter(name for step in draft.steps for name in step.inputs if name)
    read.update(draft.outputs)
    aliases: dict[str, list[str]] = {}
    for name, buffer in draft.buffers.items():
        if buffer.alias is not None:
            aliases.setdefault(buffer.alias, []).append(name)
    renamed = {
        step.outputs[0]: aliases[step.outputs[0]][0]
        for step in draft.steps
        if step.kernel == "strided" and not read[step.outputs[0]] and len(aliases.get(step.outputs[0], ())) == 1
    }
    if not renamed:
        return draft
    buffers = {name: buffer for name, buffer in draft.buffers.items() if name not in renamed}
    for name in renamed.values():
        buffers[name] = buffers[name]._replace(alias=None)
    return replace(draft, buffers=buffers, steps=tuple(_rename(step, renamed) for step in draft.steps))


def _rename(step: Step, renamed: dict[str, str]) -> Step:
    return step._replace(outputs=tuple(renamed.get(name, name) for name in step.outputs))
