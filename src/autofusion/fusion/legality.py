"""What holds for every match: one reader for inner values, no graph output inside, no cycle."""

from __future__ import annotations

from dataclasses import dataclass

from autofusion.fusion.binding import Binding, BoundNode
from autofusion.fusion.reasons import Code, Reason, border_reason
from autofusion.fusion.scope import Scope
from autofusion.ir import CAPTURED, Use
from autofusion.patternlang.model import Pattern, Reference


@dataclass(frozen=True)
class Breach:
    """A rule that a match breaks: the statement at fault, and how many statements break one."""

    statement: str
    reason: Reason
    count: int


def check_flow(scope: Scope, pattern: Pattern, binding: Binding) -> Breach | None:
    """The first breach of the rules on readers, in the order of the text; None where all hold.

    Every result of a node other than the root is read inside the match only and is no graph
    output, unless it is named in `escape`; results that the pattern does not name are unread;
    and an inner value stands only where the pattern means it.
    """
    escaping = {reference.name for reference in pattern.escape}
    breaches: list[Breach] = []
    for bound in binding.members:
        reason = _check_results(scope, pattern, binding, bound, escaping) or _check_stray_reading(binding, bound)
        if reason is not None:
            breaches.append(Breach(bound.statement.name, reason, 0))
    if not breaches:
        return None
    return Breach(breaches[0].statement, breaches[0].reason, len(breaches))


def check_cycle(scope: Scope, pattern: Pattern, binding: Binding) -> Breach | None:
    """The breach where an escaping value comes back into the match by way of other nodes.

    Without `escape` there is none: a path out of the match leaves by its root, and one back
    would be a cycle of the graph itself.
    """
    members = {bound.node.name for bound in binding.members}
    root = binding.root.node.name
    for reference in pattern.escape:
        value = binding.value(reference.name)
        for use in scope.graph.consumers(value) if value else ():
            if use.node.name not in members and scope.graph.reaches(use.node.name, root):
                detail = f"{value!r} comes back into the match by way of {use.node.name}"
                reason = Reason(Code.CYCLE, (value or "",), detail, use.node.name, value or "")
                return Breach(binding.statement_of(reference.name), reason, 1)
    return None


def escaped_values(scope: Scope, pattern: Pattern, binding: Binding) -> tuple[str, ...]:
    """The inner values named in `escape` that something outside the match reads."""
    members = {bound.node.name for bound in binding.members}
    values = [binding.value(reference.name) for reference in pattern.escape]
    return tuple(
        value
        for value in dict.fromkeys(values)
        if value
        and value not in binding.root.node.outputs
        and (value in scope.graph.outputs or any(use.node.name not in members for use in scope.graph.consumers(value)))
    )


def _check_results(
    scope: Scope, pattern: Pattern, binding: Binding, bound: BoundNode, escaping: set[str]
) -> Reason | None:
    names = bound.statement.names
    is_root = bound is binding.root
    for place, value in enumerate(bound.node.outputs):
        if not value:
            continue
        if place >= len(names):
            if value in scope.graph.outputs or scope.graph.consumers(value):
                detail = f"{value!r}, a further result of {bound.node.name}, is in use"
                return Reason(Code.EXTRA_OUTPUT, (value,), detail, bound.node.name, value)
        elif not is_root and names[place] not in escaping:
            reason = _check_readers(scope, pattern, binding, value, names[place])
            if reason is not None:
                return reason
    return None


def _check_readers(scope: Scope, pattern: Pattern, binding: Binding, value: str, name: str) -> Reason | None:
    members = {bound.node.name for bound in binding.members}
    if value in scope.graph.outputs:
        return output_reason(scope, pattern, value, name)
    outside = [use for use in scope.graph.consumers(value) if use.node.name not in members]
    captured = next((use for use in outside if use.index == CAPTURED), None)
    if captured is not None:
        detail = f"{value!r} is also read by a nested graph of {captured.node.name}"
        return Reason(Code.NESTED_GRAPH, (value, captured.node.name), detail, captured.node.name, value)
    return readers_reason(pattern, value, outside, name) if outside else None


def output_reason(scope: Scope, pattern: Pattern, value: str, name: str) -> Reason:
    """The reason for an inner value, `name` in the pattern, that is an output of the graph."""
    if scope.leaves_group(value):
        return border_reason(scope.rule, value)
    detail = f"{value!r} is an output of the graph, so it must be computed by itself"
    advice = f"drop {value!r} from the graph outputs, or accept two kernels"
    return Reason(Code.GRAPH_OUTPUT, (value,), detail, value=value, help=_advise(pattern, name, advice))


def readers_reason(pattern: Pattern, value: str, readers: list[Use], name: str) -> Reason:
    """The reason for an inner value, `name` in the pattern, that other nodes read too."""
    nodes = tuple(dict.fromkeys(use.node.name for use in readers))
    detail = f"{value!r} is also read by {', '.join(nodes)}"
    advice = f"fusing would compute {value!r} twice: let nothing else read it, or accept two kernels"
    return Reason(Code.MULTI_READER, (value, *nodes), detail, nodes[0], value, _advise(pattern, name, advice))


def _advise(pattern: Pattern, name: str, advice: str) -> str:
    """`advice` on the model for a built-in pattern; the author of another one can let the value escape."""
    return advice if pattern.is_builtin else f"list {name!r} under escape if the kernel can also write it out"


def _check_stray_reading(binding: Binding, bound: BoundNode) -> Reason | None:
    """An inner value of `bound` that a member reads as if it came from outside."""
    values = set(bound.node.results)
    for reader in binding.members:
        for place, value in enumerate(reader.node.inputs):
            if value in values and not _means_result(binding, reader, place):
                detail = f"{reader.node.name} reads {value!r} once more"
                return Reason(Code.MULTI_READER, (value, reader.node.name), detail, reader.node.name, value)
    return None


def _means_result(binding: Binding, reader: BoundNode, place: int) -> bool:
    if place not in reader.places:
        return False
    term = reader.call.arguments[reader.places.index(place)]
    return isinstance(term, Reference) and term.name in binding.form.by_name
