"""Topological order of nodes as the file has them, in whatever order they stand there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autofusion.frontend.faults import CYCLE, fault
from autofusion.frontend.frames import RawNode


def sort_nodes(nodes: Sequence[RawNode], outputs: Iterable[str]) -> list[RawNode]:
    """`nodes`, producers first; raises ModelError where a node depends on itself.

    The order depends on the structure alone, as that of `Graph.topological` does: depth first
    from the outputs, operands in order; nodes that no output needs follow, by their results.
    """
    producers = {value: index for index, node in enumerate(nodes) for value in node.outputs if value}
    leftover = sorted(range(len(nodes)), key=lambda index: (nodes[index].outputs, nodes[index].name))
    order: list[RawNode] = []
    done: set[int] = set()
    for root in (*(producers[value] for value in outputs if value in producers), *leftover):
        pending = [] if root in done else [(root, _operands(nodes[root], producers))]
        entered = {root}
        while pending:
            index, operands = pending[-1]
            following = next((operand for operand in operands if operand not in done), None)
            if following is None:
                pending.pop()
                entered.discard(index)
                done.add(index)
                order.append(nodes[index])
            elif following in entered:
                node = nodes[following]
                raise fault(CYCLE, f"node {node.label!r} ({node.proto.op_type}) depends on its own result")
            else:
                entered.add(following)
                pending.append((following, _operands(nodes[following], producers)))
    return order


def _operands(node: RawNode, producers: dict[str, int]):
    return iter([producers[value] for value in (*node.inputs, *node.captured) if value in producers])
