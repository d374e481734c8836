"""What reading attention asks of single nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from autofusion.fusion.reasons import Code, Reason
from autofusion.ir import Node
from autofusion.ops.table import Known

Made = Mapping[str, Node]
"""Nodes by the names of their results."""

NORMAL_FORMS = frozenset({"RepeatKV", "Rotary"})
"""Normal forms that are read as they are, not by their bodies."""


def flatten_attention(node: Node) -> tuple[Node, ...]:
    """The nodes of a fused node, bodies inside it taken apart but for `NORMAL_FORMS`; a plain node alone."""
    if node.body is None or node.op in NORMAL_FORMS:
        return (node,)
    return tuple(part for inner in node.body.topological() for part in flatten_attention(inner))


def index_results(nodes: Iterable[Node]) -> Made:
    """`nodes` by the names of their results."""
    return {name: node for node in nodes for name in node.results}


def key_of(node: Node) -> str:
    """What tells a node from the others at any depth: the name of its first result."""
    return node.results[0]


def read_factor(name: str, scope: Known) -> float | None:
    """The number that a floating constant of one element holds, None where it is none, or NaN."""
    array = scope.constant(name) if name else None
    if array is None or array.size != 1 or array.dtype.kind in "OSUbiu":
        return None
    number = float(array.reshape(()))
    return None if math.isnan(number) else number


def refuse(what: str, got: str, want: str, detail: str, node: Node | None = None) -> Reason:
    """The reason for what kernel `attention` does not do."""
    return Reason(Code.KERNEL_LIMIT, (what, got, want), detail, node.name if node is not None else "")
