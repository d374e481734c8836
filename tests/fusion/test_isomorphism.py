"""The matcher against networkx: on plain patterns both find the same occurrences."""

from __future__ import annotations

import random
from itertools import pairwise

import networkx as nx
import pytest

from autofusion.diagnostics import Span
from autofusion.fusion.matcher import Matcher
from autofusion.fusion.scope import Scope
from autofusion.ir import Graph
from autofusion.patternlang.graphtext import parse_form
from autofusion.patternlang.lexer import Source
from autofusion.patternlang.model import Form, Reference
from fusion.support import Net

UNARY = ("Exp",)
BINARY = ("Sub", "Mul")
COMMUTATIVE = {"Mul"}


def random_graph(rng: random.Random) -> Graph:
    net = Net()
    values = [net.input("x", (2,)), net.input("y", (2,))]
    for place in range(rng.randint(6, 14)):
        op = rng.choice(UNARY + BINARY)
        recent = values[-4:]
        operands = rng.sample(recent, 2) if op in BINARY else [rng.choice(recent)]
        values.append(net.op(op, " ".join(operands), f"v{place}"))
    return net.output(*values[2:])


def random_form(rng: random.Random) -> Form:
    """A tree or diamond of two statements or more, each result read at least once."""
    lines: list[str] = []
    unread: list[str] = []
    for place in range(rng.randint(2, 3)):
        op = rng.choice(UNARY + BINARY)
        count = 2 if op in BINARY else 1
        chosen = unread[-count:]
        names = [*chosen, *(f"f{place}{i}" for i in range(count - len(chosen)))]
        rng.shuffle(names)
        lines.append(f"s{place} = {op}({', '.join(names)})")
        unread = [name for name in unread if name not in chosen] + [f"s{place}"]
    while len(unread) > 1:
        a, b, *rest = unread
        lines.append(f"j{len(lines)} = {rng.choice(BINARY)}({a}, {b})")
        unread = [*rest, f"j{len(lines) - 1}"]
    return parse_form(Source("\n".join(lines), Span("f", 1, 1)))


def occurrences_by_matcher(graph: Graph, form: Form) -> set[frozenset[tuple[str, str]]]:
    matcher = Matcher(Scope(graph), form)
    return {
        frozenset((name, bound.node.name) for name, bound in binding.nodes.items())
        for node in graph
        if node.op == form.root.calls[0].op
        for binding in matcher.find(form.root, node)
    }


def edge_place(op: str, place: int) -> int:
    return 0 if op in COMMUTATIVE else place


def occurrences_by_networkx(graph: Graph, form: Form) -> set[frozenset[tuple[str, str]]]:
    large, small = nx.MultiDiGraph(), nx.MultiDiGraph()
    for node in graph:
        large.add_node(node.name, op=node.op)
        for place, value in enumerate(node.inputs):
            producer = graph.producer(value)
            if producer is not None:
                large.add_edge(producer.name, node.name, place=edge_place(node.op, place))
    for statement in form.statements:
        call = statement.calls[0]
        small.add_node(statement.name, op=call.op)
        for place, term in enumerate(call.arguments):
            if isinstance(term, Reference) and term.name in form.by_name:
                small.add_edge(term.name, statement.name, place=edge_place(call.op, place))

    def same_places(ours: dict[int, dict[str, int]], theirs: dict[int, dict[str, int]]) -> bool:
        have = sorted(edge["place"] for edge in ours.values())
        want = sorted(edge["place"] for edge in theirs.values())
        return all(have.count(place) >= want.count(place) for place in want)

    matcher = nx.isomorphism.MultiDiGraphMatcher(
        large, small, node_match=lambda ours, theirs: ours["op"] == theirs["op"], edge_match=same_places
    )
    return {
        frozenset((statement, node) for node, statement in mapping.items())
        for mapping in matcher.subgraph_monomorphisms_iter()
    }


@pytest.mark.parametrize("block", range(4))
def test_same_occurrences(block: int) -> None:
    found = 0
    for seed in range(block * 100, block * 100 + 100):
        rng = random.Random(seed)
        graph, form = random_graph(rng), random_form(rng)
        expected = occurrences_by_networkx(graph, form)
        assert occurrences_by_matcher(graph, form) == expected, [statement.text for statement in form.statements]
        found += len(expected)
    assert found > 50


def test_long_chains_take_linear_time() -> None:
    """The steps of the matcher are counted, not timed."""
    steps = []
    for length in (100, 200, 400):
        net = Net()
        last = net.input("x", (2,))
        for place in range(length):
            last = net.op(("Exp", "Neg", "Mul")[place % 3], f"{last} x" if place % 3 == 2 else last, f"v{place}")
        graph = net.output(last)
        form = parse_form(Source("a = Exp(x)\nb? = Neg(a)\nc? = Mul(b, x)\nd = Exp(c)", Span("f", 1, 1)))
        matcher = Counting(Scope(graph), form)
        for node in graph:
            if node.op == "Exp":
                list(matcher.find(form.root, node))
        steps.append(matcher.steps)
    assert all(later <= 2.1 * earlier for earlier, later in pairwise(steps))


class Counting(Matcher):
    """Counts how often a statement meets a node."""

    def __init__(self, scope: Scope, form: Form) -> None:
        super().__init__(scope, form)
        self.steps = 0

    def _match_node(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        self.steps += 1
        return super()._match_node(*args, **kwargs)
