"""What the user allows: level, lists of names, and the one place where such a name is resolved."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autofusion.cann_passes import COUNTERPARTS, UNMATCHED, means_fusion, own_pass
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.fusion.candidate import Proposal
from autofusion.fusion.manual.rules import Rule
from autofusion.fusion.node_names import collect_node_names, fits, fits_any, names_of
from autofusion.fusion.reasons import AUTO_DISABLE, Code, Reason
from autofusion.ir import Graph, Node
from autofusion.ops.rows import operators
from autofusion.ops.schema import schema_of
from autofusion.patternlang.model import Call, Pattern
from autofusion.patternlang.variants import enumerate_names

LEVELS = (1, 2, 3)

ALL = "ALL"
"""The name in a list of switches that stands for every fusion without one of its own."""


@dataclass(frozen=True)
class Controls:
    """What fusion may do.

    The keys of `disabled` and `whitelist` are operator types, pattern names, display names, names of
    fused operators or CANN's passes; those of `no_fusion_ops` are operator types.  The values say who asked, for the
    report (`GE_FUSION_DISABLE_LIST`).  An operator type that is switched off stands in no fused node; one that is
    white-listed allows every pattern that it stands in.  A disabled name wins over a white-listed one.
    `switches` has lists of names that are on or off, by who gave them; of two lists the earlier one wins, in one list
    a name wins over `ALL` and off over on.  A fusion that is named as on needs no level, but does not escape
    `disabled`, `no_fusion_ops` or `whitelist`.
    `skip_nodes` names ONNX nodes that stand in no fused node, and where there is a `scope`, only nodes that it names
    may fuse; both hold names or globs, by who gave them.
    `rules` are manual rules: they take their nodes before every pattern, also where `auto_fusion` is off, which then
    leaves the patterns nothing but the nodes of one rule.
    `stop_after` ends the work after so many rewrites, to find the one at fault.
    """

    auto_fusion: bool = True
    level: int = 2
    disabled: Mapping[str, str] = field(default_factory=dict[str, str])
    whitelist: Mapping[str, str] | None = None
    no_fusion_ops: Mapping[str, str] = field(default_factory=dict[str, str])
    switches: Mapping[str, Mapping[str, bool]] = field(default_factory=dict[str, Mapping[str, bool]])
    skip_nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    scope: Mapping[str, str] = field(default_factory=dict[str, str])
    rules: tuple[Rule, ...] = ()
    stop_after: int | None = None


@dataclass(frozen=True)
class Block:
    """Why a match may not stay; with `provisional` it is applied all the same, so that another can wrap it."""

    reason: Reason
    provisional: bool = False


@dataclass(frozen=True)
class Switches:
    """Controls whose names are known to mean something; `wrapped` are patterns that a wanted one wraps."""

    controls: Controls
    wrapped: frozenset[str]

    def block(self, candidate: Proposal) -> Block | None:
        """Why `candidate` may not stay in the graph, None where it may."""
        for names in (self.controls.disabled, self.controls.no_fusion_ops):
            for name, by in names.items():
                if _means(name, candidate):
                    advice = f"take {name} off {by}"
                    if by == AUTO_DISABLE:
                        advice = "results were beyond their limits with it: report the fusion, or correct its pattern"
                    return Block(_disabled(candidate, by, f"{name} is switched off by {by}", advice))
        outside = self._check_nodes(candidate)
        if outside is not None:
            return Block(outside)
        by, name, on = self._find_switch(candidate)
        if not on and name == ALL:
            advice = f"switch {candidate.display} on in {by}"
            reason = _disabled(candidate, by, f"{by} switches all fusions off but those it names", advice)
            return Block(reason, provisional=candidate.pattern.name in self.wrapped)
        if not on:
            return Block(_disabled(candidate, by, f"{name} is switched off by {by}", f"take {name} off {by}"))
        needed = candidate.pattern.level
        if needed > self.controls.level and name in ("", ALL):
            detail = f"{candidate.display} needs fusion level {needed}, {self.controls.level} is set"
            advice = f"set the fusion level to {needed}"
            return Block(Reason(Code.LEVEL, (str(needed),), detail, candidate.root.name, help=advice))
        whitelist = self.controls.whitelist
        # Spellings are normalized for whichever pattern may use them.
        if whitelist is None or not candidate.pattern.stage or any(_means(name, candidate) for name in whitelist):
            return None
        by = next(iter(whitelist.values()), "an empty white list")
        reason = _disabled(candidate, by, f"{candidate.display} is not on {by}", f"add {candidate.display} to {by}")
        return Block(reason, provisional=candidate.pattern.name in self.wrapped)

    def _check_nodes(self, candidate: Proposal) -> Reason | None:
        """Why the nodes of `candidate` may not fuse, None where they may."""
        names = [name for node in candidate.nodes for name in node.origin]
        return self._check_names(names, candidate.root.name)

    def bar(self, node: Node) -> Reason | None:
        """Why nothing may fuse `node`, a manual rule neither, None where something may."""
        for names in (self.controls.disabled, self.controls.no_fusion_ops):
            if node.op in names:
                by = names[node.op]
                advice = f"take {node.op} off {by}"
                return Reason(Code.DISABLED, (by,), f"{node.op} is switched off by {by}", node.name, help=advice)
        return self._check_names(names_of(node), node.name)

    def _check_names(self, names: Sequence[str], node: str) -> Reason | None:
        """Why nodes with these ONNX names may not fuse, None where they may; `node` is the one to blame."""
        for glob, by in self.controls.skip_nodes.items():
            found = next((name for name in names if fits(name, glob)), None)
            if found is not None:
                detail = f"{found!r} is kept out of fusion by {by}"
                return Reason(Code.DISABLED, (by,), detail, node, help=f"take {glob} out of {by}")
        scope = self.controls.scope
        outside = next((name for name in names if scope and not fits_any((name,), scope)), None)
        if outside is None:
            return None
        by = next(iter(scope.values()))
        return Reason(Code.DISABLED, (by,), f"{outside!r} is outside {by}", node, help=f"add {outside} to {by}")

    def _find_switch(self, candidate: Proposal) -> tuple[str, str, bool]:
        """Who switches `candidate`, by which name, and whether on; two empty texts and True where nobody does."""
        for by, states in self.controls.switches.items():
            named = [(on, name) for name, on in states.items() if _means(name, candidate)]
            if named:
                on, name = min(named)
                return by, name, on
            if ALL in states:
                return by, ALL, states[ALL]
        return "", "", True


def check_node_names(controls: Controls, graph: Graph) -> None:
    """Raise UsageError AF312 for a name or glob of `skip_nodes` or `scope` that no node of the model `graph` has."""
    given = (*controls.skip_nodes.items(), *controls.scope.items())
    known = sorted(collect_node_names(graph)) if given else []
    for glob, by in given:
        find_nodes(glob, by, known)


def find_nodes(glob: str, by: str, known: Sequence[str]) -> tuple[str, ...]:
    """The names of nodes among `known` that `glob` is or fits; raises UsageError AF312 where there is none."""
    found = tuple(name for name in known if fits(name, glob))
    if found:
        return found
    close = difflib.get_close_matches(glob, known, n=3)
    advice = f"did you mean {', '.join(close)}?" if close else "name nodes of the model, or globs such as 'layer1*'"
    raise UsageError(Diagnostic("AF312", f"{by} names {glob!r}, which is no node of the model", help=advice))


def find_patterns(name: str, by: str, patterns: Sequence[Pattern]) -> tuple[Pattern, ...]:
    """The patterns that `name` means: their own, a display name, a fused operator, a pass of CANN.

    Raises UsageError AF310 where it means none.
    """
    fused = enumerate_names(patterns)
    found = tuple(pattern for pattern in patterns if _names_pattern(name, pattern, fused[pattern.name]))
    if not found:
        raise _unknown_name(name, by, "no pattern", {*fused, *(text for texts in fused.values() for text in texts)})
    return found


def resolve_controls(controls: Controls, patterns: Iterable[Pattern], graph: Graph) -> Switches:
    """`controls` with every name checked.

    Raises UsageError AF310 for a name that no operator and no pattern has, with the closest ones, and AF311
    for a level that there is not.
    """
    if controls.level not in LEVELS:
        raise UsageError(
            Diagnostic("AF311", f"fusion level {controls.level} does not exist", help="the levels are 1, 2 and 3")
        )
    known = tuple(patterns)
    whitelist = controls.whitelist or {}
    if not (controls.disabled or controls.no_fusion_ops or whitelist or controls.switches):
        return Switches(controls, frozenset())
    fused = enumerate_names(known)
    names = {name for pattern in known for name in (pattern.name, *fused[pattern.name])}
    passes = {own_pass(name) for known_names in fused.values() for name in known_names}
    names |= passes | {name for name, _ in COUNTERPARTS} | UNMATCHED
    ops = _operator_types(graph) | {call.op for pattern in known for call in _calls(pattern) if not call.is_pattern}
    switched = [{name: by for name in states if name != ALL} for by, states in controls.switches.items()]
    tables = ((controls.disabled, names), (whitelist, names), *((table, names) for table in switched))
    for table, allowed in (*tables, (controls.no_fusion_ops, set[str]())):
        for name, by in table.items():
            _check_name(name, by, allowed, ops)
    wanted = [*whitelist, *(name for states in controls.switches.values() for name, on in states.items() if on)]
    named = [p for p in known if any(_names_pattern(name, p, fused[p.name]) for name in wanted)]
    wrapped = frozenset(call.op for pattern in named for call in _calls(pattern) if call.is_pattern)
    wrapped |= {reference.name for pattern in named for reference in pattern.wraps}
    return Switches(controls, wrapped)


def _disabled(candidate: Proposal, by: str, detail: str, advice: str) -> Reason:
    return Reason(Code.DISABLED, (by,), detail, candidate.root.name, help=advice)


def _means(name: str, candidate: Proposal) -> bool:
    """True where a name of a list means `candidate`."""
    if name in (candidate.pattern.name, candidate.display, candidate.op) or name in candidate.ops:
        return True
    return means_fusion(name, candidate.display, candidate.op)


def _names_pattern(name: str, pattern: Pattern, fused: frozenset[str]) -> bool:
    """True where a name of a list means one of the `fused` names of `pattern`."""
    return name == pattern.name or any(name == known or means_fusion(name, known, known) for known in fused)


def _check_name(name: str, by: str, names: set[str], ops: set[str]) -> None:
    """Raise UsageError unless `name` is one of the pattern `names`, one of `ops`, or an ONNX operator."""
    if name in names or name in ops or schema_of(name.rpartition("::")[2]) is not None:
        return
    every = {*names, *ops, *(op for domain, op in operators() if not domain)}
    raise _unknown_name(name, by, "no operator and no pattern" if names else "no operator", every)


def _unknown_name(name: str, by: str, what: str, known: Iterable[str]) -> UsageError:
    every = sorted(known)
    same = [text for text in every if text.casefold() == name.casefold()]
    close = same or difflib.get_close_matches(name, every, n=3)
    advice = (
        f"did you mean {', '.join(close)}?"
        if close
        else "known are operator types, pattern names, display names, fused operators and passes of CANN"
    )
    return UsageError(Diagnostic("AF310", f"{by} names {name!r}, which is {what}", help=advice))


def _operator_types(graph: Graph) -> set[str]:
    found: set[str] = set()
    for node in graph:
        found.add(node.op)
        for _, nested in node.subgraphs():
            found |= _operator_types(nested)
    return found


def _calls(pattern: Pattern) -> list[Call]:
    return [call for form in pattern.forms for statement in form.statements for call in statement.calls]
