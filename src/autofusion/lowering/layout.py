"""Second stage of native lowering: where activations are stored channel by channel, innermost.

Convolutions, pools and affine maps take and give `nhwc`; functions of one or two tensors follow
their operands; everything else is row-major.  A value gets a second storage only where a reader
needs it, and none where both layouts have the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autofusion.lowering.layout_data import choose_data_layouts, is_stored_whole, is_turned_whole
from autofusion.lowering.records import Draft
from autofusion.plan import FLOATING, KERNELS, Buffer, Layout, Size, Step

RANKS = (3, 4, 5)
"""Ranks that have a layout `nhwc`."""


def assign_layouts(draft: Draft) -> Draft:
    """The draft with a layout for every buffer, and `relayout` steps at the borders between layouts."""
    assigner = _Assigner(draft)
    for step in draft.steps:
        assigner.place(step)
    return assigner.finish()


def has_same_bytes(shape: tuple[Size, ...]) -> bool:
    """True where both layouts store `shape` alike: one channel, or one pixel."""
    return len(shape) not in RANKS or shape[1] == 1 or all(extent == 1 for extent in shape[2:])


@dataclass(frozen=True)
class _Wanted:
    """Layouts that a step needs: of each operand, and of its results."""

    operands: tuple[Layout, ...]
    result: Layout


class _Assigner:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._buffers: dict[str, Buffer] = {n: b for n, b in draft.buffers.items() if b.alias is None}
        self._constants: dict[str, np.ndarray] = dict(draft.constants)
        self._steps: list[Step] = []
        self._storages: dict[tuple[str, Layout], str] = {(name, "plain"): name for name in self._buffers}

    def place(self, step: Step) -> None:
        """Append `step` on operands in the layouts it needs."""
        wanted = self._choose(step)
        if step.kernel == "strided" and self._is_stored_whole(step, wanted):
            self._share(step)
            return
        if step.kernel == "strided" and self._is_turned_whole(step, wanted):
            self._turn(step)
            return
        if step.kernel == "copy" and self._is_plain_copy_of_nhwc(step):
            self._steps.append(step._replace(kernel="relayout", inputs=(self._storages[step.inputs[0], "nhwc"],)))
            return
        inputs = tuple(
            self._fetch(name, layout, step) if name else ""
            for name, layout in zip(step.inputs, wanted.operands, strict=True)
        )
        if wanted.result == "plain":
            self._steps.append(step._replace(inputs=inputs))
            return
        result = step.outputs[0]
        buffer = self._buffers[result]
        if buffer.role == "inner":
            stored = result
            self._buffers[result] = buffer._replace(layout="nhwc")
            del self._storages[result, "plain"]
        else:
            stored = self._add(buffer, "nhwc")
        self._storages[result, "nhwc"] = stored
        self._steps.append(step._replace(inputs=inputs, outputs=(stored, *step.outputs[1:])))
        if stored != result:
            self._steps.append(Step("relayout", step.node, step.op, (stored,), (result,), {}, step.origin))

    def finish(self) -> Draft:
        """The draft so far, less the buffers that no step names."""
        used = {*self._draft.inputs, *self._draft.outputs}
        for step in self._steps:
            used.update(name for name in (*step.inputs, *step.outputs) if name)
        used |= {alias for name in used if (alias := self._buffers[name].alias)}
        buffers = {name: buffer for name, buffer in self._buffers.items() if name in used}
        constants = {name: array for name, array in self._constants.items() if name in used}
        return replace(self._draft, buffers=buffers, constants=constants, steps=tuple(self._steps))

    def _is_stored_whole(self, step: Step, wanted: _Wanted) -> bool:
        """True where the result of a view is an inner value that has the bytes of its operand."""
        shape = self._draft.buffers[step.inputs[0]].shape
        if self._buffers[step.outputs[0]].role != "inner" or wanted != _Wanted(("nhwc",), "plain") or shape is None:
            return False
        return is_stored_whole(step, shape)

    def _share(self, step: Step) -> None:
        """The result of `step` has the bytes of its operand as `nhwc`."""
        result = step.outputs[0]
        source = self._fetch(step.inputs[0], "nhwc", step)
        self._buffers[result] = self._buffers[result]._replace(alias=self._root(source))

    def _is_turned_whole(self, step: Step, wanted: _Wanted) -> bool:
        """True where the result of a view is an inner value that has, as `nhwc`, the bytes of its row-major operand."""
        source, result = self._draft.buffers[step.inputs[0]], self._buffers[step.outputs[0]]
        if result.role != "inner" or result.dtype not in FLOATING or wanted != _Wanted(("plain",), "plain"):
            return False
        return len(result.shape or ()) in RANKS and is_turned_whole(step, source.shape or (), result.shape or ())

    def _turn(self, step: Step) -> None:
        """The result of `step` is stored as `nhwc` alone, in the bytes of its operand."""
        result = step.outputs[0]
        source = self._fetch(step.inputs[0], "plain", step)
        self._buffers[result] = self._buffers[result]._replace(layout="nhwc", alias=self._root(source))
        self._storages[result, "nhwc"] = result
        del self._storages[result, "plain"]

    def _choose(self, step: Step) -> _Wanted:
        found = choose_data_layouts(step, self._draft.buffers, self._is_nhwc)
        if found is not None:
            return _Wanted(*found)
        layouts = KERNELS[step.kernel].layouts
        plain: tuple[Layout, ...] = ("plain",) * len(step.inputs)
        if step.kernel in ("unary", "binary", "pointwise"):
            shape, dtype = self._buffers[step.outputs[0]].shape, self._buffers[step.outputs[0]].dtype
            given = (self._draft.buffers[name] for name in step.inputs if name)
            alike = [buffer.name for buffer in given if buffer.shape == shape and buffer.dtype == dtype]
            if not any(self._is_nhwc(name) for name in alike):
                return _Wanted(plain, "plain")
            return _Wanted(tuple("nhwc" if name in alike else "plain" for name in step.inputs), "nhwc")
        if step.kernel == "group_norm" and self._is_nhwc(step.inputs[0]):
            return _Wanted(("nhwc", *plain[1:]), "nhwc")
        if layouts != ("nhwc",):
            return _Wanted(plain, "plain")
        residual = step.inputs[3:4]
        operands: list[Layout] = ["nhwc", *plain[1:3], *("nhwc" if name else "plain" for name in residual), *plain[4:]]
        return _Wanted(tuple(operands[: len(step.inputs)]), "nhwc")

    def _is_nhwc(self, name: str) -> bool:
        buffer = self._draft.buffers[name]
        shape = buffer.shape
        if buffer.alias is not None and (name, "plain") not in self._storages:
            self._view_pixels(buffer)
        return (name, "plain") not in self._storages and (name, "nhwc") in self._storages and len(shape or ()) in RANKS

    def _view_pixels(self, buffer: Buffer) -> None:
        """Store an alias of an image in `nhwc` like it where only its pixels are counted by other axes."""
        root = self._draft.buffers[buffer.alias or ""]
        shapes = buffer.shape or (), root.shape or ()
        if (buffer.name, "nhwc") in self._storages or not self._is_nhwc(root.name):
            return
        if len(shapes[0]) in RANKS and shapes[0][:2] == shapes[1][:2]:
            stored = self._root(self._storages[root.name, "nhwc"])
            self._storages[buffer.name, "nhwc"] = self._add(buffer, "nhwc", stored)

    def _is_plain_copy_of_nhwc(self, step: Step) -> bool:
        source, target = step.inputs[0], step.outputs[0]
        return self._is_nhwc(source) and self._draft.buffers[source].shape == self._buffers[target].shape

    def _fetch(self, name: str, layout: Layout, step: Step) -> str:
        """The buffer that holds value `name` in `layout`, made by a relayout before `step` where there is none."""
        if (name, layout) in self._storages:
            return self._storages[name, layout]
        buffer = self._draft.buffers[name]
        if layout == "nhwc" and buffer.alias is not None:
            self._view_pixels(buffer)
            if (name, layout) in self._storages:
                return self._storages[name, layout]
        other: Layout = "plain" if layout == "nhwc" else "nhwc"
        if (name, other) not in self._storages:
            self._storages[name, "plain"] = self._alias(buffer, step)
            return self._fetch(name, layout, step)
        source = self._storages[name, other]
        if buffer.role == "constant":
            made = self._add_constant(buffer, layout)
        elif buffer.shape is not None and has_same_bytes(buffer.shape):
            made = self._add(buffer, layout, self._root(source))
        else:
            made = self._add(buffer, layout)
            self._steps.append(Step("relayout", step.node, step.op, (source,), (made,)))
        self._storages[name, layout] = made
        return made

    def _alias(self, buffer: Buffer, step: Step) -> str:
        """A view of another value has the bytes of that value's row-major storage."""
        source = self._fetch(buffer.alias or "", "plain", step)
        self._buffers[buffer.name] = buffer._replace(alias=self._root(source))
        return buffer.name

    def _root(self, name: str) -> str:
        return self._buffers[name].alias or name

    def _add(self, buffer: Buffer, layout: Layout, alias: str | None = None) -> str:
        name = self._fresh(f"{buffer.name}:{layout}")
        self._buffers[name] = Buffer(name, buffer.dtype, buffer.shape, layout=layout, alias=alias)
        return name

    def _add_constant(self, buffer: Buffer, layout: Layout) -> str:
        name = self._fresh(f"{buffer.name}:{layout}")
        self._buffers[name] = buffer._replace(name=name, layout=layout)
        self._constants[name] = np.ascontiguousarray(np.moveaxis(self._constants[buffer.name], 1, -1))
        return name

    def _fresh(self, stem: str) -> str:
        name, number = stem, 0
        while name in self._buffers or name in self._draft.buffers:
            number += 1
            name = f"{stem}_{number}"
        return name
