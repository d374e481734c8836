"""What a pattern may name beside its own statements: operators of ONNX, normal forms, other patterns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from autofusion.ops.custom import CustomOperator, Operators
from autofusion.ops.rows import find_operator
from autofusion.ops.schema import schema_of
from autofusion.patternlang.model import Call, Pattern


@dataclass(frozen=True)
class Signature:
    """How many operands an operator takes, and its attributes."""

    operands: tuple[int, int]
    attributes: Collection[str]


@dataclass(frozen=True)
class Surroundings:
    """Normal forms by operator, fusing patterns by name with their stage, operators that users declared."""

    normal_forms: Mapping[str, Signature]
    stages: Mapping[str, int]
    operators: Operators = field(default_factory=dict[tuple[str, str], CustomOperator])

    @classmethod
    def of(cls, patterns: Iterable[Pattern], operators: Operators = MappingProxyType({})) -> Surroundings:
        """What the given patterns and declarations define."""
        normal_forms: dict[str, Signature] = {}
        stages: dict[str, int] = {}
        for pattern in patterns:
            if pattern.emission is None:
                stages[pattern.name] = pattern.stage
                continue
            inputs = pattern.emission.inputs
            normal_forms[pattern.emission.op] = Signature((0, len(inputs)), pattern.emission.attributes.keys())
        return cls(normal_forms, stages, operators)

    def signatures(self, call: Call) -> list[Signature]:
        """The signatures that a call may mean: the canonical ONNX operator's, a normal form's, or both."""
        found: list[Signature] = []
        row = find_operator(call.op, call.domain)
        schema = schema_of(call.op, call.domain, row.version if row is not None else None)
        if schema is not None:
            found.append(Signature(schema.input_count, schema.attributes.keys()))
        declared = self.operators.get((call.domain, call.op))
        if declared is not None:
            found.append(Signature(declared.input_count, declared.attributes.keys()))
        if not call.domain and call.op in self.normal_forms:
            found.append(self.normal_forms[call.op])
        return found
