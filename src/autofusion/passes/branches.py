"""Inlining of the branch that an If with a constant condition takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autofusion.ir import Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.passes.redirect import identity, name_results, redirect_operands
from autofusion.passes.sweep import sweep


def inline_branches(graph: Graph) -> int:
    """Put the nodes and constants of the branch that is taken in the place of its If; returns the Ifs resolved.

    What the branch defines gets new names, results of the If keep theirs.
    """
    return sweep(graph, _inline)


def _inline(node: Node, scope: GraphScope) -> int:
    condition = scope.constant(node.input(0)) if node.op == "If" else None
    if condition is None or condition.size != 1:
        return 0
    branch = dict(node.subgraphs())["then_branch" if condition.reshape(()) else "else_branch"]
    graph = scope.graph
    graph.remove(node.name)
    names = _name_results(node, branch)
    for name, array in branch.constants.items():
        names[name] = scope.define_constant(name, array)
    for inner in branch.topological():
        _add_renamed(inner, branch, names, scope)
    for result, source in zip(node.outputs, branch.outputs, strict=True):
        if result and not graph.defines(result):
            graph.add(identity(scope.fresh(f"{node.name}_{result}"), names.get(source, source), result, node.origin))
    return 1


def _name_results(node: Node, branch: Graph) -> dict[str, str]:
    """New names of the results of the branch's nodes that are results of the If, one each."""
    names: dict[str, str] = {}
    for result, source in zip(node.outputs, branch.outputs, strict=True):
        if result and branch.producer(source) is not None:
            names.setdefault(source, result)
    return names


def _add_renamed(inner: Node, branch: Graph, names: dict[str, str], scope: GraphScope) -> None:
    for result in inner.results:
        if result not in names:
            names[result] = scope.fresh(result)
    renamed = _redirect_all(replace(name_results(inner, names), name=scope.fresh(inner.name)), names)
    values = [replace(branch.value(old), name=names[old]) for old in inner.results]
    known = scope.graph.values
    # The If may be declared better than inference knows the branch.
    scope.graph.add(renamed, [value for value in values if value.shape is not None or value.name not in known])


def _redirect_all(node: Node, names: Mapping[str, str]) -> Node:
    captured = [name for _, graph in node.subgraphs() for name in graph.captures()]
    renamed = node
    for old in dict.fromkeys((*node.operands, *captured)):
        if old in names:
            renamed = redirect_operands(renamed, old, names[old])
    return renamed
