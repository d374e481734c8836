"""Integer tensors whose elements grow by the same step along every axis: ranges, and what is counted from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np

from autofusion.ir import Dim, DType, Node, Shape
from autofusion.ir.dims import multiply, product
from autofusion.ir.scope import GraphScope
from autofusion.ops.bounds import is_at_least
from autofusion.ops.operands import content_of

_MOST_ELEMENTS = 1 << 20
_MOST_NODES = 32
_INTEGERS = (DType.INT32, DType.INT64)


@dataclass(frozen=True)
class Affine:
    """Element `[i, j, ...]` is `base + i * steps[0] + j * steps[1] + ...`; axes of extent 1 have step 0."""

    shape: Shape
    base: Dim
    steps: tuple[Dim, ...]

    def scale(self, factor: Dim) -> Affine:
        """Every element times `factor`."""
        return Affine(self.shape, multiply(self.base, factor), tuple(multiply(step, factor) for step in self.steps))

    def counts_up(self) -> bool:
        """True where the elements, in row-major order, are 0, 1, 2 and so on."""
        places = enumerate(zip(self.shape, self.steps, strict=True))
        wanted = (0 if extent == 1 else product(self.shape[axis + 1 :]) for axis, (extent, _) in places)
        return self.base == 0 and self.steps == tuple(wanted)

    def is_at_least(self, least: int) -> bool:
        """True where no element can be smaller than `least`."""
        return is_at_least(self.base, least) and all(is_at_least(step, 0) for step in self.steps)


def read_affine(name: str, scope: GraphScope) -> Affine | None:
    """The value `name` as steps along its axes, None where it is not certain to be such, or computed by many nodes."""
    return _read(name, scope, [_MOST_NODES])


def add_affine(left: Affine, right: Affine) -> Affine | None:
    """Both added, broadcast; None where their extents may differ."""
    rank = max(len(left.shape), len(right.shape))
    shapes = [(1,) * (rank - len(each.shape)) + each.shape for each in (left, right)]
    steps = [(0,) * (rank - len(each.steps)) + each.steps for each in (left, right)]
    extents: list[Dim] = []
    for one, other in zip(*shapes, strict=True):
        if one != other and 1 not in (one, other):
            return None
        extents.append(other if one == 1 else one)
    added = tuple(one + other for one, other in zip(*steps, strict=True))
    return Affine(tuple(extents), left.base + right.base, added)


def affine_of(array: np.ndarray) -> Affine | None:
    """A constant of integers as steps along its axes, None where it is not such."""
    if array.dtype.kind not in "iu" or not 0 < array.size <= _MOST_ELEMENTS:
        return None
    first = (0,) * array.ndim
    base = int(array[first])
    steps: list[Dim] = []
    expected = np.full((1,) * array.ndim, base, np.int64)
    for axis, extent in enumerate(array.shape):
        second = tuple(int(place == axis) for place in range(array.ndim))
        step = int(array[second]) - base if extent > 1 else 0
        steps.append(step)
        along = np.arange(extent, dtype=np.int64) * step
        expected = expected + along.reshape([-1 if place == axis else 1 for place in range(array.ndim)])
    return Affine(array.shape, base, tuple(steps)) if np.array_equal(expected, array) else None


def _read(name: str, scope: GraphScope, left: list[int]) -> Affine | None:
    value = scope.value(name)
    array = scope.constant(name)
    if array is not None:
        return affine_of(array)
    if value.dtype not in _INTEGERS or value.shape is None:
        return None
    content = content_of(name, scope)
    if content is not None and value.rank in (0, 1):
        return _read_content(value.shape, content)
    node = scope.graph.producer(name)
    rule = _RULES.get(node.op) if node is not None and not node.domain and not node.opaque else None
    left[0] -= 1
    if node is None or rule is None or left[0] < 0:
        return None
    return rule(node, scope, left)


def _read_content(shape: Shape, content: Sequence[Dim]) -> Affine | None:
    if not content:
        return None
    if not shape:
        return Affine((), content[0], ())
    step = content[1] - content[0] if len(content) > 1 else 0
    regular = all(after - before == step for before, after in pairwise(content))
    return Affine(shape, content[0], (step,)) if regular else None


def _read_range(node: Node, scope: GraphScope, left: list[int]) -> Affine | None:
    contents = [content_of(name, scope) for name in node.inputs]
    shape = scope.value(node.outputs[0]).shape
    if shape is None or any(content is None or len(content) != 1 for content in contents):
        return None
    (start,), _, (step,) = cast(list[tuple[Dim, ...]], contents)
    return Affine(shape, start, (0 if shape[0] == 1 else step,))


def _read_view(node: Node, scope: GraphScope, left: list[int]) -> Affine | None:
    """A view that changes nothing but axes of extent 1."""
    shape, source = scope.value(node.outputs[0]).shape, _read(node.inputs[0], scope, left)
    if shape is None or source is None:
        return None
    places = [axis for axis, extent in enumerate(source.shape) if extent != 1]
    if [source.shape[axis] for axis in places] != [extent for extent in shape if extent != 1]:
        return None
    moved = iter(places)
    return Affine(shape, source.base, tuple(0 if extent == 1 else source.steps[next(moved)] for extent in shape))


def _read_expand(node: Node, scope: GraphScope, left: list[int]) -> Affine | None:
    shape, source = scope.value(node.outputs[0]).shape, _read(node.inputs[0], scope, left)
    if shape is None or source is None:
        return None
    return add_affine(source, Affine(shape, 0, (0,) * len(shape)))


def _read_sum(node: Node, scope: GraphScope, left: list[int]) -> Affine | None:
    one, other = (_read(name, scope, left) for name in node.inputs)
    if one is None or other is None:
        return None
    return add_affine(one, other.scale(-1) if node.op == "Sub" else other)


def _read_product(node: Node, scope: GraphScope, left: list[int]) -> Affine | None:
    one, other = (_read(name, scope, left) for name in node.inputs)
    if one is None or other is None:
        return None
    for factor, counted in ((one, other), (other, one)):
        if not any(factor.steps):
            return add_affine(counted.scale(factor.base), Affine(factor.shape, 0, factor.steps))
    return None


def _read_cast(node: Node, scope: GraphScope, left: list[int]) -> Affine | None:
    return _read(node.inputs[0], scope, left)


_RULES: Mapping[str, Callable[[Node, GraphScope, list[int]], Affine | None]] = {
    "Range": _read_range,
    "Reshape": _read_view,
    "Squeeze": _read_view,
    "Unsqueeze": _read_view,
    "Flatten": _read_view,
    "Expand": _read_expand,
    "Add": _read_sum,
    "Sub": _read_sum,
    "Mul": _read_product,
    "Cast": _read_cast,
}
