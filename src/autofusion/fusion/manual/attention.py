"""Attention as a block: the two products round a softmax, and the projections that feed them."""

from __future__ import annotations

from collections.abc import Iterator

from autofusion.fusion.manual.view import sources_past
from autofusion.fusion.manual.words import BIAS, PRODUCT
from autofusion.fusion.scope import Scope
from autofusion.ir import Node

_PRODUCTS = frozenset({"MatMul", "Gemm"})
BEFORE_SOFTMAX = frozenset(
    {"Add", "Sub", "Mul", "Div", "Where", "Cast", "Clip", "Tanh", "Reshape", "Transpose", "Expand", "Squeeze"}
    | {"Unsqueeze", "Identity", "Max"}
)
AFTER_SOFTMAX = frozenset(
    {
        "Cast",
        "Where",
        "IsNaN",
        "NaNGuard",
        "Mul",
        "Dropout",
        "Reshape",
        "Transpose",
        "Identity",
        "Squeeze",
        "Unsqueeze",
        "Expand",
    }
)
BEFORE_SCORES = frozenset({"Rotary", "RotaryEmbedding", "RMSNormalization", "LayerNormalization"})


def find_attention(scope: Scope, part: str) -> Iterator[frozenset[str]]:
    """The nodes of every attention in the graph: of its "core", its "projections" or "both".

    To the projections belongs what brings their results to the core: splitting heads, rotation, a scale.
    """
    for node in scope.graph.topological():
        core = _find_core(scope, node)
        if core is None:
            continue
        nodes, operands = core
        projections, way = _find_projections(scope, operands)
        if part == "core":
            yield nodes
        elif projections:
            yield projections | way if part == "projections" else nodes | projections | way


def _find_core(scope: Scope, node: Node) -> tuple[frozenset[str], tuple[str, ...]] | None:
    """The nodes of the core round a softmax, and the values that queries, keys and values come in by."""
    if node.op == "Attention" and not node.domain:
        return frozenset({node.name}), node.inputs[:3]
    if node.op != "Softmax" or node.domain:
        return None
    ahead = _walk_up(scope, node)
    behind = _walk_down(scope, node)
    if ahead is None or behind is None:
        return None
    scores, mixed = scope.graph.node(ahead[0]), scope.graph.node(behind[0])
    masks = _find_masks(scope, ahead)
    return frozenset({node.name, *ahead, *behind, *masks}), (scores.input(0), scores.input(1), mixed.input(1))


def _walk_up(scope: Scope, softmax: Node) -> list[str] | None:
    """The product of queries and keys, then what lies between it and the softmax."""
    pending: list[tuple[str, list[str]]] = [(softmax.input(0), [])]
    seen: set[str] = set()
    for value, way in pending:
        node = scope.graph.producer(value)
        if node is None or node.domain or node.name in seen:
            continue
        seen.add(node.name)
        if node.op in _PRODUCTS and not any(scope.constant(name) is not None for name in node.inputs[:2]):
            return [node.name, *way]
        if node.op in BEFORE_SOFTMAX:
            pending += [(operand, [*way, node.name]) for operand in node.operands]
    return None


def _find_masks(scope: Scope, ahead: list[str]) -> list[str]:
    """What makes truth values the numbers of a mask, for one of the nodes `ahead` alone."""
    found: list[str] = []
    for value in (name for reader in ahead for name in scope.graph.node(reader).operands):
        node = scope.graph.producer(value)
        if node is None or node.op != "Where" or node.domain or value in scope.graph.outputs:
            continue
        are_constant = all(scope.constant(name) is not None for name in node.inputs[1:])
        if are_constant and len(scope.graph.consumers(value)) == 1:
            found.append(node.name)
    return found


def _walk_down(scope: Scope, softmax: Node) -> list[str] | None:
    """The product of the weights and the values, then what lies between it and the softmax."""
    found: list[str] = []
    pending = [softmax.outputs[0]]
    for value in pending:
        for node in dict.fromkeys(use.node for use in scope.graph.consumers(value)):
            if node.op in _PRODUCTS and node.input(0) == value and not node.domain:
                return [node.name, *found]
            if node.op in AFTER_SOFTMAX and node.name not in found:
                found.append(node.name)
                pending += node.results
    return None


def _find_projections(scope: Scope, operands: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The products with constant weights behind `operands`, their biases included, and the nodes on the way."""
    found: set[str] = set()
    passed: set[str] = set()
    pending: list[tuple[str, tuple[str, ...]]] = [(value, ()) for value in operands if value]
    for value, before in pending:
        for node, way in sources_past(scope, value):
            dense = _find_dense(scope, node)
            if dense:
                found |= dense
                passed |= {*before, *way}
            elif node.op in BEFORE_SCORES:
                pending.append((node.input(0), (*before, *way, node.name)))
    return frozenset(found), frozenset(passed)


def _find_dense(scope: Scope, node: Node) -> frozenset[str]:
    """A product with a constant weight, or the addition of a bias to one; nothing otherwise."""
    if node.op in PRODUCT.ops and not node.domain:
        return frozenset({node.name} if scope.constant(node.input(1)) is not None else ())
    if node.op not in BIAS.ops or node.domain:
        return frozenset()
    computed = [name for name in node.inputs if scope.constant(name) is None]
    below = scope.graph.producer(computed[0]) if len(computed) == 1 else None
    dense = _find_dense(scope, below) if below is not None and below.op in PRODUCT.ops else frozenset[str]()
    return dense | {node.name} if dense else dense
