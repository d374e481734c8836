"""Steps that conversions to canonical form share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from autofusion.ir import Attribute, Node
from autofusion.ops.operands import int64_constant, integer, integers, numbers_of, resolve_axes, resolve_axis
from autofusion.ops.table import Scope


def keep_opaque(node: Node) -> tuple[Node, ...]:
    """The answer of a conversion that cannot be made: the node stays in the form it was written in."""
    return (replace(node, opaque=True),)


def without(attributes: Mapping[str, Attribute], *names: str) -> dict[str, Attribute]:
    """`attributes` less those named."""
    return {name: value for name, value in attributes.items() if name not in names}


def with_attributes(node: Node, **changes: Attribute) -> Node:
    """`node` with the attributes in `changes` set."""
    return replace(node, attributes={**node.attributes, **changes})


def with_input(node: Node, index: int, name: str) -> Node:
    """`node` with input place `index` set to `name`; places left out before it are filled with ""."""
    inputs = [*node.inputs, *[""] * (index + 1 - len(node.inputs))]
    inputs[index] = name
    return replace(node, inputs=tuple(inputs))


def trim_inputs(node: Node) -> Node:
    """`node` without empty places at the end of its inputs."""
    inputs = list(node.inputs)
    while inputs and not inputs[-1]:
        inputs.pop()
    return replace(node, inputs=tuple(inputs))


def companion(
    node: Node,
    op: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    scope: Scope,
    attributes: Mapping[str, Attribute] | None = None,
) -> Node:
    """A new node of type `op` that does part of the work of `node`."""
    name = scope.fresh(f"{node.name}_{op}")
    return Node(name, op, tuple(inputs), tuple(outputs), dict(attributes or {}), origin=node.origin)


def attribute_to_input(
    node: Node, attribute: str, index: int, scope: Scope, dtype: type[np.generic] = np.int64
) -> Node:
    """Turn an attribute into a constant operand at place `index` (left alone where the attribute is absent)."""
    value = node.attributes.get(attribute)
    if value is None:
        return node
    name = scope.define_constant(f"{node.name}_{attribute}", np.array(value, dtype))
    return with_input(replace(node, attributes=without(node.attributes, attribute)), index, name)


def normalize_axis(node: Node, scope: Scope, *, inclusive: bool = False) -> Node:
    """Count attribute `axis` from the front where the rank of input 0 is known."""
    rank = scope.value(node.input(0)).rank
    if rank is None or "axis" not in node.attributes:
        return node
    axis = integer(node, "axis")
    return with_attributes(node, axis=resolve_axis(node, axis, rank, inclusive=inclusive))


def normalize_axes_attribute(node: Node, scope: Scope) -> Node:
    """Count attribute `axes` from the front where the rank of input 0 is known."""
    rank = scope.value(node.input(0)).rank
    axes = integers(node, "axes")
    if rank is None or axes is None:
        return node
    return with_attributes(node, axes=resolve_axes(node, axes, rank))


def normalize_axes_input(node: Node, index: int, rank: int | None, scope: Scope) -> Node:
    """Count the axes in constant operand `index` from the front, for a tensor of rank `rank`."""
    axes = numbers_of(node.input(index), scope)
    if rank is None or axes is None:
        return node
    resolved = resolve_axes(node, axes, rank)
    if resolved == axes:
        return node
    return with_input(node, index, int64_constant(f"{node.name}_axes", resolved, scope))
