"""How rules read a node's operands: extents, known integer contents, axes, and results to hand back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from autofusion.ir import Dim, DType, Node, Shape, Value
from autofusion.ops.faults import BAD_ATTRIBUTE, WRONG_RANK, describe, fault
from autofusion.ops.table import Known, Scope

CONTENT_LIMIT = 64
"""Tensors with more elements carry no content."""


def result(shape: Shape | None = None, dtype: DType | None = None, content: Sequence[Dim] | None = None) -> Value:
    """What a rule says of one output place; `ops.infer` gives it its name."""
    kept = None if content is None or len(content) > CONTENT_LIMIT else tuple(content)
    return Value("", dtype, shape, kept)


def shape_of(node: Node, index: int, scope: Scope) -> Shape | None:
    """The shape of operand `index`; None where it is absent or its rank unknown."""
    name = node.input(index)
    return scope.value(name).shape if name else None


def content_of(name: str, scope: Known) -> tuple[Dim, ...] | None:
    """The elements of a small tensor of integers or truth values (as 0 and 1), in order, where they are known."""
    if not name:
        return None
    array = scope.constant(name)
    if array is None:
        return scope.value(name).content
    if array.dtype.kind not in "iub" or array.ndim > 1 or array.size > CONTENT_LIMIT:
        return None
    return tuple(int(element) for element in array.reshape(-1))


def numbers_of(name: str, scope: Known) -> tuple[int, ...] | None:
    """`content_of` where every element is a plain number."""
    content = content_of(name, scope)
    if content is None or not all(isinstance(element, int) for element in content):
        return None
    return cast(tuple[int, ...], content)


def integer(node: Node, name: str, default: int = 0) -> int:
    """Integer attribute `name`."""
    value = node.attributes.get(name, default)
    if not isinstance(value, int):
        raise fault(BAD_ATTRIBUTE, node, f"attribute {name!r} must be an integer")
    return value


def integers(node: Node, name: str) -> tuple[int, ...] | None:
    """Attribute `name` as a tuple of integers, None where it is absent."""
    value = node.attributes.get(name)
    if value is None:
        return None
    if not isinstance(value, tuple) or not all(isinstance(item, int) for item in value):
        raise fault(BAD_ATTRIBUTE, node, f"attribute {name!r} must be a list of integers")
    return cast(tuple[int, ...], value)


def number(node: Node, name: str, default: float) -> float:
    """Floating-point attribute `name`."""
    value = node.attributes.get(name, default)
    if not isinstance(value, int | float):
        raise fault(BAD_ATTRIBUTE, node, f"attribute {name!r} must be a number")
    return float(value)


def text(node: Node, name: str, default: str = "") -> str:
    """String attribute `name`."""
    value = node.attributes.get(name, default)
    if not isinstance(value, str):
        raise fault(BAD_ATTRIBUTE, node, f"attribute {name!r} must be a string")
    return value


def resolve_axis(node: Node, axis: int, rank: int, *, inclusive: bool = False) -> int:
    """`axis` counted from the front; raises ModelError outside [-rank, rank), or [-rank, rank] if `inclusive`."""
    last = rank if inclusive else rank - 1
    if not -rank <= axis <= last:
        raise fault(BAD_ATTRIBUTE, node, f"axis {axis} is out of range for rank {rank}", f"allowed: {-rank} to {last}")
    return axis + rank if axis < 0 else axis


def resolve_axes(node: Node, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """`resolve_axis` of each; raises ModelError where one occurs twice."""
    resolved = tuple(resolve_axis(node, axis, rank) for axis in axes)
    if len(set(resolved)) != len(resolved):
        raise fault(BAD_ATTRIBUTE, node, f"axes {list(axes)} name one axis twice")
    return resolved


def require_rank(node: Node, name: str, scope: Scope, least: int, most: int | None = None) -> None:
    """Raise ModelError where the rank of value `name` is known and outside [least, most]."""
    value = scope.value(name)
    if value.rank is None or (value.rank >= least and (most is None or value.rank <= most)):
        return
    wanted = f"{least}" if most == least else f"at least {least}" if most is None else f"{least} to {most}"
    raise fault(WRONG_RANK, node, f"input {describe(value)} has rank {value.rank}, expected {wanted}")


def absent(node: Node, index: int) -> bool:
    """True where input place `index` is empty."""
    return node.input(index) == ""


def int64_constant(stem: str, elements: Sequence[int], scope: Scope) -> str:
    """Define a one-dimensional int64 constant and return its name."""
    return scope.define_constant(stem, np.array(elements, np.int64))
