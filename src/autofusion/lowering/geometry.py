"""Pads of convolutions and pools, made explicit."""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.ir import Node, Shape
from autofusion.lowering.constants import read_integers, read_text


def find_pads(node: Node, x: Shape, y: Shape, kernel: Sequence[int]) -> list[int] | None:
    """Begins, then ends, of the padding; None where it depends on extents that are no numbers.

    SAME_UPPER and SAME_LOWER pad so much that `y` extents result, the odd cell at the end or the
    beginning.  Negative pads, which crop, count as unknown.
    """
    rank = len(kernel)
    automatic = read_text(node, "auto_pad", "NOTSET")
    if automatic == "VALID":
        return [0] * (2 * rank)
    if automatic in ("", "NOTSET"):
        pads = read_integers(node, "pads", [0] * (2 * rank))
        return None if any(pad < 0 for pad in pads) else pads
    strides = read_integers(node, "strides", [1] * rank)
    dilations = read_integers(node, "dilations", [1] * rank)
    begins: list[int] = []
    ends: list[int] = []
    for axis in range(rank):
        before, after = x[2 + axis], y[2 + axis]
        extent = (kernel[axis] - 1) * dilations[axis] + 1
        if strides[axis] == 1:
            total = extent - 1
        elif isinstance(before, int) and isinstance(after, int):
            total = max((after - 1) * strides[axis] + extent - before, 0)
        else:
            return None
        small, large = total // 2, total - total // 2
        begins.append(small if automatic == "SAME_UPPER" else large)
        ends.append(large if automatic == "SAME_UPPER" else small)
    return begins + ends
