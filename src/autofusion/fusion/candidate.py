"""A match that may be applied: its names and what it stands on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from autofusion.fusion.binding import Binding
from autofusion.ir import Node
from autofusion.patternlang.model import Pattern
from autofusion.patternlang.templates import render_template, spell_display, strip_suffix


@dataclass(frozen=True, eq=False)
class Candidate:
    """A legal match of `pattern`; `position` is its root's place in topological order."""

    pattern: Pattern
    binding: Binding
    position: int

    @property
    def root(self) -> Node:
        """The node whose results the match computes."""
        return self.binding.root.node

    @cached_property
    def members(self) -> frozenset[str]:
        """Names of the bound nodes."""
        return frozenset(bound.node.name for bound in self.binding.members)

    @property
    def size(self) -> int:
        """How many nodes are bound."""
        return len(self.binding.nodes)

    @cached_property
    def display(self) -> str:
        """The display name, such as `Conv+BN+ReLU`."""
        return render_template(self.pattern.display, self.binding.names, self._spell_display)

    @cached_property
    def op(self) -> str:
        """The operator of the node that the match becomes."""
        return render_template(self.pattern.op, self.binding.names, self._spell_op)

    @cached_property
    def ops(self) -> frozenset[str]:
        """All operators that stand in the match, at any depth."""
        return frozenset(op for bound in self.binding.members for op in _operators(bound.node))

    def _spell_display(self, statement: str) -> str:
        node = self.binding.node(statement)
        assert node is not None
        return node.display or spell_display(node.op, self.pattern.spelling)

    def _spell_op(self, statement: str) -> str:
        node = self.binding.node(statement)
        assert node is not None
        return strip_suffix(node.op)


def _operators(node: Node) -> Iterator[str]:
    yield node.op
    if node.body is not None:
        for inner in node.body:
            yield from _operators(inner)
