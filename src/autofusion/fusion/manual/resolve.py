"""What the names in manual rules mean in a model: nodes or building blocks."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.fusion.controls import Controls
from autofusion.fusion.manual.rules import EVERY_RESULT, Kind, Rule
from autofusion.fusion.manual.words import WORDS, operator_word
from autofusion.fusion.node_names import collect_node_names, fits, fits_any
from autofusion.ir import Graph
from autofusion.ops.rows import operators
from autofusion.ops.schema import schema_of
from autofusion.patternlang.model import Pattern
from autofusion.patternlang.variants import enumerate_names


def resolve_rules(controls: Controls, graph: Graph, patterns: Sequence[Pattern]) -> Controls:
    """`controls` with rules that know whether they name nodes of the model `graph` or blocks.

    Raises UsageError AF331 for a name that is neither, with the closest ones, and AF339 for a rule that is
    called like an automatic fusion.
    """
    if not controls.rules:
        return controls
    nodes = sorted(collect_node_names(graph))
    fused = enumerate_names(patterns)
    taken = {name for names in fused.values() for name in names}
    words = {*WORDS, *fused, *taken, *_operator_types(graph)}
    rules: list[Rule] = []
    for given in controls.rules:
        rule = replace(given, kind=guess_kind(given, graph))
        if {rule.name, rule.op} & taken or any(rule.name == other.name for other in rules):
            who = "an automatic fusion" if {rule.name, rule.op} & taken else "another rule"
            message = f"rule {rule.name!r} of {rule.by} is called like {who}"
            raise UsageError(Diagnostic("AF339", message, help="give the rule another name"))
        _check_scope(rule, nodes)
        if rule.kind == "nodes":
            _check_nodes(rule, nodes, graph)
        else:
            _check_blocks(rule, given.kind, nodes, words)
        rules.append(rule)
    return replace(controls, rules=tuple(rules))


def guess_kind(rule: Rule, graph: Graph) -> Kind:
    """What the items of `rule` are: nodes where one of them names a node of `graph`, else blocks."""
    if rule.kind != "any":
        return rule.kind
    return "nodes" if any(fits_any((name,), rule.items) for name in collect_node_names(graph)) else "ops"


def _check_scope(rule: Rule, nodes: list[str]) -> None:
    for glob in rule.scope:
        if not any(fits(name, glob) for name in nodes):
            raise _unknown(rule, f"has {glob!r} as scope, which is no node of the model", glob, nodes)


def _check_nodes(rule: Rule, nodes: list[str], graph: Graph) -> None:
    inside = [name for name in nodes if not rule.scope or fits_any((name,), rule.scope)]
    for item in rule.items:
        if any(fits(name, item) for name in inside):
            continue
        what = "is no node of the model" if inside == nodes else "is no node within its scope"
        raise _unknown(rule, f"names {item!r}, which {what}", item, inside)
    known = [*nodes, *_results(graph)]
    for item in rule.outputs:
        if item != EVERY_RESULT and not any(fits(name, item) for name in known):
            raise _unknown(rule, f"lists {item!r} under outputs, which is no value or node of the model", item, known)


def _check_blocks(rule: Rule, given: Kind, nodes: list[str], words: set[str]) -> None:
    for item in rule.items:
        if item in words or schema_of(item.rpartition("::")[2]) is not None:
            continue
        if any(operator_word(item, op) for domain, op in operators() if not domain):
            continue
        what = "is no building block" if given == "ops" else "is neither a node of the model nor a building block"
        raise _unknown(
            rule, f"names {item!r}, which {what}", item, sorted(words) if given == "ops" else [*nodes, *words]
        )
    for item in rule.outputs:
        if item not in (EVERY_RESULT, *rule.items):
            raise _unknown(rule, f"lists {item!r} under outputs, which is none of its blocks", item, rule.items)


def _unknown(rule: Rule, text: str, name: str, known: Iterable[str]) -> UsageError:
    close = difflib.get_close_matches(name, sorted(known), n=3)
    advice = (
        f"did you mean {', '.join(close)}?" if close else "docs/manual-fusion.md lists the blocks, `dump` the nodes"
    )
    return UsageError(Diagnostic("AF331", f"rule {rule.name!r} of {rule.by} {text}", help=advice))


def _results(graph: Graph) -> Iterator[str]:
    for node in graph:
        yield from node.results
        for _, nested in node.subgraphs():
            yield from _results(nested)


def _operator_types(graph: Graph) -> set[str]:
    found: set[str] = set()
    for node in graph:
        found |= {node.op, f"{node.domain}::{node.op}"} if node.domain else {node.op}
        for _, nested in node.subgraphs():
            found |= _operator_types(nested)
    return found
