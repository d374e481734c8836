"""Inference shared by operators that work element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autofusion.ir import Dim, Node, Value
from autofusion.ops.broadcast import broadcast_operands
from autofusion.ops.operands import content_of, result
from autofusion.ops.table import Infer, Scope

Combine = Callable[[Sequence[Dim]], Dim | None]
"""Elements of the operands -> the result's element, None where it is not certain."""


def infer_same(node: Node, scope: Scope) -> Sequence[Value]:
    """The result has the shape of the first operand."""
    return [result(scope.value(node.input(0)).shape)]


def infer_broadcast(node: Node, scope: Scope) -> Sequence[Value]:
    """The result has the common shape of all operands."""
    return [result(broadcast_operands(node, node.operands, scope))]


def infer_with_content(combine: Combine) -> Infer:
    """As `infer_broadcast`, with the content that `combine` gives."""

    def infer(node: Node, scope: Scope) -> Sequence[Value]:
        shape = broadcast_operands(node, node.operands, scope)
        rank = None if shape is None else len(shape)
        content = combine_contents(node, combine, scope) if rank is not None and rank <= 1 else None
        return [result(shape, content=content)]

    return infer


def combine_contents(node: Node, combine: Combine, scope: Scope) -> tuple[Dim, ...] | None:
    """Elements of the result from the operands' contents, None unless all are certain."""
    contents = [content_of(name, scope) for name in node.inputs]
    known = [content for content in contents if content is not None]
    if len(known) != len(contents):
        return None
    lengths = {len(content) for content in known} - {1}
    if len(lengths) > 1:
        return None
    length = lengths.pop() if lengths else 1
    rows = zip(*(content * length if len(content) == 1 else content for content in known), strict=True)
    elements = [combine(row) for row in rows]
    certain = tuple(element for element in elements if element is not None)
    return certain if len(certain) == len(elements) else None
