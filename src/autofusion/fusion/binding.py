"""What a match binds so far: statements to nodes, names to values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from autofusion.ir import Node
from autofusion.patternlang.model import Call, Form, Reference, Statement


@dataclass(frozen=True)
class BoundNode:
    """A statement's node, the alternative that it matched, and the operand place of each argument."""

    statement: Statement
    node: Node
    call: Call
    places: tuple[int, ...]


@dataclass(frozen=True)
class Binding:
    """Bound statements in the order they were bound (root first), bound values, and the names known to be absent."""

    form: Form
    nodes: Mapping[str, BoundNode] = field(default_factory=dict[str, BoundNode])
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    absent: frozenset[str] = frozenset()

    def bind_node(self, bound: BoundNode) -> Binding:
        """With one more statement."""
        return Binding(self.form, {**self.nodes, bound.statement.name: bound}, self.values, self.absent)

    def bind_value(self, name: str, value: str) -> Binding:
        """With one more value."""
        return Binding(self.form, self.nodes, {**self.values, name: value}, self.absent)

    def leave_out(self, name: str) -> Binding:
        """With one more name that is absent."""
        return Binding(self.form, self.nodes, self.values, self.absent | {name})

    @cached_property
    def root(self) -> BoundNode:
        """The bound node whose result the match computes."""
        return next(iter(self.nodes.values()))

    @cached_property
    def members(self) -> tuple[BoundNode, ...]:
        """Bound nodes in the order of the text, which puts producers first."""
        return tuple(self.nodes[item.name] for item in self.form.statements if item.name in self.nodes)

    def node(self, name: str) -> Node | None:
        """The node bound to a statement (or to the statement of a further result), None where it is absent."""
        statement = self.form.by_name.get(name)
        bound = self.nodes.get(statement.name) if statement is not None else None
        return bound.node if bound is not None else None

    def value(self, name: str) -> str | None:
        """The value that `name` is bound to: a statement's result or an argument; None where it is absent."""
        node = self.node(name)
        if node is None:
            return self.values.get(name)
        place = self.form.by_name[name].names.index(name)
        return node.outputs[place] if place < len(node.outputs) else None

    @property
    def names(self) -> frozenset[str]:
        """All bound names."""
        return frozenset(self.nodes) | frozenset(self.values)

    def statement_of(self, name: str) -> str:
        """The bound statement that a clause on `name` speaks of: its own, or the first that reads the value."""
        statement = self.form.by_name.get(name)
        if statement is not None and statement.name in self.nodes:
            return statement.name
        for bound in self.members:
            if any(isinstance(term, Reference) and term.name == name for term in bound.call.arguments):
                return bound.statement.name
        return self.root.statement.name
