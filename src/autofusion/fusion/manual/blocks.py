"""Where the building blocks that a rule names stand in a graph."""

from __future__ import annotations

from collections.abc import Iterator

from autofusion.fusion.manual.attention import find_attention
from autofusion.fusion.manual.survey import Picture
from autofusion.fusion.manual.view import readers_past
from autofusion.fusion.manual.words import ATTENTION_WORDS, CHAINS, Chain, Unit, operator_word
from autofusion.fusion.scope import Scope
from autofusion.ir import FUSED_DOMAIN, Graph, Node


def find_blocks(graph: Graph, picture: Picture, word: str) -> tuple[frozenset[str], ...]:
    """The sets of nodes of `graph` that `word` means, the preferred ones of one place first.

    A word of the table means what the table says, any other name an operator or what a pattern makes.
    """
    found = dict.fromkeys(picture.expand(block) for block in _find_words(picture.scope, word))
    if word not in CHAINS and word not in ATTENTION_WORDS:
        found |= dict.fromkeys(frozenset({node.name}) for node in graph if _has_operator(node, word))
        found |= dict.fromkeys(nodes for names, nodes in picture.made if word in names)
    return tuple(block for block in found if all(name in graph for name in block))


def _find_words(scope: Scope, word: str) -> Iterator[frozenset[str]]:
    if word in ATTENTION_WORDS:
        yield from find_attention(scope, ATTENTION_WORDS[word])
    elif word in CHAINS:
        for node in scope.graph.topological():
            for chain in CHAINS[word]:
                yield from _match_chain(scope, chain, node, "")
    else:
        yield from (frozenset({node.name}) for node in scope.graph.topological() if _has_operator(node, word))


def _match_chain(scope: Scope, chain: Chain, node: Node, value: str) -> Iterator[frozenset[str]]:
    """The nodes of `chain` from `node` on, which reads `value`, with what moves elements between them."""
    if not _fits(scope, chain[0], node, value):
        return
    if len(chain) == 1:
        yield frozenset({node.name})
        return
    for reader, way, read in readers_past(scope, node.outputs[0]):
        for rest in _match_chain(scope, chain[1:], reader, read):
            yield rest | {node.name, *way}


def _fits(scope: Scope, unit: Unit, node: Node, value: str) -> bool:
    if node.opaque or node.domain not in ("", FUSED_DOMAIN) or not {node.op, node.display} & unit.ops:
        return False
    if unit.biased is not None and bool(node.input(2)) != unit.biased:
        return False
    if unit.other == "any":
        return True
    others = [name for name in node.inputs[:2] if name != value] if value else [node.input(1)]
    are_constant = [scope.constant(name) is not None for name in others]
    return all(are_constant) if unit.other == "constant" else not any(are_constant)


def _has_operator(node: Node, word: str) -> bool:
    if node.opaque or node.domain not in ("", FUSED_DOMAIN):
        return word in (node.op, f"{node.domain}::{node.op}")
    return operator_word(word, node.op) or word == node.display
