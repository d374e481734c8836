"""What the stages did -> the fusion report: counts, reasons and estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from autofusion.decisions import BankUse, LayerChoice, StoredWeight
from autofusion.frontend import Model
from autofusion.fusion import Fusion, FusionResult, Miss
from autofusion.ir import Graph, Node
from autofusion.lowering import Lowered
from autofusion.lowering.cost import CostModel, estimate_speedup
from autofusion.report.records import (
    FusedNode,
    FusionReport,
    MissedNode,
    NormalizedCount,
    PatternCount,
)
from autofusion.tuning import Bank, Key, digest_bank


def count_types(graph: Graph) -> Counter[str]:
    """How many nodes of each operator `graph` has, those of control-flow graphs included."""
    counts: Counter[str] = Counter()
    for node in graph:
        counts[node.op] += 1
        for _, nested in node.subgraphs():
            counts += count_types(nested)
    return counts


def name_operators(graph: Graph) -> dict[str, str]:
    """The operators of the nodes of `graph`, those of control-flow graphs included, by their ONNX names."""
    found: dict[str, str] = {}
    for node in graph:
        found |= dict.fromkeys(node.origin, node.op)
        for _, nested in node.subgraphs():
            found |= name_operators(nested)
    return found


def build_report(
    model: Model,
    before: Counter[str],
    graph: Graph,
    result: FusionResult,
    lowered: Lowered,
    precision: str,
    bank: Bank | None = None,
) -> FusionReport:
    """The report on one compilation: `before` counts the operators of the model as read, `graph` is the fused one.

    `precision` is the precision mode, `bank` the tuning bank that lowering had.
    """
    after = count_types(graph)
    displays = {fusion.node: fusion.display for fusion in result.fusions}
    return FusionReport(
        operators_before=model.operator_count,
        operators_after=after.total(),
        steps=len(lowered.plan.steps),
        patterns=tuple(_count_patterns(result.fusions, graph, lowered)),
        normalized=tuple(_count_normalized(result.normalized)),
        fused=tuple(_fused_node(fusion, displays) for fusion in result.fusions),
        misses=tuple(map(missed_node, result.misses)),
        host=lowered.host_steps,
        by_type_before=before,
        by_type_after=after,
        estimated_speedup=estimate_speedup(graph, lowered=lowered),
        precision=precision,
        weights=strip_packing(lowered.stored),
        carried=lowered.carried,
        halves=strip_packing(lowered.halves),
        limits=lowered.plan.limits,
        gears=lowered.plan.gears,
        layers=lowered.layers,
        bank=None if bank is None else _count_bank(bank, lowered.layers),
    )


def strip_packing(weights: Iterable[StoredWeight]) -> tuple[StoredWeight, ...]:
    """The weights under the names that the model gives them."""
    return tuple(replace(weight, tensor=weight.tensor.partition(":packed")[0]) for weight in weights)


def find_taken(bank: Bank, layers: Iterable[LayerChoice]) -> frozenset[Key]:
    """The keys of the choices in a bank that `layers` took."""
    return frozenset(_find_keys(bank, (layer for layer in layers if layer.source == "bank")))


def _count_bank(bank: Bank, layers: Sequence[LayerChoice]) -> BankUse:
    taken = find_taken(bank, layers)
    refused = {*_find_keys(bank, (layer for layer in layers if layer.refused))} - taken
    unused = len(bank.choices) - len(taken) - len(refused)
    return BankUse(bank.name, bank.target, digest_bank(bank.narrow(taken)), len(taken), len(refused), unused)


def _find_keys(bank: Bank, layers: Iterable[LayerChoice]) -> Iterator[Key]:
    for layer in layers:
        found = bank.find(layer.section, layer.layer)
        if found is not None:
            yield found[0]


def _count_patterns(fusions: Iterable[Fusion], graph: Graph, lowered: Lowered) -> Iterator[PatternCount]:
    """One row for every display name, in order of first use."""
    groups: dict[tuple[str, str], list[Fusion]] = {}
    for fusion in fusions:
        groups.setdefault((fusion.display, fusion.op), []).append(fusion)
    times = {node.name: seconds for node, seconds in _estimate_nodes(graph, lowered)}
    for (display, op), group in groups.items():
        unfused, fused = (sum(times[fusion.node][place] for fusion in group) for place in (0, 1))
        inside = sum(fusion.inside is not None for fusion in group)
        sources = dict(Counter(fusion.pattern for fusion in group))
        speedup = unfused / fused if fused else 1.0
        yield PatternCount(display, op, group[0].level, len(group), inside, speedup, sources=sources)


def _estimate_nodes(graph: Graph, lowered: Lowered | None) -> Iterator[tuple[Node, tuple[float, float]]]:
    """Every fused node, wrapped ones included, with its estimated seconds before and after.

    A wrapped node, and one in a nested graph, has no calls of its own in the plan: it is taken at its word.
    """
    model = CostModel(graph, lowered=lowered)
    for node in graph:
        for _, nested in node.subgraphs():
            yield from _estimate_nodes(nested, None)
        if node.body is not None:
            yield node, (model.unfused_seconds([node]), model.fused_seconds([node]))
            yield from _estimate_nodes(node.body, None)


def _count_normalized(normalized: Iterable[Fusion]) -> Iterator[NormalizedCount]:
    groups: dict[tuple[str, str], Counter[str]] = {}
    for fusion in normalized:
        groups.setdefault((fusion.display, fusion.op), Counter())[fusion.pattern] += 1
    for (display, op), sources in groups.items():
        yield NormalizedCount(display, op, sources.total(), dict(sources))


def _fused_node(fusion: Fusion, displays: dict[str, str]) -> FusedNode:
    inside = displays.get(fusion.inside, "") if fusion.inside else ""
    return FusedNode(fusion.node, fusion.display, fusion.op, fusion.origin, inside, fusion.operators)


def missed_node(miss: Miss) -> MissedNode:
    """The record of a miss."""
    at_node, at_value = miss.culprit
    return MissedNode(
        node=miss.anchor,
        pattern=miss.display,
        reason=str(miss.reason),
        message=miss.detail,
        help=miss.help,
        matched=miss.satisfied,
        total=miss.needed,
        place=f"{miss.span.path.rpartition('/')[2]}:{miss.span.line}",
        instead=miss.instead,
        number=miss.number,
        sentence=miss.message,
        text=miss.text,
        bound=miss.bound,
        at_node=at_node,
        at_value=at_value,
    )
