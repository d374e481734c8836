"""What a normal form gives: operands, attributes, and the operator of ONNX that it is, where there is such."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autofusion.diagnostics import Diagnostic
from autofusion.errors import PatternError
from autofusion.fusion.candidate import Candidate
from autofusion.fusion.conditions import emitted_attribute
from autofusion.fusion.scope import Scope
from autofusion.ir import Attribute
from autofusion.ops.rows import find_operator
from autofusion.ops.schema import Schema, schema_of
from autofusion.patternlang.model import Emission


@dataclass(frozen=True)
class Emitted:
    """Operands and attributes of the node that a match becomes.

    `opset` is the version of the ONNX operator that the node is, 0 where ONNX has none of that
    name, those operands and those attributes; then the replaced nodes are its meaning.
    """

    inputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    opset: int


def emit(scope: Scope, candidate: Candidate, emission: Emission) -> Emitted:
    """What `candidate` gives; constants that had to be made are added to the graph of `scope`.

    Raises PatternError AF320 where an attribute cannot be had.
    """
    attributes = _emit_attributes(scope, candidate, emission)
    inputs = [_emit_operand(scope, candidate, emission, name, attributes) for name in emission.inputs]
    while inputs and not inputs[-1]:
        inputs.pop()
    schema = _find_schema(emission.op, inputs, attributes)
    if schema is None:
        return Emitted(tuple(inputs), attributes, 0)
    defaults = {rule.name: rule.default for rule in schema.attributes.values() if rule.default is not None}
    return Emitted(tuple(inputs), {**defaults, **attributes}, schema.version)


def _find_schema(op: str, inputs: list[str], attributes: Mapping[str, Attribute]) -> Schema | None:
    row = find_operator(op)
    schema = schema_of(op, "", row.version) if row is not None else None
    if schema is None or not schema.input_count[0] <= len(inputs) <= schema.input_count[1]:
        return None
    return schema if attributes.keys() <= schema.attributes.keys() else None


def _emit_operand(
    scope: Scope, candidate: Candidate, emission: Emission, name: str, attributes: Mapping[str, Attribute]
) -> str:
    value = candidate.binding.value(name) or ""
    if not value and name in emission.ones:
        return _make_ones(scope, candidate, emission, attributes)
    array = scope.constant(value) if value and name in emission.flat else None
    if array is None or array.ndim == 1:
        return value
    return _add_constant(scope, f"{value}_vector", array.reshape(-1))


def _make_ones(scope: Scope, candidate: Candidate, emission: Emission, attributes: Mapping[str, Attribute]) -> str:
    """A factor that changes nothing: as large as the first operand from `axis` on, one element where that is open."""
    first = scope.value(candidate.binding.value(emission.inputs[0]) or "")
    assert first.dtype is not None
    axis = attributes.get("axis", -1)
    extents = (first.shape or ())[axis if isinstance(axis, int) else -1 :]
    shape = tuple(extent for extent in extents if isinstance(extent, int))
    ones = np.ones(shape if shape and len(shape) == len(extents) else (1,), first.dtype.numpy)
    return _add_constant(scope, f"{candidate.root.name}_ones", ones)


def _add_constant(scope: Scope, stem: str, array: np.ndarray) -> str:
    name = scope.fresh(stem)
    scope.graph.add_constant(name, array)
    return name


def _emit_attributes(scope: Scope, candidate: Candidate, emission: Emission) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {}
    for name, source in emission.attributes.items():
        try:
            value = emitted_attribute(scope, candidate.binding, source)
        except ValueError as error:
            message = f"pattern {candidate.pattern.name} cannot emit attribute {name}: {error}"
            raise PatternError(Diagnostic("AF320", message, span=emission.span)) from error
        if value is not None:
            attributes[name] = value
    return attributes
