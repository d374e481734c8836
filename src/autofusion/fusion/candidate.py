"""What may be applied: the nodes it takes, its names, what it stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from autofusion.fusion.binding import Binding
from autofusion.ir import Node
from autofusion.patternlang.model import Pattern
from autofusion.patternlang.templates import render_template, spell_display, strip_suffix


@dataclass(frozen=True, eq=False)
class Proposal(ABC):
    """Nodes that `pattern` makes one; `position` is the place of `root` in topological order.

    `nodes` come producers first; the new node has the name of `root` where that is none that a fusion made.
    `display` and `op` are what reports call the new node, and its operator.
    """

    pattern: Pattern
    nodes: tuple[Node, ...]
    root: Node
    position: int

    @property
    @abstractmethod
    def display(self) -> str:
        """The display name, such as `Conv+BN+ReLU`."""

    @property
    @abstractmethod
    def op(self) -> str:
        """The operator of the new node."""

    @cached_property
    def members(self) -> frozenset[str]:
        """Names of the nodes."""
        return frozenset(node.name for node in self.nodes)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)

    @property
    def origin(self) -> tuple[str, ...]:
        """The ONNX nodes behind the nodes."""
        return tuple(dict.fromkeys(name for node in self.nodes for name in node.origin or (node.name,)))

    @cached_property
    def ops(self) -> frozenset[str]:
        """All operators that stand in the nodes, at any depth."""
        return frozenset(op for node in self.nodes for op in _operators(node))


@dataclass(frozen=True, eq=False)
class Candidate(Proposal):
    """A legal match of `pattern`; the nodes are in the order of the text."""

    binding: Binding

    @classmethod
    def of(cls, pattern: Pattern, binding: Binding, position: int) -> Candidate:
        """The candidate that `binding` is."""
        nodes = tuple(bound.node for bound in binding.members)
        return cls(pattern, nodes, binding.root.node, position, binding)

    @property
    def display(self) -> str:
        """The display name, such as `Conv+BN+ReLU`."""
        return render_template(self.pattern.display, self.binding.names, self._spell_display)

    @property
    def op(self) -> str:
        """The operator of the node that the match becomes."""
        return render_template(self.pattern.op, self.binding.names, self._spell_op)

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
