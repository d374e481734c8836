"""Fourth stage of native lowering: joins and cuts of images without copies.

The parts of a Concat are written where the joined images lie, by the steps that compute them, and what a Slice or a
Split gives is read where it lies: both are views (`plan.stripes`).  A part that cannot lie there is copied, as before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from autofusion.lowering.channel_maps import count_channels, find_channels
from autofusion.lowering.pixels import read_dims
from autofusion.lowering.records import Draft
from autofusion.ops.strided import whole
from autofusion.plan import FLOATING, Buffer, Setting, Step

READERS: Mapping[str, tuple[int, ...]] = {
    "conv": (0, 3),
    "conv_depthwise": (0,),
    "conv_pool": (0, 3),
    "conv_transpose": (0,),
    "pool": (0,),
    "affine": (0,),
    "unary": (0,),
    "binary": (0, 1),
    "pointwise": tuple(range(10)),
    "resize": (0,),
    "relayout": (0,),
    "softmax": (0,),
}
"""By kernel the operands that may be views of wider images."""

WRITERS = frozenset(READERS)
"""Kernels whose result may be a view."""

BESIDE = frozenset({"conv", "pool", "affine", "unary", "binary", "pointwise"})
"""Kernels whose operands and result may be views of one buffer."""

WIDE_RANK = 4
"""The largest rank of images that a program walks with gaps between the pixels."""


def share_images(draft: Draft) -> Draft:
    """The draft with views in the place of what Concat, Slice and Split would copy."""
    sharer = _Sharer(draft)
    for index in reversed(range(len(draft.steps))):
        if draft.steps[index].kernel == "concat":
            sharer.join(index)
    for index in range(len(draft.steps)):
        if draft.steps[index].kernel == "strided":
            sharer.cut(index)
    return sharer.finish()


@dataclass(frozen=True)
class _Home:
    """Where images lie: pixel `row` and channel `first` of buffer `root`."""

    root: str
    row: int = 0
    first: int = 0

    def at(self, row: int, first: int) -> _Home:
        return _Home(self.root, self.row + row, self.first + first)


class _Sharer:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._buffers = dict(draft.buffers)
        self._homes: dict[str, _Home] = {}
        self._copies: dict[int, list[Step]] = defaultdict(list)
        self._gone: set[int] = set()
        self._writer = {name: index for index, step in enumerate(draft.steps) for name in step.outputs if name}
        self._readers: dict[str, list[int]] = defaultdict(list)
        self._aliases: dict[str, list[str]] = defaultdict(list)
        for index, step in enumerate(draft.steps):
            for name in dict.fromkeys(filter(None, step.inputs)):
                self._readers[name].append(index)
        for name, buffer in draft.buffers.items():
            if buffer.alias is not None:
                self._aliases[buffer.alias].append(name)

    def join(self, index: int) -> None:
        """Put the parts of a Concat where its result lies."""
        step = self._draft.steps[index]
        axis, result = step.attributes["axis"], step.outputs[0]
        parts = self._find_parts(index)
        if not self._is_joint(step, parts):
            return
        offsets = self._measure(parts, axis == 1)
        if result not in self._homes and self._is_in_place(result, parts, offsets):
            self._settle(result, self._home(parts[0]))
            self._gone.add(index)
            return
        homes = [self._home(result).at(*offset) for offset in offsets]
        left: list[tuple[str, _Home]] = []
        for name, home in zip(parts, homes, strict=True):
            if self._can_move(name, index, parts):
                self._settle(name, home)
            else:
                left.append((name, home))
        if len(left) == len(parts) and result not in self._homes:
            return
        for name, home in left:
            self._copy(index, name, home)
        self._gone.add(index)

    def cut(self, index: int) -> None:
        """Read what a Slice or a part of a Split gives where it lies."""
        step = self._draft.steps[index]
        source, result = step.inputs[0], step.outputs[0]
        buffers = self._buffers[source], self._buffers[result]
        if result in self._homes or not self._is_image(source) or not self._is_free(result):
            return
        channels = find_channels(step, *buffers)
        if channels is None or any(channels != range(channels[0], channels[0] + len(channels))):
            return
        home = self._home(source).at(0, int(channels[0]))
        if not self._suits_readers(result, home.root):
            return
        self._settle(result, home)
        self._gone.add(index)

    def finish(self) -> Draft:
        """The draft on views, less the steps and buffers that nothing needs."""
        for name, home in self._homes.items():
            root, buffer = self._buffers[home.root], self._buffers[name]
            pitch = root.pitch or count_channels(root)
            offset = home.row * pitch + home.first
            self._buffers[name] = buffer._replace(alias=home.root, pitch=pitch, offset=offset)
        steps: list[Step] = []
        for index, step in enumerate(self._draft.steps):
            steps += self._copies[index]
            if index not in self._gone:
                steps.append(step)
        return self._prune(steps)

    def _prune(self, steps: Sequence[Step]) -> Draft:
        """The draft of those steps, less joins that nothing reads any more."""
        kept: list[Step] = []
        used = {*self._draft.inputs, *self._draft.outputs}
        for step in reversed(steps):
            if step.kernel == "concat" and used.isdisjoint(step.outputs):
                continue
            kept.append(step)
            for name in filter(None, (*step.inputs, *step.outputs)):
                used |= {name, self._buffers[name].alias or name}
        buffers = {name: buffer for name, buffer in self._buffers.items() if name in used}
        return replace(self._draft, buffers=buffers, steps=tuple(kept[::-1]))

    def _find_parts(self, index: int) -> list[str]:
        """The operands of a Concat, those that are joined along the same axis taken apart."""
        step = self._draft.steps[index]
        parts: list[str] = []
        for name in step.inputs:
            inner = self._writer.get(name)
            maker = self._draft.steps[inner] if inner is not None else None
            nested = maker is not None and maker.kernel == "concat" and maker.attributes == step.attributes
            parts += self._find_parts(inner) if nested and inner is not None else [self._owner(name)]
        return parts

    def _owner(self, name: str) -> str:
        """The buffer whose bytes `name` shares, where both are images of as many channels; else `name`."""
        buffer = self._buffers[name]
        owner = self._buffers[buffer.alias or name]
        is_alike = owner.layout == buffer.layout == "nhwc" and (owner.shape or ())[:2] == (buffer.shape or ())[:2]
        return owner.name if is_alike else name

    def _is_joint(self, step: Step, parts: Sequence[str]) -> bool:
        """True where images are joined into an inner buffer, channel by channel or, of one image, pixel by pixel."""
        result = step.outputs[0]
        if not all(self._is_image(name) for name in (*parts, result)) or self._buffers[result].alias:
            return False
        shape, axis = self._buffers[result].shape or (), step.attributes["axis"]
        counts = [extent for name in (*parts, result) for extent in self._pixels(name)]
        return axis == 1 or (axis == 2 and shape[:1] == (1,) and all(isinstance(extent, int) for extent in counts))

    def _is_image(self, name: str) -> bool:
        buffer = self._buffers[name]
        return buffer.layout == "nhwc" and buffer.dtype in FLOATING and count_channels(buffer) > 0

    def _pixels(self, name: str) -> tuple[int | str, ...]:
        shape = self._buffers[name].shape or ()
        return (*shape[:1], *shape[2:])

    def _measure(self, parts: Sequence[str], are_channels: bool) -> list[tuple[int, int]]:
        """Pixel and channel of the joined images at which each part begins."""
        offsets: list[tuple[int, int]] = []
        place = 0
        for name in parts:
            offsets.append((0, place) if are_channels else (place, 0))
            shape = self._buffers[name].shape or ()
            place += prod(int(str(extent)) for extent in (shape[1:2] if are_channels else shape[2:]))
        return offsets

    def _home(self, name: str) -> _Home:
        return self._homes.get(name) or _Home(name)

    def _settle(self, name: str, home: _Home) -> None:
        """Let a buffer, and what shares its bytes, lie at `home`."""
        for shared in (name, *self._aliases[name]):
            self._homes[shared] = home

    def _copy(self, index: int, name: str, home: _Home) -> None:
        """Copy `name` to `home` ahead of step `index`."""
        step, buffer = self._draft.steps[index], self._buffers[name]
        view = f"{name}:part"
        while view in self._buffers:
            view += "_"
        self._buffers[view] = Buffer(view, buffer.dtype, buffer.shape, layout="nhwc")
        self._homes[view] = home
        all_elements = whole(read_dims(buffer.shape or ()))
        extents: list[Setting] = list(buffer.shape or ())
        strides: list[Setting] = [stride if isinstance(stride, int) else str(stride) for stride in all_elements.strides]
        settings: dict[str, Setting] = {"extents": extents, "view": [0, *strides]}
        self._copies[index].append(Step("strided", step.node, step.op, (name,), (view,), settings, step.origin))

    def _is_in_place(self, result: str, parts: Sequence[str], offsets: Sequence[tuple[int, int]]) -> bool:
        """True where all parts lie side by side already, and who reads them joined can read them there."""
        if any(name not in self._homes for name in parts):
            return False
        first = self._homes[parts[0]]
        homes = [first.at(*offset) for offset in offsets]
        if any(self._homes[name] != home for name, home in zip(parts, homes, strict=True)):
            return False
        return self._is_free(result) and self._suits_readers(result, first.root)

    def _can_move(self, name: str, index: int, parts: Sequence[str]) -> bool:
        """True where a part may lie among others, which step `index` joins: once, for who writes and who reads it."""
        root = self._home(self._draft.steps[index].outputs[0]).root
        maker = self._draft.steps[self._writer[name]] if name in self._writer else None
        if name in self._homes or parts.count(name) > 1 or maker is None or not self._is_free(name):
            return False
        if maker.outputs[0] != name:
            return False
        if maker.kernel == "concat":
            writes = self._is_joint(maker, self._find_parts(self._writer[name]))
        elif maker.kernel == "strided":
            writes = find_channels(maker, self._buffers[maker.inputs[0]], self._buffers[name]) is not None
        else:
            writes = maker.kernel in WRITERS and self._walks(maker)
        is_read = any(self._home(operand).root == root for operand in maker.inputs if operand)
        if not writes or (is_read and maker.kernel not in BESIDE):
            return False
        return self._suits_readers(name, root, index)

    def _is_free(self, name: str) -> bool:
        """True for an inner buffer whose bytes only images of as many channels share."""
        buffer = self._buffers[name]
        if buffer.role != "inner" or buffer.alias is not None or not self._is_image(name):
            return False
        shared = [self._buffers[alias] for alias in self._aliases[name]]
        shape = buffer.shape or ()
        return all(other.layout == "nhwc" and (other.shape or ())[:2] == shape[:2] for other in shared)

    def _suits_readers(self, name: str, root: str, joint: int | None = None) -> bool:
        """True where all that read a buffer, or what shares its bytes, can read it from among others in `root`.

        Step `joint` has not to.
        """
        return all(
            index == joint or self._can_read(self._draft.steps[index], shared, root)
            for shared in (name, *self._aliases[name])
            for index in self._readers[shared]
        )

    def _can_read(self, step: Step, name: str, root: str) -> bool:
        if step.kernel == "concat":
            return step.attributes["axis"] == 1 and all(map(self._is_image, step.inputs))
        result = step.outputs[0]
        if step.kernel == "strided":
            channels = find_channels(step, self._buffers[name], self._buffers[result])
            return channels is not None and self._home(result).root != root
        places = [place for place, operand in enumerate(step.inputs) if operand == name]
        allowed = READERS.get(step.kernel, ())
        if not all(place in allowed for place in places) or not self._walks(step):
            return False
        return step.kernel in BESIDE or self._home(result).root != root

    def _walks(self, step: Step) -> bool:
        """False for a program that would have to walk more axes than it can."""
        shape = self._buffers[step.outputs[0]].shape or ()
        return step.kernel != "pointwise" or (len(shape) <= WIDE_RANK and not step.attributes.get("reduce"))
