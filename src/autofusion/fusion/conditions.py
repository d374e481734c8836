"""Where-clauses against a binding: the first that does not hold, and why."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from autofusion.fusion.binding import Binding
from autofusion.fusion.constants import equals, is_number
from autofusion.fusion.matcher import attribute_reason, widening_reason
from autofusion.fusion.predicates import CHECKS
from autofusion.fusion.reasons import Code, Reason, shape_unknown, spell_shape
from autofusion.fusion.scope import Scope
from autofusion.ir import DType
from autofusion.ir.dims import Expr
from autofusion.ops.rows import find_operator
from autofusion.ops.schema import schema_of
from autofusion.patternlang.model import Clause, Comparison, KindClause, PredicateClause, Scalar, Subject
from autofusion.patternlang.vocabulary import PREDICATES


@dataclass(frozen=True)
class Violation:
    """A clause that does not hold, and the statement it speaks of."""

    clause: Clause
    statement: str
    reason: Reason


def check_clauses(scope: Scope, binding: Binding, clauses: tuple[Clause, ...]) -> Violation | None:
    """The first clause that does not hold; clauses on names that `binding` lacks are skipped."""
    for clause in clauses:
        found = _check_clause(scope, binding, clause)
        if found is not None:
            name, reason = found
            return Violation(clause, binding.statement_of(name), reason)
    return None


def subject_value(scope: Scope, binding: Binding, subject: Subject) -> object:
    """What a subject is: a number, a string, an extent, a tuple; `None` where absent, a Reason where unknown."""
    node = binding.node(subject.name)
    value = binding.value(subject.name)
    if value is None:
        return None
    match subject.property:
        case "value":
            return _constant_value(scope, subject, value)
        case "first":
            return _first_element(scope, subject, value)
        case "rank":
            rank = scope.value(value).rank
            return shape_unknown(subject.name, value) if rank is None else rank
        case "dtype":
            dtype = scope.value(value).dtype
            return _dtype_unknown(subject.name, value) if dtype is None else dtype.value
        case "shape":
            return _extent(scope, subject, value)
        case "op":
            return node.op if node is not None else None
        case name:
            return node.attributes.get(name) if node is not None else None


def _dtype_unknown(name: str, value: str) -> Reason:
    return Reason(Code.DTYPE, (name, "unknown"), f"the element type of {value!r} is unknown", value=value)


def _check_clause(scope: Scope, binding: Binding, clause: Clause) -> tuple[str, Reason] | None:
    match clause:
        case KindClause():
            return _check_kinds(scope, binding, clause)
        case Comparison():
            return _check_comparison(scope, binding, clause)
        case PredicateClause():
            return _check_predicate(scope, binding, clause)


def _check_kinds(scope: Scope, binding: Binding, clause: KindClause) -> tuple[str, Reason] | None:
    for reference in clause.names:
        value = binding.value(reference.name)
        if value is None:
            continue
        reason = constant_reason(scope, reference.name, value) if clause.is_const else None
        if reason is None and clause.is_scalar:
            reason = _scalar_reason(scope, binding, reference.name, value)
        if reason is not None:
            return reference.name, reason
    return None


def constant_reason(scope: Scope, name: str, value: str) -> Reason | None:
    """Why `value`, `name` in the pattern, is no constant; None where it is one."""
    if scope.constant(value) is not None:
        return None
    if scope.is_overridable(value):
        detail = f"{name} is {value!r}, an initializer that callers may override"
        advice = "remove it from the graph inputs to make it a constant"
        return Reason(Code.OVERRIDABLE, (name,), detail, value=value, help=advice)
    producer = scope.graph.producer(value)
    origin = f"computed by {producer.name}" if producer is not None else "given at run time"
    return Reason(Code.NOT_CONSTANT, (name,), f"{name} is {value!r}, which is {origin}", value=value)


def _scalar_reason(scope: Scope, binding: Binding, name: str, value: str) -> Reason | None:
    shape = scope.value(value).shape
    if shape is None:
        return shape_unknown(name, value)
    for extent in shape:
        if extent != 1:
            detail = f"{name} is {value!r} of shape {spell_shape(shape)}, one element was expected"
            return Reason(Code.BROADCAST, (name, spell_shape(shape), "[]"), detail, value=value)
    for bound in binding.members:
        for place, operand in enumerate(bound.node.inputs):
            if operand == value:
                reason = widening_reason(scope, bound.node, place)
                if reason is not None:
                    return reason
    return None


def _check_predicate(scope: Scope, binding: Binding, clause: PredicateClause) -> tuple[str, Reason] | None:
    names = tuple(reference.name for reference in clause.names)
    rule = PREDICATES[clause.predicate]
    present = tuple(name for name in names if binding.value(name) is not None)
    # A list shrinks by its absent members; the fixed places before it must be there.
    fixed = names[: len(rule.kinds) - rule.is_variadic]
    if not present or any(binding.value(name) is None for name in fixed):
        return None
    return CHECKS[clause.predicate](scope, binding, present)


_COMPARE: Mapping[str, Callable[[object, object], bool]] = {
    "<": operator.lt,  # pyright: ignore[reportAssignmentType]
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _check_comparison(scope: Scope, binding: Binding, clause: Comparison) -> tuple[str, Reason] | None:
    left = subject_value(scope, binding, clause.left)
    right: object = clause.right
    name = clause.left.name
    if isinstance(clause.right, Subject):
        right = subject_value(scope, binding, clause.right)
        if isinstance(right, Reason):
            return clause.right.name, right
        if right is None:
            return None
    if left is None:
        return _absent_attribute(binding, clause, right)
    if isinstance(left, Reason):
        return name, left
    verdict = _compare(scope, binding, clause, left, right)
    if verdict == "holds":
        return None
    return name, _comparison_reason(binding, clause, left, right)


def _compare(
    scope: Scope, binding: Binding, clause: Comparison, left: object, right: object
) -> Literal["holds", "fails"]:
    if clause.left.property == "value" and clause.operator in ("==", "!=") and isinstance(right, int | float):
        array = scope.constant(binding.value(clause.left.name) or "")
        equal = array is not None and is_number(array, float(right))
        return "holds" if equal == (clause.operator == "==") else "fails"
    if isinstance(left, Expr) or isinstance(right, Expr):
        # A symbol equals only itself and is neither more nor less than anything.
        return "holds" if clause.operator in ("==", "<=", ">=") and left == right else "fails"
    if isinstance(left, int | float) != isinstance(right, int | float) and clause.operator not in ("==", "!="):
        return "fails"
    if clause.operator in ("==", "!="):
        is_double = scope.value(binding.value(clause.left.name) or "").dtype is DType.DOUBLE
        return "holds" if equals(left, right, is_double=is_double) == (clause.operator == "==") else "fails"
    return "holds" if _COMPARE[clause.operator](left, right) else "fails"


def _absent_attribute(binding: Binding, clause: Comparison, right: object) -> tuple[str, Reason] | None:
    """An attribute that the operator has but the node leaves out equals nothing; one that it cannot have is skipped."""
    node = binding.node(clause.left.name)
    if node is None or node.pattern or clause.operator == "!=":
        return None
    row = find_operator(node.op, node.domain)
    schema = schema_of(node.op, node.domain, row.version if row is not None else None)
    if schema is None or clause.left.property not in schema.attributes:
        return None
    return clause.left.name, attribute_reason(node, clause.left.property, None, right)


def _comparison_reason(binding: Binding, clause: Comparison, left: object, right: object) -> Reason:
    subject, wanted = clause.left, f"{'' if clause.operator == '==' else clause.operator + ' '}{right}"
    value = binding.value(subject.name) or ""
    node = binding.node(subject.name)
    match subject.property:
        case "value":
            detail = f"{subject.name} is {value!r} = {left}, {wanted} was expected"
            return Reason(Code.CONSTANT_VALUE, (str(left), wanted), detail, value=value)
        case "dtype":
            detail = f"{value!r} has element type {left}, {wanted} was expected"
            return Reason(Code.DTYPE, (subject.name, str(left), wanted), detail, value=value)
        case "rank" | "shape":
            detail = f"{subject} is {left} for {value!r}, {wanted} was expected"
            return Reason(Code.KERNEL_LIMIT, (str(subject), str(left), wanted), detail, value=value)
        case _:
            assert node is not None
            return attribute_reason(node, subject.property, left, wanted)


def _constant_value(scope: Scope, subject: Subject, value: str) -> object:
    array = scope.constant(value)
    if array is None:
        return constant_reason(scope, subject.name, value)
    if array.size != 1:
        detail = f"{subject.name} is {value!r} of shape {spell_shape(array.shape)}, one element was expected"
        return Reason(Code.BROADCAST, (subject.name, spell_shape(array.shape), "[]"), detail, value=value)
    return array.reshape(()).item()


def _first_element(scope: Scope, subject: Subject, value: str) -> object:
    array = scope.constant(value)
    if array is None:
        return constant_reason(scope, subject.name, value)
    return array.reshape(-1)[0].item() if array.size else None


def _extent(scope: Scope, subject: Subject, value: str) -> object:
    shape = scope.value(value).shape
    if shape is None:
        return shape_unknown(subject.name, value)
    if subject.index is None:
        return shape
    if not -len(shape) <= subject.index < len(shape):
        detail = f"{value!r} of shape {spell_shape(shape)} has no axis {subject.index}"
        return Reason(Code.AXIS, (str(subject.index),), detail, value=value)
    return shape[subject.index]


def emitted_attribute(scope: Scope, binding: Binding, source: Subject | Scalar) -> Scalar | None:
    """The value of an emitted attribute; None where what it names is absent.

    Raises ValueError where it is no number, string or tuple of such.
    """
    if not isinstance(source, Subject):
        return source
    found = subject_value(scope, binding, source)
    if found is None or isinstance(found, int | float | str | tuple):
        return found  # pyright: ignore[reportUnknownVariableType]
    detail = f": {found.detail}" if isinstance(found, Reason) and found.detail else ""
    raise ValueError(f"{str(source)!r} is no number, string or list of such{detail}")
