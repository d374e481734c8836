"""One form against one node: all ways to bind it, and how far the best attempt came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autofusion.fusion.binding import Binding, BoundNode
from autofusion.fusion.constants import equals, is_number
from autofusion.fusion.reasons import Code, Reason, border_reason
from autofusion.fusion.scope import Scope
from autofusion.ir import FUSED_DOMAIN, MANUAL, Node
from autofusion.ops.rows import find_operator
from autofusion.patternlang.model import AttributeTest, Call, Form, Number, Reference, Statement, Term, Wildcard


def keys_of(node: Node) -> tuple[str, ...]:
    """The names under which a pattern may call for `node`; none for one left unconverted, or a manual group."""
    if node.opaque or node.pattern == MANUAL:
        return ()
    operator = node.op if node.domain in ("", FUSED_DOMAIN) else f"{node.domain}::{node.op}"
    return (operator, f"@{node.pattern}") if node.pattern else (operator,)


@dataclass(frozen=True)
class Failure:
    """Where an attempt ended: what was bound, the statement that did not fit, why, and how many statements did."""

    binding: Binding
    statement: Statement
    reason: Reason
    satisfied: int

    @property
    def rank(self) -> tuple[int, int]:
        """How far the attempt came."""
        return self.satisfied, len(self.binding.nodes)

    @property
    def needed(self) -> int:
        """How many statements the attempt would have bound."""
        required = (statement.name for statement in self.binding.form.required)
        return len({*self.binding.nodes, self.statement.name, *required})


class Matcher:
    """Matches one form in one scope; keeps the best failure of the attempts it made."""

    def __init__(self, scope: Scope, form: Form) -> None:
        self._scope = scope
        self._form = form
        self.failure: Failure | None = None

    def find(self, root: Statement, node: Node) -> Iterator[Binding]:
        """All bindings of the form, seen from `root`, that end in `node`; at least two nodes each."""
        above = self._form.roots.index(root) if root in self._form.roots else 0
        start = Binding(self._form, absent=frozenset(statement.name for statement in self._form.roots[:above]))
        for binding in self._match_node(root, node, start):
            if len(binding.nodes) > 1:
                yield binding

    def find_inner(self, statement: Statement, node: Node) -> Iterator[Binding]:
        """All bindings of `statement` and what feeds it, whatever reads it."""
        return self._match_node(statement, node, Binding(self._form))

    def refuse(self, statement: Statement, node: Node) -> Reason | None:
        """Why the attributes or the number of operands of `node` fit no call of `statement`, None where they fit one.

        None as well where no call names the operator of `node`.
        """
        keys = keys_of(node)
        reasons = [
            self._check_attributes(call, node) or _check_arity(call, node)
            for call in statement.calls
            if call.key in keys
        ]
        return None if None in reasons else next(iter(reasons), None)

    def fail(self, binding: Binding, statement: Statement, reason: Reason, satisfied: int | None = None) -> None:
        """Note that an attempt ended here; one that bound nothing is none."""
        found = Failure(binding, statement, reason, len(binding.nodes) if satisfied is None else satisfied)
        if found.satisfied and (self.failure is None or found.rank > self.failure.rank):
            self.failure = found

    def _match_node(self, statement: Statement, node: Node, binding: Binding) -> Iterator[Binding]:
        keys = keys_of(node)
        for call in statement.calls:
            if call.key not in keys:
                continue
            reason = self._check_attributes(call, node) or _check_arity(call, node)
            if reason is not None:
                self.fail(binding, statement, reason)
                continue
            for places in self._orders(call, node):
                bound = binding.bind_node(BoundNode(statement, node, call, places))
                for name, value in zip(statement.names[1:], node.outputs[1:], strict=False):
                    bound = bound.bind_value(name, value) if value else bound
                yield from self._match_arguments(statement, 0, bound)

    def _orders(self, call: Call, node: Node) -> list[tuple[int, ...]]:
        """The orders of operands to try: where the text has numbers, those that have constants there."""
        orders = list(_operand_orders(call, node))
        numbers = [place for place, term in enumerate(call.arguments) if isinstance(term, Number)]
        fitting = [order for order in orders if all(self._is_constant(node, order[place]) for place in numbers)]
        return fitting or orders[:1]

    def _is_constant(self, node: Node, operand: int) -> bool:
        return self._scope.constant(node.input(operand)) is not None

    def _match_arguments(self, statement: Statement, place: int, binding: Binding) -> Iterator[Binding]:
        bound = binding.nodes[statement.name]
        if place == len(bound.call.arguments):
            yield binding
            return
        operand = bound.places[place]
        for extended in self._match_term(bound.call.arguments[place], bound, operand, binding):
            yield from self._match_arguments(statement, place + 1, extended)

    def _match_term(self, term: Term, reader: BoundNode, operand: int, binding: Binding) -> Iterator[Binding]:
        value = reader.node.input(operand)
        match term:
            case Wildcard(optional):
                if value or optional:
                    yield binding
                else:
                    self.fail(binding, reader.statement, _missing_operand(reader.node, operand), len(binding.nodes) - 1)
            case Number():
                reason = self._check_number(term, reader.node, operand)
                if reason is None:
                    yield binding
                else:
                    self.fail(binding, reader.statement, reason, len(binding.nodes) - 1)
            case Reference(name) if name in self._form.by_name:
                yield from self._match_result(name, reader, operand, binding, ())
            case Reference(name, optional):
                yield from self._match_value(name, optional, reader, operand, binding)

    def _match_value(
        self, name: str, optional: bool, reader: BoundNode, operand: int, binding: Binding
    ) -> Iterator[Binding]:
        value = reader.node.input(operand)
        known = binding.values.get(name)
        if not value and optional and known is None:
            yield binding.leave_out(name)
        elif not value:
            self.fail(binding, reader.statement, _missing_operand(reader.node, operand), len(binding.nodes) - 1)
        elif known is None and name not in binding.absent:
            yield binding.bind_value(name, value)
        elif known == value:
            yield binding
        else:
            reason = _other_operand(name, value, str(known), reader.node)
            self.fail(binding, reader.statement, reason, len(binding.nodes) - 1)

    def _match_result(
        self, name: str, reader: BoundNode, operand: int, binding: Binding, above: tuple[str, ...]
    ) -> Iterator[Binding]:
        """Bind the statement behind an operand; `above` holds the keys that absent statements could have had."""
        value = reader.node.input(operand)
        statement = self._form.by_name[name]
        if statement.name in binding.nodes:
            known = binding.value(name)
            if known == value:
                yield binding
            else:
                reason = _other_operand(name, value, str(known), reader.node)
                self.fail(binding, reader.statement, reason, len(binding.nodes) - 1)
            return
        producer = self._scope.graph.producer(value)
        keys = (*above, *statement.keys)
        fits = producer is not None and not set(statement.keys).isdisjoint(keys_of(producer))
        if statement.name not in binding.absent and producer is not None and fits:
            is_taken = any(bound.node is producer for bound in binding.nodes.values())
            if not is_taken and producer.outputs.index(value) == statement.names.index(name):
                yield from self._match_node(statement, producer, binding)
            else:
                self.fail(binding, statement, _other_operand(name, value, "another node", reader.node))
        if not statement.optional:
            if not fits:
                self.fail(binding, statement, self._explain_operator(value, producer, keys))
            return
        below = statement.stand_in
        if isinstance(below, Reference):
            absent = binding.leave_out(statement.name)
            if below.name in self._form.by_name:
                yield from self._match_result(below.name, reader, operand, absent, keys)
            else:
                yield from self._match_value(below.name, False, reader, operand, absent)

    def _check_attributes(self, call: Call, node: Node) -> Reason | None:
        for test in call.attributes:
            got = node.attributes.get(test.name)
            wanted = self._resolve_test(test, node)
            if wanted is None:
                return Reason(
                    Code.SHAPE_UNKNOWN,
                    (node.input(0),),
                    f"the rank of {node.input(0)!r} is unknown, so {test.name} = last cannot be told",
                    node.name,
                    node.input(0),
                )
            if not equals(got, wanted) and not (test.is_last and got == -1):
                return attribute_reason(node, test.name, got, wanted)
        return None

    def _resolve_test(self, test: AttributeTest, node: Node) -> object:
        if not test.is_last:
            return test.value
        if node.attributes.get(test.name) == -1:
            return -1
        rank = self._scope.value(node.input(0)).rank
        return None if rank is None else rank - 1

    def _check_number(self, term: Number, node: Node, operand: int) -> Reason | None:
        value = node.input(operand)
        array = self._scope.constant(value) if value else None
        if array is None:
            return Reason(
                Code.NOT_CONSTANT,
                (f"{term.value:g}",),
                f"operand {value!r} of {node.name} is no constant, {term.value:g} was expected",
                node.name,
                value,
            )
        if not is_number(array, term.value):
            got = f"{array.reshape(-1)[0]:g}" if array.size == 1 and array.dtype.kind in "fiu" else f"{array.shape}"
            return Reason(
                Code.CONSTANT_VALUE,
                (got, f"{term.value:g}"),
                f"constant {value!r} of {node.name} is {got}, {term.value:g} was expected",
                node.name,
                value,
            )
        return widening_reason(self._scope, node, operand)

    def _explain_operator(self, value: str, producer: Node | None, keys: tuple[str, ...]) -> Reason:
        wanted = _spell_keys(keys)
        if producer is None:
            if self._scope.enters_group(value):
                return border_reason(self._scope.rule, value)
            if self._scope.is_captured(value):
                detail = f"{value!r} is computed outside {self._scope.path or 'the nested graph'}"
                return Reason(Code.CONTROL_FLOW, (value,), detail, value=value)
            kind = "a constant" if self._scope.constant(value) is not None else "a graph input"
            detail = f"{value!r} is {kind}, expected the result of {wanted}"
            return Reason(Code.OPERATOR, (kind, wanted), detail, value=value)
        return operator_reason(producer, keys, f"{value!r} is computed by {producer.name}", value)


def operator_reason(found: Node, keys: tuple[str, ...], context: str, value: str) -> Reason:
    """Why `found` cannot stand where one of `keys` is wanted; `context` says how it is met."""
    wanted = _spell_keys(keys)
    spelled = found.op if found.domain in ("", FUSED_DOMAIN) else f"{found.domain}::{found.op}"
    if found.pattern == MANUAL:
        return border_reason(found.display, value, found.name)
    if found.opaque and found.op in keys:
        detail = f"{context} ({spelled} of opset {found.opset}), which has no canonical form"
        return Reason(Code.OPSET, (str(found.opset),), detail, found.name, value)
    if found.opaque and found.domain:
        detail = f"{context}, the unknown operator {spelled}; expected {wanted}"
        return Reason(Code.UNKNOWN_OP, (spelled,), detail, found.name, value)
    return Reason(Code.OPERATOR, (spelled, wanted), f"{context} ({spelled}), expected {wanted}", found.name, value)


def _spell_keys(keys: tuple[str, ...]) -> str:
    return " | ".join(key.removeprefix("@") for key in dict.fromkeys(keys))


def attribute_reason(node: Node, name: str, got: object, wanted: object) -> Reason:
    """The reason for an attribute of another value."""
    detail = f"attribute {name} of {node.name} is {got}, {wanted} was expected"
    return Reason(Code.ATTRIBUTE, (name, str(got), str(wanted)), detail, node.name)


def widening_reason(scope: Scope, node: Node, operand: int) -> Reason | None:
    """Why the one element at `operand` might widen the result of `node`, None where another operand has its rank."""
    rank = scope.value(node.input(operand)).rank
    if rank == 0:
        return None
    others = [scope.value(name).rank for place, name in enumerate(node.inputs) if name and place != operand]
    if rank is not None and any(other is not None and other >= rank for other in others):
        return None
    value = node.input(operand)
    detail = f"{value!r} has rank {rank}, which may raise the rank of the result of {node.name}"
    return Reason(Code.BROADCAST, ("rank", str(rank), "0"), detail, node.name, value)


def _check_arity(call: Call, node: Node) -> Reason | None:
    if call.has_rest:
        return None
    extra = [name for name in node.inputs[len(call.arguments) :] if name]
    if not extra:
        return None
    detail = f"{node.name} has an operand {extra[0]!r} that the pattern does not know"
    return Reason(Code.ARITY, (node.op, extra[0]), detail, node.name, extra[0])


def _missing_operand(node: Node, operand: int) -> Reason:
    return Reason(Code.ARITY, (node.op, str(operand)), f"{node.name} has no operand {operand}", node.name)


def _other_operand(name: str, got: str, wanted: str, node: Node) -> Reason:
    detail = f"{node.name} reads {got!r} where the pattern means {wanted}"
    return Reason(Code.OPERAND, (name, got, wanted), detail, node.name, got)


def _operand_orders(call: Call, node: Node) -> Iterator[tuple[int, ...]]:
    straight = tuple(range(len(call.arguments)))
    yield straight
    if len(straight) < 2 or node.pattern:
        return
    operator = find_operator(node.op, node.domain)
    if operator is not None and operator.commutative:
        yield (1, 0, *straight[2:])
