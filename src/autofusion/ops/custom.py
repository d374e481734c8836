"""Operators that a user declares: their signature, and their meaning as an expression or as the text of a function."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast, get_args

from autofusion.diagnostics import Span
from autofusion.ir import Attribute, DType, Node
from autofusion.ops.faults import BAD_ATTRIBUTE, MISSING_ATTRIBUTE, TYPES_CONTRADICT, WRONG_ARITY, describe, fault
from autofusion.ops.table import Scope

AttributeKind = Literal["float", "int", "string", "floats", "ints", "strings"]

KINDS: tuple[AttributeKind, ...] = get_args(AttributeKind)

_LARGEST_FLOAT = 3.4028234663852886e38

BODY_OPSET = 17
"""The opset of the operators that expressions become."""


@dataclass(frozen=True)
class Literal64:
    """A number in an expression, exact to 64 bits until the element type of the operands is known."""

    value: float


@dataclass(frozen=True)
class Symbol:
    """An input or an attribute by its name."""

    name: str
    is_attribute: bool


@dataclass(frozen=True)
class Apply:
    """The ONNX operator `op` of opset BODY_OPSET on `operands`, element by element."""

    op: str
    operands: tuple[Term, ...]


Term = Literal64 | Symbol | Apply
"""A scalar expression, with broadcasting where its inputs are tensors."""


@dataclass(frozen=True)
class CustomAttribute:
    """An attribute; without a `default` every node must give it."""

    name: str
    kind: AttributeKind
    default: Attribute | None = None


@dataclass(frozen=True)
class CustomInput:
    """An input place."""

    name: str
    optional: bool = False


@dataclass(frozen=True)
class CustomOperator:
    """One declared operator, in every version of its domain.

    Its meaning is `expression`, over floating tensors of one element type, or else `body`: the nodes of an ONNX
    function as ONNX writes text, in version `opset` of the main domain.  `span` is the place of its declaration.
    """

    domain: str
    name: str
    inputs: tuple[CustomInput, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, CustomAttribute] = field(default_factory=dict[str, CustomAttribute])
    expression: Term | None = None
    body: str = ""
    opset: int = BODY_OPSET
    summary: str = ""
    span: Span | None = None

    @property
    def key(self) -> str:
        """What patterns call it: `domain::name`."""
        return f"{self.domain}::{self.name}"

    @property
    def input_count(self) -> tuple[int, int]:
        """The least and the greatest number of operands."""
        required = [place for place, item in enumerate(self.inputs, 1) if not item.optional]
        return max(required, default=0), len(self.inputs)


Operators = Mapping[tuple[str, str], CustomOperator]
"""Declared operators by domain and name."""


def complete_node(node: Node, operator: CustomOperator, scope: Scope) -> Node:
    """`node` with the defaults of its attributes and a name for every result.

    Raises ModelError where it has too few or too many operands or results (AF150), lacks an attribute (AF151), has an
    unknown one or one of another kind (AF152), or where operands of an expression have other element types (AF154).
    """
    least, most = operator.input_count
    if not least <= len(node.inputs) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise fault(WRONG_ARITY, node, f"has {len(node.inputs)} inputs, expected {wanted}")
    for given, place in zip(node.inputs, operator.inputs, strict=False):
        if not given and not place.optional:
            raise fault(WRONG_ARITY, node, f"input {place.name!r} is empty but must be given")
    if len(node.outputs) > len(operator.outputs):
        raise fault(WRONG_ARITY, node, f"has {len(node.outputs)} outputs, expected {len(operator.outputs)}")
    if operator.expression is not None:
        _check_types(node, scope)
    outputs = [*node.outputs, *[""] * (len(operator.outputs) - len(node.outputs))]
    named = [name or scope.fresh(f"{node.name}_{place}") for name, place in zip(outputs, operator.outputs, strict=True)]
    return replace(node, outputs=tuple(named), attributes=_complete_attributes(node, operator))


def _check_types(node: Node, scope: Scope) -> None:
    known = [scope.value(name) for name in node.operands]
    for value in known:
        if value.dtype is not None and not value.dtype.is_float:
            raise fault(TYPES_CONTRADICT, node, f"input {describe(value)} is of no floating type")
    types: list[DType] = list(dict.fromkeys(value.dtype for value in known if value.dtype is not None))
    if len(types) > 1:
        raise fault(TYPES_CONTRADICT, node, f"its inputs differ in type: {', '.join(map(describe, known))}")


def _complete_attributes(node: Node, operator: CustomOperator) -> dict[str, Attribute]:
    for name, value in node.attributes.items():
        known = operator.attributes.get(name)
        if known is None:
            remedy = f"known are {', '.join(operator.attributes) or 'none'}"
            raise fault(BAD_ATTRIBUTE, node, f"attribute {name!r} is unknown", remedy)
        if not is_of_kind(value, known.kind):
            raise fault(BAD_ATTRIBUTE, node, f"attribute {name!r} is not of type {known.kind}")
    defaults: dict[str, Attribute] = {}
    for known in operator.attributes.values():
        if known.default is not None:
            defaults[known.name] = known.default
        elif known.name not in node.attributes:
            raise fault(MISSING_ATTRIBUTE, node, f"required attribute {known.name!r} is missing")
    return {**defaults, **node.attributes}


def is_of_kind(value: object, kind: AttributeKind) -> bool:
    """True where `value` is an attribute of this kind that ONNX can hold; a list is a tuple."""
    if not kind.endswith("s"):
        return _is_one(value, kind)
    items = cast(tuple[object, ...], value)
    return isinstance(value, tuple) and all(_is_one(item, kind.removesuffix("s")) for item in items)


def _is_one(value: object, kind: str) -> bool:
    if kind == "int":
        return type(value) is int and -(2**63) <= value < 2**63
    if kind == "float":
        return type(value) is float and not _LARGEST_FLOAT < abs(value) < math.inf
    return type(value) is str
