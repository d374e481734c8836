"""The pass `rotary_heads`: rotary position embedding takes in the views round it that only it needs."""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.fusion.attention.rotation import is_rotation, read_way
from autofusion.fusion.attention.sides import Link
from autofusion.fusion.passes.ways import climb_graph, cut_way, descend_graph, find_leak, find_operand
from autofusion.fusion.reasons import Reason
from autofusion.fusion.region import Found, Region, order_nodes
from autofusion.fusion.scope import Scope
from autofusion.ir import Node
from autofusion.patternlang.model import Pattern


def find_rotations(scope: Scope, pattern: Pattern) -> Found:
    """A region for each rotation of heads that has a view before or behind it."""
    regions: list[Region] = []
    for position, node in enumerate(scope.graph.topological()):
        nodes = _grow(scope, node) if is_rotation(node) else []
        if not nodes:
            continue
        members = order_nodes(scope, [node, *nodes])
        result = members[-1].outputs[0]
        bindings = {"rotation": node.name}
        regions.append(Region(pattern, members, members[-1], position, (result,), bindings=bindings))
    return Found(tuple(regions))


def _grow(scope: Scope, node: Node) -> list[Node]:
    """The views round `node` that become one kernel call with it."""
    way: Sequence[Link] = climb_graph(scope, scope, node.input(0), scales=False)
    after = descend_graph(scope, scope, node.outputs[0])
    while True:
        nodes = [*(link.node for link in way), *after]
        last = after[-1].outputs[0] if after else node.outputs[0]
        leak = find_leak(scope, nodes, {node.name, *(other.name for other in nodes)}, {last})
        leak = leak or find_operand(nodes, node.inputs[1:], node.name)
        if leak is not None:
            way = cut_way(way, leak[0])
        elif not isinstance(read_way(node, way, after, scope), Reason):
            return nodes
        elif way:
            way = way[:-1]
        elif after:
            after = after[:-1]
            way = climb_graph(scope, scope, node.input(0), scales=False)
        else:
            return []
