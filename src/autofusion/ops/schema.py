"""What ONNX says of an operator in one version: places, attributes and element types, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from autofusion.ir import Attribute, DType

if TYPE_CHECKING:
    from onnx import AttributeProto
    from onnx.defs import OpSchema

OLDEST_OPSET = 7
"""The oldest opset that is converted: before it, broadcasting was by attribute."""

NEWEST_OPSET = 28
"""The newest opset whose operators were reviewed; nodes whose operator changed later stay opaque."""


@dataclass(frozen=True)
class Slot:
    """One input or output place.

    Places with the same `type_variable` have one element type, out of `types`
    (empty where the place holds no tensor).  `uniform` is False for a variadic place
    whose members may differ in type.
    """

    name: str
    kind: Literal["single", "optional", "variadic"]
    type_variable: str
    types: frozenset[DType]
    uniform: bool = True


@dataclass(frozen=True)
class AttributeRule:
    """An attribute: required, or with a `default`, or (both empty) simply absent when not given."""

    name: str
    required: bool
    default: Attribute | None


@dataclass(frozen=True)
class Schema:
    """One operator in one version; `version` is the opset in which this form appeared."""

    name: str
    domain: str
    version: int
    deprecated: bool
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    input_count: tuple[int, int]
    output_count: tuple[int, int]
    attributes: Mapping[str, AttributeRule]

    def input_slot(self, index: int) -> Slot:
        """The place of operand `index`; the last place takes all that follow."""
        return self.inputs[min(index, len(self.inputs) - 1)]

    def output_slot(self, index: int) -> Slot:
        """The place of result `index`; the last place takes all that follow."""
        return self.outputs[min(index, len(self.outputs) - 1)]


@cache
def schema_of(name: str, domain: str = "", version: int | None = None) -> Schema | None:
    """The form that operator `name` has in opset `version` (None: the newest reviewed), None where ONNX has none."""
    import onnx.defs

    # Users write names too; one that has no form in UTF-8 cannot be asked for.
    if not (name.isascii() and domain.isascii()):
        return None
    limit = 2**31 - 1 if domain else newest_opset()
    try:
        schema = onnx.defs.get_schema(name, limit if version is None else version, domain)
    except onnx.defs.SchemaError:
        return None
    return _read_schema(schema)


def newest_opset() -> int:
    """The newest opset that both this package and the installed ONNX know."""
    import onnx.defs

    return min(NEWEST_OPSET, onnx.defs.onnx_opset_version())


def _read_schema(schema: OpSchema) -> Schema:
    allowed = {
        constraint.type_param_str: frozenset(_read_types(constraint.allowed_type_strs))
        for constraint in schema.type_constraints
    }
    return Schema(
        name=schema.name,
        domain=schema.domain,
        version=schema.since_version,
        deprecated=schema.deprecated,
        inputs=tuple(_read_slot(place, allowed) for place in schema.inputs),
        outputs=tuple(_read_slot(place, allowed) for place in schema.outputs),
        input_count=(schema.min_input, schema.max_input),
        output_count=(schema.min_output, schema.max_output),
        attributes={
            attribute.name: AttributeRule(attribute.name, attribute.required, _read_default(attribute.default_value))
            for attribute in schema.attributes.values()
        },
    )


def _read_slot(place: OpSchema.FormalParameter, allowed: Mapping[str, frozenset[DType]]) -> Slot:
    from onnx.defs import OpSchema

    options = OpSchema.FormalParameterOption
    kinds: dict[object, Literal["single", "optional", "variadic"]] = {
        options.Single: "single",
        options.Optional: "optional",
        options.Variadic: "variadic",
    }
    types = allowed.get(place.type_str)
    if types is None:
        types = frozenset(_read_types([place.type_str]))
    return Slot(place.name, kinds[place.option], place.type_str, types, place.is_homogeneous)


def _read_types(texts: Sequence[str]) -> list[DType]:
    names = {dtype.value: dtype for dtype in DType}
    inner = [text.removeprefix("tensor(").removesuffix(")") for text in texts if text.startswith("tensor(")]
    return [names[name] for name in inner if name in names]


def _read_default(proto: AttributeProto) -> Attribute | None:
    import onnx.helper

    if not proto.name:
        return None
    value = onnx.helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, int | float):
        return value
    return tuple(item.decode() if isinstance(item, bytes) else item for item in value)
