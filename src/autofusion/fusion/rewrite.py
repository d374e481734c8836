"""Applying a match: the bound nodes move into the body of one new node."""

from __future__ import annotations

from dataclasses import replace

from autofusion.diagnostics import Diagnostic
from autofusion.errors import PatternError
from autofusion.fusion.candidate import Candidate
from autofusion.fusion.emission import Emitted, emit
from autofusion.fusion.legality import escaped_values
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
    graph, binding = scope.graph, candidate.binding
    root = binding.root
    results = tuple(value for value in root.node.outputs[: len(root.statement.names)] if value)
    outputs = results + escaped_values(scope, candidate.pattern, binding)
    emission = candidate.pattern.emission
    emitted = (
        emit(scope, candidate, emission) if emission is not None else Emitted(_external_operands(candidate), {}, 0)
    )
    node = Node(
        name=scope.fresh(f"{root.node.name}_{candidate.pattern.name}") if root.node.pattern else root.node.name,
        op=candidate.op,
        inputs=emitted.inputs,
        outputs=outputs,
        attributes=emitted.attributes,
        opset=emitted.opset,
        origin=_origin(candidate),
        display=candidate.display,
    )
    if not emitted.opset:
        node = replace(
            node,
            domain=FUSED_DOMAIN,
            body=_build_body(scope, candidate, node.operands, outputs),
            pattern=candidate.pattern.name,
            bindings={bound.statement.name: bound.node.name for bound in binding.members},
        )
    graph.replace([bound.node.name for bound in binding.members], [node])
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


def _inner_values(candidate: Candidate) -> set[str]:
    return {value for bound in candidate.binding.members for value in bound.node.results}


def _origin(candidate: Candidate) -> tuple[str, ...]:
    names = [name for bound in candidate.binding.members for name in bound.node.origin or (bound.node.name,)]
    return tuple(dict.fromkeys(names))


def _build_body(scope: Scope, candidate: Candidate, operands: tuple[str, ...], outputs: tuple[str, ...]) -> Graph:
    """The replaced nodes under the same names; constants that are no operand of the new node come along."""
    body = Graph(candidate.op, operands, outputs)
    body.opsets = dict(scope.graph.opsets)
    inner = _inner_values(candidate)
    for bound in candidate.binding.members:
        for name in bound.node.operands:
            if name in inner or body.defines(name):
                continue
            array = scope.constant(name)
            if array is None:
                message = f"pattern {candidate.pattern.name} emits no operand for {name!r} of {bound.node.name}"
                raise PatternError(Diagnostic("AF320", message, help="add it to the inputs of [emit]"))
            body.add_constant(name, array)
    for name in (*operands, *inner):
        body.set_value(scope.value(name))
    for bound in candidate.binding.members:
        body.add(bound.node)
    return body
