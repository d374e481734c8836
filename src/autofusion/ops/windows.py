"""Sliding windows of convolution and pooling: attributes, extents, and numpy views of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autofusion.ir import Dim, Node, Shape
from autofusion.ir.dims import floor_divide, minimum
from autofusion.ops.conversion import with_attributes
from autofusion.ops.faults import BAD_ATTRIBUTE, SHAPES_CONTRADICT, fault
from autofusion.ops.operands import integers, text


@dataclass(frozen=True)
class Windows:
    """Geometry over the spatial axes; `pads` holds the begins, then the ends."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    ceil_mode: bool = False

    @property
    def spans(self) -> tuple[int, ...]:
        """Cells from the first to the last place of a window."""
        return tuple((size - 1) * step + 1 for size, step in zip(self.kernel, self.dilations, strict=True))

    def padding(self, axis: int) -> tuple[int, int]:
        """Begin and end pad of spatial axis `axis`."""
        return self.pads[axis], self.pads[axis + len(self.kernel)]


def read_windows(node: Node, kernel: Sequence[int], *, ceil_mode: bool = False) -> Windows:
    """The geometry that the attributes of `node` give for a window of extents `kernel`; pads must be explicit.

    Raises ModelError where an attribute has the wrong length or an impossible element.
    """
    rank = len(kernel)
    ones = (1,) * rank
    windows = Windows(
        kernel=tuple(kernel),
        strides=integers(node, "strides") or ones,
        dilations=integers(node, "dilations") or ones,
        pads=integers(node, "pads") or (0,) * (2 * rank),
        ceil_mode=ceil_mode,
    )
    lengths = {"strides": rank, "dilations": rank, "pads": 2 * rank}
    for name, length in lengths.items():
        given: tuple[int, ...] = getattr(windows, name)
        if len(given) != length:
            raise fault(BAD_ATTRIBUTE, node, f"{name} {list(given)} must have {length} elements")
    if min((*windows.kernel, *windows.strides, *windows.dilations), default=1) < 1:
        raise fault(BAD_ATTRIBUTE, node, "kernel extents, strides and dilations must be at least 1")
    return windows


def slide(node: Node, image: Shape, windows: Windows) -> Shape:
    """Number of windows along each spatial axis of `image`; raises ModelError where a window does not fit."""
    return tuple(_count_windows(node, extent, windows, axis) for axis, extent in enumerate(image))


def _count_windows(node: Node, extent: Dim, windows: Windows, axis: int) -> Dim:
    begin, end = windows.padding(axis)
    stride, span = windows.strides[axis], windows.spans[axis]
    room = extent + (begin + end - span)
    if isinstance(room, int) and room < 0:
        problem = f"a window of {span} cells does not fit into {extent} cells padded by {begin} and {end}"
        raise fault(SHAPES_CONTRADICT, node, problem)
    if not windows.ceil_mode:
        return floor_divide(room, stride) + 1
    reaching = floor_divide(room + (stride - 1), stride) + 1
    # A window may not begin beyond the image and its leading pad; it cannot where the trailing pad is small.
    if end + stride <= span:
        return reaching
    return minimum(reaching, floor_divide(extent + (begin + stride - 1), stride))


def make_pads_explicit(node: Node, image: Shape | None, windows: Windows) -> Node:
    """`node` with `auto_pad` NOTSET and the `pads` it stands for, where they do not depend on a symbol."""
    mode = text(node, "auto_pad", "NOTSET")
    rank = len(windows.kernel)
    if mode == "NOTSET":
        return with_attributes(node, pads=windows.pads)
    explicit = with_attributes(node, auto_pad="NOTSET")
    if mode == "VALID":
        return with_attributes(explicit, pads=(0,) * (2 * rank))
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise fault(BAD_ATTRIBUTE, node, f"auto_pad {mode!r} is unknown")
    totals: list[int] = []
    for axis in range(rank):
        stride, span = windows.strides[axis], windows.spans[axis]
        if stride == 1:
            totals.append(span - 1)
            continue
        extent = image[axis] if image is not None else None
        if not isinstance(extent, int):
            return node
        totals.append(max((-(-extent // stride) - 1) * stride + span - extent, 0))
    small = [total // 2 for total in totals]
    great = [total - half for total, half in zip(totals, small, strict=True)]
    begins, ends = (small, great) if mode == "SAME_UPPER" else (great, small)
    # The number of windows is rounded up by the mode itself.
    rounded = with_attributes(explicit, ceil_mode=0) if windows.ceil_mode else explicit
    return with_attributes(rounded, pads=(*begins, *ends))


def extract_windows(x: np.ndarray, windows: Windows, counts: Sequence[int], fill: float | int) -> np.ndarray:
    """View [N, C, *counts, *kernel] of x [N, C, *spatial] padded with `fill`, as far as the last window reaches."""
    rank = len(windows.kernel)
    if 0 in counts:
        return np.empty((*x.shape[:2], *counts, *windows.kernel), x.dtype)
    widths = [(0, 0), (0, 0)]
    for axis in range(rank):
        begin, end = windows.padding(axis)
        reach = (counts[axis] - 1) * windows.strides[axis] + windows.spans[axis]
        widths.append((begin, max(end, reach - begin - x.shape[2 + axis])))
    padded = np.pad(x, widths, constant_values=fill) if any(map(any, widths)) else x
    views = np.lib.stride_tricks.sliding_window_view(padded, windows.spans, axis=tuple(range(2, 2 + rank)))
    places = [slice(0, (count - 1) * stride + 1, stride) for count, stride in zip(counts, windows.strides, strict=True)]
    cells = [slice(None, None, step) for step in windows.dilations]
    return views[(slice(None), slice(None), *places, *cells)]


def require_positive(node: Node, shape: Shape) -> None:
    """Raise ModelError where an extent of the result is a negative number."""
    if any(isinstance(extent, int) and extent < 0 for extent in shape):
        raise fault(SHAPES_CONTRADICT, node, f"the result would have extents {[str(extent) for extent in shape]}")
