"""The text by which tuning banks and reports name a layer: all that decides how fast an algorithm computes it."""

from __future__ import annotations

from collections.abc import Iterator

from autofusion.lowering.records import Draft
from autofusion.plan import Setting, Size, Step

_EPILOGUE = frozenset({"activation", "alpha", "beta", "inner_activation", "inner_alpha", "inner_beta", "kernel"})
"""Attributes without weight in the choice, and the extents of the window, which those of the filter end in."""


def describe_layer(draft: Draft, step: Step) -> str:
    """Kernel, extents of image, filter and result, then the attributes of the window: `conv x=1x8x9x9 filter=..`.

    An extent that only the run tells is `?`; an element type other than float32 stands behind the kernel.  What is
    added to the result and its activation do not count.
    """
    return " ".join(_list_parts(draft, step))


def _list_parts(draft: Draft, step: Step) -> Iterator[str]:
    yield step.kernel
    if (dtype := draft.buffers[step.inputs[0]].dtype) != "float":
        yield f"type={dtype}"
    yield f"x={_spell_extents(draft, step.inputs[0])}"
    places = {"filter": 1, "depth_filter": 3} if step.kernel == "conv_depthwise" else {"filter": 1}
    for name, place in places.items():
        yield f"{name}={_spell_extents(draft, step.inputs[place])}"
    yield f"y={_spell_extents(draft, step.outputs[0])}"
    for name, setting in sorted(step.attributes.items()):
        if name not in _EPILOGUE and name != "depth_kernel":
            yield f"{name}={_spell_setting(setting)}"


def _spell_extents(draft: Draft, name: str) -> str:
    shape = draft.buffers[name].shape
    return "?" if shape is None else "x".join(map(_spell_extent, shape))


def _spell_extent(extent: Size) -> str:
    return str(extent) if isinstance(extent, int) else "?"


def _spell_setting(setting: Setting) -> str:
    if isinstance(setting, list):
        return ",".join(map(_spell_item, setting))
    return str(setting)


def _spell_item(item: Setting) -> str:
    return str(item) if isinstance(item, int) else "?"
