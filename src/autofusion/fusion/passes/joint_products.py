"""Products of one value with constant matrices: one product gives the results of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from autofusion.fusion.conditions import constant_reason
from autofusion.fusion.misses import Miss
from autofusion.fusion.products import has_bias, multiplies_rows
from autofusion.fusion.region import Found, Region, order_nodes, region_miss
from autofusion.fusion.scope import Scope
from autofusion.ir import CAPTURED, Node
from autofusion.patternlang.model import Pattern
from autofusion.plan import MAX_RESULTS


def find_joint_products(scope: Scope, pattern: Pattern) -> Found:
    """Two to four products that read one value as rows, all of them with nothing but a bias behind, or all bare.

    Of more than four, as many fours as there are, in running order.
    """
    regions: list[Region] = []
    misses: list[Miss] = []
    for value in _read_values(scope):
        parts = [part for use in _readers(scope, value) if (part := _read_part(scope, use, value)) is not None]
        ordered = order_nodes(scope, (node for node, _ in parts))
        biased = {node.name for node, bias in parts if bias}
        for has, nodes in _split(ordered, biased):
            regions.append(_make_region(pattern, nodes, has))
        if ordered:
            misses += _find_variable(scope, pattern, value, ordered)
    return Found(tuple(regions), tuple(misses))


def _read_values(scope: Scope) -> list[str]:
    """Every value that products read, in the order of the first reader."""
    return list(dict.fromkeys(node.input(0) for node in scope.graph.topological() if node.input(0)))


def _readers(scope: Scope, value: str) -> list[Node]:
    uses = scope.graph.consumers(value)
    return list({use.node.name: use.node for use in uses if use.index != CAPTURED}.values())


def _read_part(scope: Scope, node: Node, value: str) -> tuple[Node, bool] | None:
    """The node and whether it has a bias, None where it does more or something else."""
    nodes = [node] if node.body is None else list(node.body.topological())
    if node.body is not None and node.pattern != "matmul_bias_act":
        return None
    if not multiplies_rows(scope, nodes[0], value):
        return None
    bias = has_bias(scope, nodes)
    return None if bias is None else (node, bias)


def _split(nodes: Sequence[Node], biased: set[str]) -> Iterator[tuple[bool, Sequence[Node]]]:
    """Groups of two to four nodes that all have a bias, or all have none."""
    for has, group in groupby(sorted(nodes, key=lambda node: node.name in biased), lambda node: node.name in biased):
        members = list(group)
        for start in range(0, len(members), MAX_RESULTS):
            part = members[start : start + MAX_RESULTS]
            if len(part) > 1:
                yield has, part


def _find_variable(scope: Scope, pattern: Pattern, value: str, parts: Sequence[Node]) -> Iterator[Miss]:
    """What would be a part as well, were its matrix a constant."""
    for node in _readers(scope, value):
        is_product = node.op in ("MatMul", "Gemm") and not node.domain and node.input(0) == value
        if not is_product or scope.value(node.input(1)).rank != 2:
            continue
        reason = constant_reason(scope, "w", node.input(1))
        if reason is not None:
            bound = {f"part_{place}": part for place, part in enumerate([*parts[: MAX_RESULTS - 1], node], 1)}
            yield region_miss(scope, pattern, bound, f"part_{len(bound)}", reason, len(bound) + 1)


def _make_region(pattern: Pattern, nodes: Sequence[Node], has: bool) -> Region:
    return Region(
        pattern=pattern,
        nodes=tuple(nodes),
        root=nodes[-1],
        position=len(nodes),
        results=tuple(node.outputs[0] for node in nodes),
        words=frozenset({"bias"} if has else ()),
        bindings={f"part_{place}": node.name for place, node in enumerate(nodes, 1)},
    )
