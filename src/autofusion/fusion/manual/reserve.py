"""Applying manual rules: each finds its nodes, is judged, and takes them out of the reach of everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.fusion.controls import Switches
from autofusion.fusion.manual.group import make_group
from autofusion.fusion.manual.legality import Fault, Outputs, check_group, check_node
from autofusion.fusion.manual.resolve import guess_kind
from autofusion.fusion.manual.rules import Rule
from autofusion.fusion.manual.sequences import SequenceFinder, Shortfall
from autofusion.fusion.manual.survey import Picture
from autofusion.fusion.node_names import fits_any, names_of
from autofusion.fusion.scope import Scope
from autofusion.ir import MANUAL, Attribute, Graph, Node
from autofusion.ir.scope import Names, tree_names


@dataclass(frozen=True)
class Group:
    """A group that was made: its node, the nodes it took, and the path of its graph."""

    node: Node
    members: tuple[str, ...]
    path: str


Survey = Callable[[], Mapping[str, Picture]]
"""What automatic fusion would make of the graph as it is, by path."""


def reserve_groups(graph: Graph, switches: Switches, survey: Survey) -> list[Group]:
    """Make the groups of all rules in `graph`, which is rewritten in place; rules of nodes come before those of blocks.

    Nested graphs are exchanged for copies.  `stop_after` counts groups too.

    Raises UsageError AF332 for a rule that is found nowhere, AF333 to AF338 for one that asks for what cannot be.
    """
    rules = [replace(rule, kind=guess_kind(rule, graph)) for rule in switches.controls.rules]
    reservation = _Reservation(graph, switches)
    for rule in (rule for rule in rules if rule.kind == "nodes"):
        reservation.take_nodes(rule)
    sequences = [rule for rule in rules if rule.kind == "ops"]
    pictures = survey() if sequences else dict[str, Picture]()
    for rule in sequences:
        reservation.take_sequences(rule, pictures)
    return reservation.groups


class _Reservation:
    """The groups so far, and the graphs that they are made in."""

    def __init__(self, graph: Graph, switches: Switches) -> None:
        self._switches = switches
        self._scopes = list(open_scopes(Scope(graph)))
        self._names = Names(tree_names(graph))
        self.groups: list[Group] = []

    def take_nodes(self, rule: Rule) -> None:
        """Make the group of a rule that names nodes."""
        if self._is_spent():
            return
        found = [
            (scope, node) for scope in self._scopes for node in scope.graph.topological() if _names_meant(rule, node)
        ]
        if not found:
            help_ = "constants were folded and nodes without effect removed; `autofusion dump` shows what is left"
            raise _refuse(rule, Fault("AF332", "names no node that is left before fusion", help_))
        for _, node in found:
            fault = check_node(node) or self._bar(node, _names_meant(rule, node)[0])
            if fault is not None:
                raise _refuse(rule, fault)
        scope, first = found[0]
        other = next((node for place, node in found if place is not scope), None)
        if other is not None:
            names = f"{names_of(first)[0]!r} and {names_of(other)[0]!r}"
            help_ = "write a rule for each graph"
            raise _refuse(rule, Fault("AF335", f"has nodes of two graphs, {names}: one is in control flow", help_))
        members = frozenset(node.name for _, node in found)
        fault = check_group(scope.graph, members, _outputs(rule, scope.graph))
        if fault is not None:
            raise _refuse(rule, fault)
        self._take(scope, rule, members)

    def take_sequences(self, rule: Rule, pictures: Mapping[str, Picture]) -> None:
        """Make a group wherever the blocks of a rule follow each other."""
        count = len(self.groups)
        shortfalls: list[Shortfall] = []
        for scope in self._scopes:
            finder = SequenceFinder(scope, pictures[scope.path], rule, self._bar)
            for members in finder.find():
                if self._is_spent():
                    return
                self._take(scope, rule, members)
            shortfalls.append(finder.shortfall)
        if len(self.groups) > count or self._is_spent():
            return
        best = max(shortfalls, key=lambda item: item.found)
        advice = best.help or "change the rule, or take it out; docs/manual-fusion.md lists the blocks"
        raise _refuse(rule, Fault("AF332", f"is found nowhere: {best.text}", advice))

    def _take(self, scope: Scope, rule: Rule, members: frozenset[str]) -> None:
        ordered = tuple(node.name for node in scope.graph.topological() if node.name in members)
        group = make_group(scope, rule, members, self._names.fresh(rule.name))
        self.groups.append(Group(group, ordered, scope.path))

    def _is_spent(self) -> bool:
        limit = self._switches.controls.stop_after
        return limit is not None and len(self.groups) >= limit

    def _bar(self, node: Node, name: str = "") -> Fault | None:
        """Why another rule, or the controls, keep `node`, known as `name`, out of a new group."""
        name = name or names_of(node)[0]
        if node.pattern == MANUAL:
            text = f"holds {name!r}, which belongs to the rule {node.display!r}"
            return Fault("AF337", text, f"name {name} in one of the two alone")
        reason = self._switches.bar(node)
        return None if reason is None else Fault("AF338", f"holds {name!r}, but {reason.detail}", reason.help)


def open_scopes(scope: Scope) -> Iterator[Scope]:
    """The scopes of a graph and of the control-flow graphs in it, which are exchanged for copies that may be edited."""
    nested: list[Scope] = []
    for node in scope.graph.topological():
        attributes: dict[str, Attribute] = dict(node.attributes)
        for key, inner in node.subgraphs():
            copy = inner.copy()
            attributes[key] = copy
            nested.append(Scope(copy, scope, f"{scope.path}/{node.name}.{key}" if scope.path else f"{node.name}.{key}"))
        if node.subgraphs():
            scope.graph.update(replace(node, attributes=attributes))
    yield scope
    for inner in nested:
        yield from open_scopes(inner)


def _names_meant(rule: Rule, node: Node) -> list[str]:
    """The names of `node` that `rule` means."""
    names = (name for name in names_of(node) if not rule.scope or fits_any((name,), rule.scope))
    return [name for name in names if fits_any((name,), rule.items)]


def _outputs(rule: Rule, graph: Graph) -> Outputs:
    def allows(value: str) -> bool:
        producer = graph.producer(value)
        return fits_any((value, *names_of(producer)) if producer is not None else (value,), rule.outputs)

    return Outputs(allows, lambda value: value)


def _refuse(rule: Rule, fault: Fault) -> UsageError:
    message = f"rule {rule.name!r} of {rule.by} {fault.text}"
    return UsageError(Diagnostic(fault.code, message, help=fault.help))
