"""Slices that take everything, and Slices in a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autofusion.ir import Dim, Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops.operands import content_of, numbers_of
from autofusion.passes.redirect import hand_on, is_inner
from autofusion.passes.sweep import sweep

FAR = 2**31 - 1
"""Exporters write this, or the same of 64 bits, for "to the end"."""


@dataclass(frozen=True)
class Cut:
    """What a Slice takes of one axis, as it is written."""

    start: Dim
    end: Dim
    step: int

    def is_whole(self, extent: Dim) -> bool:
        """True where every element of an axis of `extent` elements is taken, in order."""
        if isinstance(self.start, int) and isinstance(self.end, int) and isinstance(extent, int):
            return slice(self.start, self.end, self.step).indices(extent) == (0, extent, 1)
        ends = self.end == extent or (isinstance(self.end, int) and self.end >= FAR)
        return self.step == 1 and self.start == 0 and ends


def merge_slices(graph: Graph) -> int:
    """Take out Slices that take everything; let one Slice do what two in a row do.  Returns the Slices changed.

    On an axis that both cut, the steps must be positive, and the bounds numbers that count from the front
    or belong to a known extent.  A Slice that others read stays.
    """
    return sweep(graph, _merge)


def read_cuts(node: Node, scope: GraphScope) -> dict[int, Cut] | None:
    """What a Slice takes, by axis; None where its operands, or the rank to count negative axes in, are not known."""
    starts, ends = content_of(node.input(1), scope), content_of(node.input(2), scope)
    if starts is None or ends is None or len(starts) != len(ends):
        return None
    axes = numbers_of(node.input(3), scope) if node.input(3) else tuple(range(len(starts)))
    steps = numbers_of(node.input(4), scope) if node.input(4) else (1,) * len(starts)
    rank = scope.value(node.inputs[0]).rank
    if rank is None or axes is None or steps is None or not len(starts) == len(axes) == len(steps):
        return None
    places = [axis % rank for axis in axes if -rank <= axis < rank]
    if len(set(places)) != len(starts):
        return None
    rows = zip(places, starts, ends, steps, strict=True)
    return {axis: Cut(start, end, step) for axis, start, end, step in rows}


def _merge(node: Node, scope: GraphScope) -> int:
    cuts = read_cuts(node, scope) if node.op == "Slice" else None
    source = node.inputs[0] if node.inputs else ""
    if cuts is None:
        return 0
    shape = scope.value(source).shape or ()
    if all(cut.is_whole(shape[axis]) for axis, cut in cuts.items()):
        return hand_on(scope, node, source)
    first = scope.graph.producer(source)
    if first is None or first.op != "Slice" or first.domain or first.opaque or not is_inner(scope.graph, source):
        return 0
    return _join(first, node, cuts, scope)


def _join(first: Node, second: Node, cuts: dict[int, Cut], scope: GraphScope) -> int:
    shape, joined = scope.value(first.inputs[0]).shape, read_cuts(first, scope)
    if shape is None or joined is None:
        return 0
    for axis, cut in cuts.items():
        both = compose(joined[axis], cut, shape[axis]) if axis in joined else cut
        if both is None:
            return 0
        joined[axis] = both
    rows = [(cut.start, cut.end, axis, cut.step) for axis, cut in sorted(joined.items())]
    if not all(isinstance(number, int) for row in rows for number in row):
        return 0
    stems = ("starts", "ends", "axes", "steps")
    names = [
        scope.define_constant(f"{second.name}_{stem}", np.array(column, np.int64))
        for stem, column in zip(stems, zip(*rows, strict=True), strict=True)
    ]
    origin = tuple(dict.fromkeys((*first.origin, *second.origin)))
    scope.graph.update(replace(second, inputs=(first.inputs[0], *names), origin=origin))
    return 1


def compose(first: Cut, second: Cut, extent: Dim) -> Cut | None:
    """What `second` takes of what `first` takes of an axis of `extent` elements; None where that is not certain."""
    numbers = [bound for bound in (first.start, first.end, second.start, second.end) if isinstance(bound, int)]
    if len(numbers) != 4 or first.step < 1 or second.step < 1:
        return None
    start, end, begin, stop = numbers
    if isinstance(extent, int):
        taken = range(*slice(start, end, first.step).indices(extent))[begin : stop : second.step]
        return Cut(taken.start, taken.stop, taken.step) if len(taken) else Cut(0, 0, 1)
    if first.step != 1 or second.step != 1 or min(numbers) < 0:
        return None
    last = end if stop >= FAR else min(end, start + stop)
    return Cut(start + begin, last, 1)
