"""Why a model is not fused further: the longest attempt for every node, pattern, or place that is worth a fusion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from autofusion.accounting import missed_node
from autofusion.compiler import FusedModel, fuse_model
from autofusion.fusion import Fusion, FusionResult, Miss, find_nodes, find_patterns, rank_miss
from autofusion.ir import Graph, Node
from autofusion.options import CompileOptions
from autofusion.report.explanation import Explanation, NodeStory, PatternStory, Rewrite
from autofusion.services.explain_lowered import make_plan, tell_lowered

ANCHORS = frozenset(
    {
        "Attention",
        "BatchNormalization",
        "Conv",
        "ConvTranspose",
        "Gemm",
        "GroupNormalization",
        "InstanceNormalization",
        "LayerNormalization",
        "MatMul",
        "RMSNormalization",
        "RotaryEmbedding",
        "Softmax",
    }
)
"""Operators round which fusions are built; where one stands alone, that is worth an explanation however far it is."""


def explain_model(
    path: Path, options: CompileOptions | None = None, *, node: str = "", pattern: str = ""
) -> Explanation:
    """What keeps the model in file `path` from being fused further.

    `node` is an ONNX name or a glob, `pattern` any name of a pattern; with both, of these nodes what that pattern
    made of them.  Raises UsageError AF312 for an unknown node, AF310 for an unknown pattern, and what compiling
    raises.
    """
    options = options or CompileOptions()
    fused = fuse_model(path, options)
    wanted = {found.name for found in find_patterns(pattern, "--pattern", fused.patterns)} if pattern else None
    attempts = [miss for miss in fused.result.attempts if wanted is None or miss.pattern in wanted]
    steps = [step for step in _all_steps(fused.result) if wanted is None or step.pattern in wanted]
    if not options.controls.auto_fusion:
        return Explanation(path.name, is_off=True)
    if node:
        made = make_plan(fused, options)
        names = find_nodes(node, "--node", tuple(fused.operators))
        left = {origin for each in _walk(fused.graph) for origin in each.origin}
        stories = (_tell_node(fused, name, steps, attempts, is_removed=name not in left) for name in names)
        told = tuple(replace(story, lowered=tell_lowered(made, story.name)) for story in stories)
        return Explanation(path.name, told)
    if wanted is not None:
        rewrites = tuple(_rewrite(fused, step) for step in _choose_steps(steps, pattern))
        best = _best_by_place(attempts)
        return Explanation(path.name, pattern=PatternStory(pattern, rewrites), misses=tuple(map(missed_node, best)))
    misses = fused.result.misses
    beginnings, strangers = _survey_anchors(fused.graph, misses, attempts)
    return Explanation(
        path.name,
        misses=tuple(map(missed_node, misses)),
        beginnings=tuple(map(missed_node, beginnings)),
        strangers=strangers,
    )


def _all_steps(result: FusionResult) -> list[Fusion]:
    return sorted((*result.normalized, *result.fusions), key=lambda step: step.number)


def _choose_steps(steps: Sequence[Fusion], name: str) -> Sequence[Fusion]:
    """Of the steps of a pattern those that bear `name`; all of them where it is the name of the pattern itself."""
    return [step for step in steps if name in (step.display, step.op)] or steps


def _rewrite(fused: FusedModel, step: Fusion) -> Rewrite:
    parts = {name: fused.operators.get(name, "") for name in step.origin}
    return Rewrite(step.node, step.op, step.pattern, step.display, parts, not step.stage)


def _tell_node(
    fused: FusedModel, name: str, steps: Iterable[Fusion], attempts: Iterable[Miss], *, is_removed: bool
) -> NodeStory:
    rewrites = tuple(_rewrite(fused, step) for step in steps if name in step.origin)
    own = sorted((miss for miss in attempts if name in miss.origin), key=rank_miss, reverse=True)
    best: dict[str, Miss] = {}
    for miss in own:
        best.setdefault(miss.pattern, miss)
    misses = tuple(missed_node(miss) for miss in best.values())
    return NodeStory(name, fused.operators[name], rewrites, misses, is_removed)


def _best_by_place(attempts: Iterable[Miss]) -> list[Miss]:
    best: dict[tuple[str, str], Miss] = {}
    for miss in attempts:
        known = best.get((miss.graph, miss.anchor))
        if known is None or rank_miss(miss) > rank_miss(known):
            best[miss.graph, miss.anchor] = miss
    return list(best.values())


def _survey_anchors(
    graph: Graph, misses: Iterable[Miss], attempts: Iterable[Miss]
) -> tuple[list[Miss], Mapping[str, tuple[str, ...]]]:
    """For the nodes of `ANCHORS` that are in no fused node and in none of `misses`: the longest attempt.

    Those that no attempt bound come by operator, under their ONNX names.
    """
    told = {name for miss in misses for name in miss.origin}
    longest: dict[str, Miss] = {}
    for miss in sorted(attempts, key=rank_miss):
        longest |= dict.fromkeys(miss.origin, miss)
    beginnings: list[Miss] = []
    strangers: dict[str, tuple[str, ...]] = {}
    for node in _walk(graph):
        if node.body is not None or node.op not in ANCHORS or not told.isdisjoint(node.origin):
            continue
        found = [longest[name] for name in node.origin if name in longest]
        if found:
            beginnings.append(max(found, key=rank_miss))
        else:
            strangers[node.op] = (*strangers.get(node.op, ()), *(node.origin or (node.name,)))
    return list(dict.fromkeys(beginnings)), strangers


def _walk(graph: Graph) -> Iterator[Node]:
    """The nodes of `graph` and of its nested graphs, without those in the bodies of fused nodes."""
    for node in graph:
        yield node
        for _, nested in node.subgraphs():
            yield from _walk(nested)
