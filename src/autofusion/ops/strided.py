"""Views: tensors that are the elements of another one, read through an offset and one stride for each axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from autofusion.ir import Dim, Node, Shape
from autofusion.ir.dims import floor_divide, modulo, multiply, product
from autofusion.ops.bounds import greater, is_at_least
from autofusion.ops.operands import content_of, integer, integers, numbers_of
from autofusion.ops.table import Known


@dataclass(frozen=True)
class Strided:
    """Element `[i, j, ...]` is element `offset + i * strides[0] + j * strides[1] + ...` of a root, counted row-major.

    Strides are never negative; 0 repeats.  An axis of extent 1 may have any stride.
    """

    shape: Shape
    strides: tuple[Dim, ...]
    offset: Dim = 0

    @property
    def is_packed(self) -> bool:
        """True where the elements certainly follow one another, row-major, from `offset` on."""
        return _join(list(zip(self.shape, self.strides, strict=True))) == 1


def whole(shape: Shape) -> Strided:
    """All elements of a root of `shape`, row-major."""
    strides: list[Dim] = []
    step: Dim = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step = multiply(step, extent)
    return Strided(shape, tuple(strides))


def apply_view(node: Node, view: Strided, place: int, scope: Known) -> Strided | None:
    """Result `place` of `node`, whose first operand is `view`, over the same root; None where it is no such view.

    `node` is in canonical form: Identity, Reshape, Flatten, Squeeze, Unsqueeze, Transpose, Slice with positive steps,
    Split, Gather by one constant index, Expand.  Extents are those that `scope` knows of its results.
    """
    rule = _RULES.get(node.op)
    if rule is None or node.domain or node.opaque:
        return None
    return rule(node, view, place, scope)


def undo_view(node: Node, view: Strided, scope: Known) -> Strided | None:
    """The first operand of `node` through the elements of the root of `view`, its result; None where they are not one.

    Transpose, and what only changes the shape: operators that leave no element out.
    """
    shape = scope.value(node.input(0)).shape
    if shape is None or node.domain or node.opaque:
        return None
    if node.op == "Transpose":
        order = integers(node, "perm") or ()
        places = [order.index(axis) for axis in range(len(order))]
        return permute(view, places) if len(order) == len(view.shape) else None
    return reshape(view, shape) if node.op in RESHAPING else None


def permute(view: Strided, order: Sequence[int]) -> Strided:
    """`view` with axis `order[i]` in place i."""
    shape = tuple(view.shape[axis] for axis in order)
    return Strided(shape, tuple(view.strides[axis] for axis in order), view.offset)


def reshape(view: Strided, shape: Shape) -> Strided | None:
    """`view` with `shape`, row-major; None where its strides do not allow that, or the numbers of elements may differ.

    Axes are split anywhere and merged where one runs on where the next ends.  A run of axes of `view` that holds as
    many elements as a run of `shape` is matched with it, and the next run begins.
    """
    if product(view.shape) != product(shape):
        return None
    if product(shape) == 0:
        return Strided(shape, (0,) * len(shape), view.offset)
    sources = [(extent, stride) for extent, stride in zip(view.shape, view.strides, strict=True) if extent != 1]
    targets = [axis for axis, extent in enumerate(shape) if extent != 1]
    strides: list[Dim] = [0] * len(shape)
    while sources or targets:
        run = _take_run(sources, [shape[axis] for axis in targets])
        if run is None:
            return None
        taken, count = run
        step = _join(sources[:taken])
        if step is None:
            return None
        for axis in reversed(targets[:count]):
            strides[axis] = step
            step = multiply(step, shape[axis])
        del sources[:taken], targets[:count]
    return Strided(shape, tuple(strides), view.offset)


def _take_run(sources: list[tuple[Dim, Dim]], targets: list[Dim]) -> tuple[int, int] | None:
    """How many leading sources hold as many elements as how many leading targets, the fewest that can be told."""
    if not sources or not targets:
        return None
    taken, count = 1, 1
    left, right = sources[0][0], targets[0]
    while left != right:
        if (_divides(left, right) or not _divides(right, left)) and taken < len(sources) and not _exceeds(left, right):
            left = multiply(left, sources[taken][0])
            taken += 1
        elif count < len(targets):
            right = multiply(right, targets[count])
            count += 1
        elif taken < len(sources):
            left = multiply(left, sources[taken][0])
            taken += 1
        else:
            return None
    return taken, count


def _exceeds(left: Dim, right: Dim) -> bool:
    return isinstance(left, int) and isinstance(right, int) and left > right


def _divides(divisor: Dim, number: Dim) -> bool:
    return modulo(number, divisor) == 0


def _join(axes: list[tuple[Dim, Dim]]) -> Dim | None:
    """The stride of the one axis that `axes` are together, None where they are none."""
    step: Dim | None = None
    extent: Dim = 1
    for size, stride in reversed(axes):
        if size == 1:
            continue
        if step is None:
            step = stride
        elif stride != multiply(step, extent):
            return None
        extent = multiply(extent, size)
    return 1 if step is None else step


def _reshape_node(node: Node, view: Strided, place: int, scope: Known) -> Strided | None:
    shape = scope.value(node.outputs[place]).shape
    return None if shape is None else reshape(view, shape)


def _transpose_node(node: Node, view: Strided, place: int, scope: Known) -> Strided | None:
    order = integers(node, "perm")
    return permute(view, order) if order is not None and len(order) == len(view.shape) else None


def _slice_node(node: Node, view: Strided, place: int, scope: Known) -> Strided | None:
    shape = scope.value(node.outputs[place]).shape
    starts, axes = content_of(node.input(1), scope), numbers_of(node.input(3), scope)
    steps = numbers_of(node.input(4), scope)
    if shape is None or len(shape) != len(view.shape) or starts is None or axes is None or steps is None:
        return None
    for axis, start, step in zip(axes, starts, steps, strict=True):
        first = _count_from_front(start, view.shape[axis])
        if first is None or step < 1:
            return None
        view = _cut(view, axis, first, shape[axis], step)
    return view


def _split_node(node: Node, view: Strided, place: int, scope: Known) -> Strided | None:
    axis, shape = integer(node, "axis"), scope.value(node.outputs[place]).shape
    sizes = content_of(node.input(1), scope) if node.input(1) else None
    if node.input(1) and sizes is None:
        return None
    count = len(node.outputs)
    part = floor_divide(view.shape[axis] + (count - 1), count)
    start = multiply(part, place) if sizes is None else sum(sizes[:place])
    return None if shape is None else _cut(view, axis, start, shape[axis])


def _gather_node(node: Node, view: Strided, place: int, scope: Known) -> Strided | None:
    axis, rank = integer(node, "axis"), scope.value(node.input(1)).rank
    index = numbers_of(node.input(1), scope)
    if index is None or len(index) != 1 or rank is None:
        return None
    first = _count_from_front(index[0], view.shape[axis])
    if first is None:
        return None
    one = _cut(view, axis, first, 1)
    if rank == 1:
        return one
    kept = [other for other in range(len(view.shape)) if other != axis]
    return permute(one, kept)


def _expand_node(node: Node, view: Strided, place: int, scope: Known) -> Strided | None:
    shape = scope.value(node.outputs[place]).shape
    if shape is None:
        return None
    added = len(shape) - len(view.shape)
    strides: list[Dim] = [0] * added
    for extent, wanted, stride in zip(view.shape, shape[added:], view.strides, strict=True):
        if extent not in (1, wanted):
            return None
        strides.append(stride if extent == wanted else 0)
    return Strided(shape, tuple(strides), view.offset)


def _cut(view: Strided, axis: int, start: Dim, extent: Dim, step: int = 1) -> Strided:
    """`extent` places of `axis` from `start` on, every `step`-th."""
    stride = view.strides[axis]
    return replace(
        view,
        shape=(*view.shape[:axis], extent, *view.shape[axis + 1 :]),
        strides=(*view.strides[:axis], multiply(stride, step), *view.strides[axis + 1 :]),
        offset=view.offset + multiply(start, stride),
    )


def _count_from_front(place: Dim, extent: Dim) -> Dim | None:
    """A start as it counts from the front, None where it may or may not count from the end."""
    if isinstance(place, int) and place < 0:
        return greater(extent + place, 0)
    return place if is_at_least(place, 0) else None


RESHAPING = frozenset({"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"})
"""Operators whose result has the elements of the first operand in the same order."""

_Rule = Callable[[Node, Strided, int, Known], Strided | None]

_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys(RESHAPING, _reshape_node),
    "Transpose": _transpose_node,
    "Slice": _slice_node,
    "Split": _split_node,
    "Gather": _gather_node,
    "Expand": _expand_node,
}
VIEWING = frozenset(_RULES)
"""Operators that `apply_view` knows."""
