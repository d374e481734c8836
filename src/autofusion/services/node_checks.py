"""Every rewrite by itself: fused nodes against their bodies, normal forms against the nodes they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from autofusion.compiler import FusedModel
from autofusion.ir import Graph, Node
from autofusion.ops import evaluate, widen_array
from autofusion.ops.casting import cast
from autofusion.passes import HALVES
from autofusion.report.verification import Comparison, NodeComparison
from autofusion.services.comparison import Case, compare_tensor
from autofusion.services.evaluate import evaluate_graph
from autofusion.services.rounding import draw_rounding


def compare_fused_nodes(
    graph: Graph, traced: Mapping[str, np.ndarray], case: Case, spellings: AbstractSet[str] = frozenset()
) -> Iterator[NodeComparison]:
    """Every fused node of `graph`: its results in `traced` against its body in float64, on operands in `traced`.

    Nodes that one step computes hand on values that no trace has; these are compared together, by the results of the
    last one.  `spellings` are the own names of the patterns that normalize.  Where a result looks wrong, rounding is
    drawn first: what several evaluations of the body in its own precision show is no fault.
    """
    known = {**graph.constants, **{name: _convert(name, array, graph) for name, array in traced.items()}}
    found: dict[tuple[str, ...], list[Comparison]] = {}
    for node in graph:
        members = _find_members(node, graph, known) if _is_rewrite(node) else ()
        if not members:
            continue
        names = tuple(sorted(member.name for member in members))
        if names not in found:
            body = node.body if len(members) == 1 and node.body is not None else _join_bodies(members, graph, known)
            found[names] = list(_compare_results(body, known, case))
        for result in found[names]:
            yield NodeComparison(node.name, node.op, node.display, result, node.pattern, node.pattern in spellings)


def _convert(name: str, array: np.ndarray, graph: Graph) -> np.ndarray:
    """A value in the type that the model has there: two-byte floats are carried in float32."""
    dtype = graph.value(name).dtype
    return array.astype(dtype.numpy) if dtype is not None and dtype in HALVES and array.dtype == np.float32 else array


def _is_rewrite(node: Node) -> bool:
    """True for fused nodes; the body of a declared operator is no rewrite."""
    return node.body is not None and bool(node.pattern)


def _find_members(node: Node, graph: Graph, known: Mapping[str, np.ndarray]) -> tuple[Node, ...]:
    """The node and those that it must be compared with, from which and to which it hands values that are not known.

    None at all where a node with graphs of its own gives or reads such a value, or nothing does.
    """
    members = {node.name: node}
    pending = [node]
    while pending:
        member = pending.pop()
        sources = [graph.producer(name) for name in member.operands if name not in known]
        readers = [graph.consumers(name) for name in member.results if name not in known]
        if None in sources or not all(readers):
            return ()
        beside = [*filter(None, sources), *(use.node for uses in readers for use in uses)]
        if any(other.subgraphs() for other in beside):
            return ()
        pending += (other for other in beside if other.name not in members)
        members |= {other.name: other for other in beside}
    return tuple(members.values())


def _join_bodies(members: Sequence[Node], graph: Graph, known: Mapping[str, np.ndarray]) -> Graph:
    """The nodes as a graph of what is known: operands that come from outside, and results."""
    results = [name for member in members for name in member.results]
    operands = dict.fromkeys(name for member in members for name in member.operands if name in known)
    inputs = [name for name in operands if name not in results]
    body = Graph(members[0].name, inputs, [name for name in results if name in known])
    for name in (*inputs, *results):
        body.set_value(graph.value(name))
    for member in members:
        body.add(member)
    return body


def _compare_results(body: Graph, known: Mapping[str, np.ndarray], case: Case) -> Iterator[Comparison]:
    operands = {name: known[name] for name in body.inputs}
    exact = evaluate_graph(body, operands, widen=True)
    plain = evaluate_graph(body, operands, widen=False)
    rows = {name: compare_tensor(name, known[name], plain[name], exact[name], case) for name in body.outputs}
    if not all(row.ok for row in rows.values()):
        drawn = draw_rounding(body, operands, exact)
        rows = {
            name: compare_tensor(name, known[name], plain[name], exact[name], case, drawn[name])
            for name in body.outputs
        }
    yield from rows.values()


def compare_spellings(
    spelled: FusedModel, unfused: Graph, feeds: Mapping[str, np.ndarray], case: Case
) -> Iterator[NodeComparison]:
    """Every normal form that is an operator of ONNX, and so keeps no body: on values of the unfused model, in float64.

    What the operator gives is compared with what the nodes give that it took the place of.  `spelled` has its
    normal forms and no fusion yet, `unfused` is the same model without them.  Normal forms in nested graphs, and
    those of which an operand is a value that the unfused model does not have, are left out.
    """
    graph = spelled.graph
    made = {step.node: step for step in spelled.result.normalized if not step.graph and step.node in graph}
    nodes = [node for node in map(graph.node, made) if node.body is None and _is_known(node, graph, unfused)]
    wanted = {name for node in nodes for name in (*node.operands, *node.results) if name not in graph.constants}
    known = evaluate_graph(unfused, feeds, widen=True, keep=wanted) if nodes else {}
    for node in nodes:
        step = made[node.name]
        operands = [_operand(name, graph, known) for name in node.inputs]
        for name, array in zip(node.outputs, evaluate(node, operands, widen=True), strict=False):
            if name:
                result = _compare_exactly(name, array, known[name], unfused, case)
                yield NodeComparison(node.name, node.op, step.display, result, step.pattern, is_spelling=True)


def _is_known(node: Node, graph: Graph, unfused: Graph) -> bool:
    """True where the unfused model has all values that `node` reads and gives."""
    values = (name for name in (*node.operands, *node.results) if name not in graph.constants)
    return not node.subgraphs() and all(unfused.defines(name) for name in values)


def _operand(name: str, graph: Graph, known: Mapping[str, np.ndarray]) -> np.ndarray | None:
    if not name:
        return None
    return widen_array(graph.constants[name]) if name in graph.constants else known[name]


def _compare_exactly(name: str, ours: np.ndarray, exact: np.ndarray, graph: Graph, case: Case) -> Comparison:
    """The verdict on a result in float64, by the limit of the type that the model has there."""
    dtype = graph.value(name).dtype
    if dtype is None or ours.dtype.kind != "f":
        return compare_tensor(name, ours, exact, exact, case)
    return compare_tensor(name, cast(ours, dtype), cast(exact, dtype), exact, case)
