"""Applying a match: the bound nodes move into the body of one new node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autofusion.diagnostics import Diagnostic
from autofusion.errors import PatternError
from autofusion.fusion.candidate import Candidate, Proposal
from autofusion.fusion.emission import Emitted, emit
from autofusion.fusion.legality import escaped_values
from autofusion.fusion.region import Region
from autofusion.fusion.scope import Scope
from autofusion.ir import FUSED_DOMAIN, Graph, Node
from autofusion.patternlang.model import Reference


def apply_candidate(scope: Scope, candidate: Candidate) -> Node:
    """Replace the nodes of `candidate` by one node and return it.

    Its operands come in the order in which the pattern's text names them; its results are
    the root's, then those that `escape` names and something reads.  What emits an operator of ONNX
    becomes that operator, everything else keeps the replaced nodes as its body.  Raises PatternError
    AF320 where a normalize pattern emits no operand for a value that is no constant.
    """
    binding = candidate.binding
    root = binding.root
    results = tuple(value for value in root.node.outputs[: len(root.statement.names)] if value)
    outputs = results + escaped_values(scope, candidate.pattern, binding)
    emission = candidate.pattern.emission
    emitted = (
        emit(scope, candidate, emission) if emission is not None else Emitted(_external_operands(candidate), {}, 0)
    )
    node = _make_node(scope, candidate, emitted.inputs, outputs)
    node = replace(node, attributes=emitted.attributes, opset=emitted.opset)
    if not emitted.opset:
        bindings = {bound.statement.name: bound.node.name for bound in binding.members}
        node = _give_body(scope, candidate, node, bindings)
    scope.graph.replace([member.name for member in candidate.nodes], [node])
    return node


def apply_region(scope: Scope, region: Region) -> Node:
    """Replace the nodes of `region` by one node and return it.

    Its operands are what the nodes read from outside, in their order; small constants of integers, which say
    shapes and places, go into the body alone.
    """
    inner = _inner_values(region)
    read = dict.fromkeys(name for node in region.nodes for name in node.operands if name not in inner)
    operands = tuple(name for name in read if not _is_shape(scope, name))
    node = _give_body(scope, region, _make_node(scope, region, operands, region.results), region.bindings)
    scope.graph.replace([member.name for member in region.nodes], [node])
    return node


def restore_node(graph: Graph, node: Node) -> None:
    """Undo `apply_candidate`: put the nodes of the body back in the place of `node`."""
    assert node.body is not None
    values = [value for value in node.body.values.values() if value.name not in graph.values]
    graph.replace([node.name], node.body.topological(), values)


def _external_operands(candidate: Candidate) -> tuple[str, ...]:
    """What the members read from outside, in the order of the pattern's text; operands under `...` come last."""
    inner = _inner_values(candidate)
    named: list[str] = []
    others: list[str] = []
    for bound in candidate.binding.members:
        for term, place in zip(bound.call.arguments, bound.places, strict=True):
            if isinstance(term, Reference):
                named.append(bound.node.input(place))
        others += bound.node.inputs
    return tuple(dict.fromkeys(name for name in (*named, *others) if name and name not in inner))


def _make_node(scope: Scope, proposal: Proposal, operands: tuple[str, ...], outputs: tuple[str, ...]) -> Node:
    root = proposal.root
    return Node(
        name=scope.fresh(f"{root.name}_{proposal.pattern.name}") if root.pattern else root.name,
        op=proposal.op,
        inputs=operands,
        outputs=outputs,
        origin=proposal.origin,
        display=proposal.display,
    )


def _give_body(scope: Scope, proposal: Proposal, node: Node, bindings: Mapping[str, str]) -> Node:
    """`node` as a fused one."""
    body = _build_body(scope, proposal, node.operands, node.outputs)
    return replace(node, domain=FUSED_DOMAIN, body=body, pattern=proposal.pattern.name, bindings=bindings)


def _inner_values(proposal: Proposal) -> set[str]:
    return {value for node in proposal.nodes for value in node.results}


def _is_shape(scope: Scope, name: str) -> bool:
    array = scope.constant(name)
    return array is not None and array.ndim < 2 and array.dtype.kind in "iu"


def _build_body(scope: Scope, proposal: Proposal, operands: tuple[str, ...], outputs: tuple[str, ...]) -> Graph:
    """The replaced nodes under the same names; constants that are no operand of the new node come along."""
    body = Graph(proposal.op, operands, outputs)
    body.opsets = dict(scope.graph.opsets)
    inner = _inner_values(proposal)
    for node in proposal.nodes:
        for name in node.operands:
            if name in inner or body.defines(name):
                continue
            array = scope.constant(name)
            if array is None:
                message = f"pattern {proposal.pattern.name} emits no operand for {name!r} of {node.name}"
                raise PatternError(Diagnostic("AF320", message, help="add it to the inputs of [emit]"))
            body.add_constant(name, array)
    for name in (*operands, *inner):
        body.set_value(scope.value(name))
    for node in proposal.nodes:
        body.add(node)
    return body
