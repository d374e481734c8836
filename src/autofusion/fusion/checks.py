"""What all predicates share: their form, and the nodes and values that the names in their clauses are bound to."""

from __future__ import annotations

from collections.abc import Callable

from autofusion.fusion.binding import Binding
from autofusion.fusion.reasons import Reason
from autofusion.fusion.scope import Scope
from autofusion.ir import Node, Value

Outcome = tuple[str, Reason] | None
"""The name at fault with the reason; None where the predicate holds."""

Check = Callable[[Scope, Binding, tuple[str, ...]], Outcome]
"""Whether a predicate holds of the names it is given, all of them bound."""


def find_node(binding: Binding, name: str) -> Node:
    """The node of statement `name`, which is bound."""
    node = binding.node(name)
    assert node is not None
    return node


def find_value(scope: Scope, binding: Binding, name: str) -> Value:
    """The value that `name` is bound to."""
    return scope.value(binding.value(name) or "")
