"""The driver: normalize to a fixed point, fuse stage by stage, in every nested graph, and say what happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from autofusion.fusion.candidate import Proposal
from autofusion.fusion.controls import Controls, Switches, resolve_controls
from autofusion.fusion.explain import collect_left_out, collect_misses, index_beginnings
from autofusion.fusion.legality import check_cycle
from autofusion.fusion.manual.reserve import open_scopes, reserve_groups
from autofusion.fusion.manual.rules import MANUAL_LEVEL
from autofusion.fusion.manual.survey import Picture, Rewrite, picture_graphs
from autofusion.fusion.misses import Miss, choose_best
from autofusion.fusion.passes import FUSION_PASSES
from autofusion.fusion.reasons import Code
from autofusion.fusion.region import Region, check_region, refused_region
from autofusion.fusion.rewrite import apply_candidate, apply_region, restore_node
from autofusion.fusion.scope import Scope
from autofusion.fusion.select import RootIndex, find_candidates, index_roots, select_candidates
from autofusion.ir import MANUAL, Attribute, Graph, Node
from autofusion.ir.verify import verify_graph, verify_nodes
from autofusion.patternlang.model import Pattern

STAGE_NAMES = ("normalize", "fuse 1", "fuse 2")

REMAINDER_KERNEL = "pointwise"
"""Kernel of the fusion that takes what all others left."""


@dataclass(frozen=True)
class Fusion:
    """One rewrite, the `number`-th from 1: the fused `node`, what made it, the nodes it replaced.

    `stage` is 0 for a normal form; `members` are the nodes replaced in this step, `operators` what each is, `origin`
    the ONNX nodes behind them; `inside` names the fused node that wraps this one later, `graph` the control-flow node
    around it, `group` the node of the manual rule in whose body it was made.  A manual rule makes nodes of level 0,
    with `MANUAL` as pattern.
    """

    node: str
    pattern: str
    display: str
    op: str
    kernel: str
    level: int
    stage: int
    members: tuple[str, ...]
    origin: tuple[str, ...]
    number: int
    inside: str | None = None
    graph: str = ""
    group: str = ""
    operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class FusionResult:
    """What `fuse` did: fusions and normal forms in the order they were made, and what did not apply as it was found.

    `misses` are the near ones, the best for each anchor; `attempts` are all, the far ones and lesser ones too.
    `barred` names the nodes of the graph that the controls keep out of every fusion.
    """

    fusions: tuple[Fusion, ...]
    misses: tuple[Miss, ...]
    normalized: tuple[Fusion, ...]
    attempts: tuple[Miss, ...] = ()
    barred: frozenset[str] = frozenset()


def fuse(graph: Graph, patterns: Iterable[Pattern], controls: Controls | None = None) -> FusionResult:
    """Rewrite `graph` in place by `patterns`, as far as `controls` allow.

    Manual rules take their nodes before anything else.  Normalize patterns come first, to a fixed point, then
    the fusions of stage 1, then those of stage 2, within each group of a manual rule and outside of them all;
    where automatic fusion is off, within the groups alone.
    Nested graphs of control flow are exchanged for rewritten copies.  The same graph and patterns
    give the same result, whatever order nodes were added in.  Raises UsageError AF310 or AF311 for controls that
    mean nothing, and InternalError AF901 where a rewrite broke the graph.
    """
    known = tuple(patterns)
    chosen = controls or Controls()
    switches = resolve_controls(chosen, known, graph)
    if not chosen.auto_fusion and not chosen.rules:
        return FusionResult((), (), ())
    fuser = _Fuser(switches)
    if chosen.rules:
        fuser.reserve(graph, known)
        verify_graph(graph, "manual fusion")
    for stage, name in enumerate(STAGE_NAMES):
        own = [pattern for pattern in known if pattern.stage == stage]
        fuser.run_stage(Scope(graph), stage, own)
        verify_graph(graph, name)
    fuser.restore()
    graph.discard_unused()
    barred = frozenset(node.name for node in graph if switches.bar(node) is not None)
    return replace(fuser.result(), barred=barred)


def _survey(graph: Graph, patterns: Sequence[Pattern], switches: Switches) -> Mapping[str, Picture]:
    """What automatic fusion would make of `graph`, which stays as it is."""
    fuser = _Fuser(replace(switches, controls=replace(switches.controls, auto_fusion=True, stop_after=None)))
    work = graph.copy()
    normal = work
    for stage, _ in enumerate(STAGE_NAMES):
        fuser.run_stage(Scope(work), stage, [pattern for pattern in patterns if pattern.stage == stage])
        if not stage:
            normal = work.copy()
    fuser.restore()
    result = fuser.result()
    steps = sorted((*result.normalized, *result.fusions), key=lambda step: step.number)
    rewrites = [
        Rewrite(step.graph, step.node, frozenset({step.pattern, step.display, step.op}), step.members, not step.stage)
        for step in steps
        if not step.group
    ]
    return picture_graphs({scope.path: scope for scope in open_scopes(Scope(normal))}, rewrites)


class _Fuser:
    """The records of one run, and the steps that add to them."""

    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._count = 0
        self._steps: list[Fusion] = []
        self._provisional: list[Fusion] = []
        self._misses: list[tuple[int, Miss]] = []
        # (graph, group) -> what it is now, after copying.
        self._graphs: dict[tuple[str, str], Graph] = {}
        # (graph, node) -> the steps that replaced a node of this name, and the one that made it last.
        self._takers: dict[tuple[str, str], list[Fusion]] = {}
        self._makers: dict[tuple[str, str], Fusion] = {}

    def reserve(self, graph: Graph, patterns: Sequence[Pattern]) -> None:
        """Make the groups of the manual rules."""
        for group in reserve_groups(graph, self._switches, lambda: _survey(graph, patterns, self._switches)):
            self._count += 1
            self._steps.append(
                Fusion(
                    node=group.node.name,
                    pattern=MANUAL,
                    display=group.node.display,
                    op=group.node.op,
                    kernel="",
                    level=MANUAL_LEVEL,
                    stage=1,
                    members=group.members,
                    origin=group.node.origin,
                    number=self._count,
                    graph=group.path,
                )
            )

    def run_stage(self, scope: Scope, stage: int, patterns: Sequence[Pattern]) -> None:
        """Apply `patterns` in nested graphs and groups of `scope`, then in its own; normal forms to a fixed point."""
        self._graphs[scope.path, scope.group] = scope.graph
        for node in scope.graph.topological():
            if node.subgraphs():
                scope.graph.update(self._run_nested(scope, node, stage, patterns))
            elif node.pattern == MANUAL:
                scope.graph.update(self._run_group(scope, node, stage, patterns))
        if not self._switches.controls.auto_fusion and not scope.group:
            return
        roots = index_roots(patterns)
        # A part of a spelling says nothing by itself; a part of a fusion is a node left unfused.
        beginnings = index_beginnings(patterns if stage else ())
        is_first = True
        # A fused node stands in no pattern of its own stage, so one sweep finds all; a normal form may.
        while self._sweep(scope, stage, roots, beginnings, is_first) and not stage:
            is_first = False
        passes = [pattern for pattern in patterns if pattern.pass_name]
        for pattern in sorted(passes, key=lambda pattern: (-pattern.benefit, pattern.name)):
            self._run_pass(scope, pattern)

    def restore(self) -> None:
        """Undo what was applied only to be wrapped, and was not."""
        for step in self._provisional:
            if self._wrapper(step) is None:
                self._steps.remove(step)
                home = self._graphs[step.graph, step.group]
                restore_node(home, home.node(step.node))
                for member in step.members:
                    self._takers[step.graph, member].remove(step)
                del self._makers[step.graph, step.node]

    def result(self) -> FusionResult:
        """The records, each step with the node that wraps it, misses without those that came good."""
        steps = [replace(step, inside=self._wrapper(step) or step.group or None) for step in self._steps]
        attempts = tuple(miss for stage, raw in self._misses for miss in self._settle(stage, raw))
        return FusionResult(
            fusions=tuple(step for step in steps if step.stage),
            misses=tuple(choose_best(miss for miss in attempts if miss.is_near)),
            normalized=tuple(step for step in steps if not step.stage),
            attempts=attempts,
        )

    def _run_nested(self, scope: Scope, node: Node, stage: int, patterns: Sequence[Pattern]) -> Node:
        attributes: dict[str, Attribute] = dict(node.attributes)
        for key, nested in node.subgraphs():
            # Copies of the outer graph share this one, so it is not edited in place.
            copy = nested.copy()
            path = f"{scope.path}/{node.name}.{key}" if scope.path else f"{node.name}.{key}"
            self.run_stage(Scope(copy, scope, path), stage, patterns)
            copy.discard_unused()
            attributes[key] = copy
        return replace(node, attributes=attributes)

    def _run_group(self, scope: Scope, node: Node, stage: int, patterns: Sequence[Pattern]) -> Node:
        """The group with its body rewritten; constants that only a spelling needed are no operands any more."""
        assert node.body is not None
        body = node.body.copy()
        self.run_stage(Scope(body, scope, scope.path, node.name), stage, patterns)
        body.inputs = tuple(name for name in body.inputs if body.consumers(name))
        body.discard_unused()
        return replace(node, inputs=body.inputs, body=body)

    def _sweep(self, scope: Scope, stage: int, roots: RootIndex, beginnings: RootIndex, is_first: bool) -> bool:
        """Find, choose and apply once; True where something was applied."""
        if self._is_spent():
            return False
        findings = find_candidates(scope, roots, self._switches)
        selection = select_candidates(findings.candidates)
        misses = (
            collect_misses(scope, beginnings, findings, selection) if is_first else collect_left_out(scope, findings)
        )
        self._misses += [(stage, miss) for miss in misses]
        provisional = {id(candidate) for candidate, block in findings.blocked if block.provisional}
        outer = frozenset(scope.graph.captures())
        applied = False
        for candidate in selection.chosen:
            if self._is_spent() or check_cycle(scope, candidate.pattern, candidate.binding) is not None:
                continue
            node = apply_candidate(scope, candidate)
            verify_nodes(scope.graph, [node.name], candidate.pattern.name, outer)
            self._record(scope, candidate, node, id(candidate) in provisional)
            applied = True
        return applied

    def _run_pass(self, scope: Scope, pattern: Pattern) -> None:
        """Apply what the pass of `pattern` finds, where the controls and the graph allow it."""
        if self._is_spent():
            return
        found = FUSION_PASSES[pattern.pass_name](scope, pattern)
        misses = list(found.misses)
        allowed: list[Region] = []
        provisional: set[int] = set()
        for region in found.regions:
            block = self._switches.block(region)
            if block is not None:
                misses.append(refused_region(scope, region, block.reason))
            if block is not None and block.provisional:
                provisional.add(id(region))
            if block is None or block.provisional:
                allowed.append(region)
        outer = frozenset(scope.graph.captures())
        for region in select_candidates(allowed).chosen:
            if self._is_spent():
                break
            reason = check_region(scope, region)
            if reason is not None:
                misses.append(refused_region(scope, region, reason))
                continue
            node = apply_region(scope, region)
            verify_nodes(scope.graph, [node.name], pattern.name, outer)
            self._record(scope, region, node, id(region) in provisional)
        self._misses += [(pattern.stage, miss) for miss in misses]

    def _is_spent(self) -> bool:
        limit = self._switches.controls.stop_after
        return limit is not None and self._count >= limit

    def _record(self, scope: Scope, candidate: Proposal, node: Node, is_provisional: bool) -> None:
        self._count += 1
        step = Fusion(
            node=node.name,
            pattern=candidate.pattern.name,
            display=candidate.display,
            op=candidate.op,
            kernel=candidate.pattern.kernel,
            level=candidate.pattern.level,
            stage=candidate.pattern.stage,
            members=tuple(member.name for member in candidate.nodes),
            operators=tuple(member.op for member in candidate.nodes),
            origin=node.origin,
            number=self._count,
            graph=scope.path,
            group=scope.group,
        )
        self._steps.append(step)
        if is_provisional:
            self._provisional.append(step)
        for member in step.members:
            self._takers.setdefault((scope.path, member), []).append(step)
        self._makers[scope.path, node.name] = step

    def _wrapper(self, step: Fusion) -> str | None:
        """The fused node that a later step put around `step`'s node."""
        takers = self._takers.get((step.graph, step.node), [])
        # A fused node often has the name of one that it replaced.
        later = takers[takers.index(step) + 1 :] if step in takers else takers
        return later[0].node if later else None

    def _taker(self, stage: int, graph: str, node: str) -> Fusion | None:
        """The step that replaced `node` as it stood when `stage` began; one of the remainder answers no question."""
        takers = self._takers.get((graph, node), ())
        return next((step for step in takers if step.stage >= stage and step.kernel != REMAINDER_KERNEL), None)

    def _settle(self, stage: int, miss: Miss) -> list[Miss]:
        """The miss with what was applied in its place; none where its nodes are in as large a fusion, or all in one."""
        step = self._taker(stage, miss.graph, miss.anchor)
        if not miss.reason.is_automatic and self._is_settled(stage, miss, step):
            return []
        applied = step or self._makers.get((miss.graph, miss.anchor))
        if applied is None:
            return [miss]
        key = miss.graph
        rest = tuple(
            node
            for node in miss.bound.values()
            if self._taker(stage, key, node) is None and (key, node) not in self._makers
        )
        # Everything that it bound was fused; it only wished for another operator beside.
        if miss.code is Code.OPERATOR and not rest and set(miss.bound.values()) <= set(applied.members):
            return []
        return [replace(miss, instead=applied.display, left_out=rest)]

    def _is_settled(self, stage: int, miss: Miss, step: Fusion | None) -> bool:
        """True where the nodes of `miss` are in as large a fusion; `step` replaced its anchor."""
        root = self._taker(stage, miss.graph, miss.root)
        is_taken = miss.code is Code.TAKEN_BY
        if not stage and root is not None and not root.stage:
            # It became a normal form by another spelling.
            return True
        if root is not None and not is_taken and (root.pattern == miss.pattern or root.stage > 1):
            return True
        return step is not None and (is_taken or len(step.members) >= miss.needed)
