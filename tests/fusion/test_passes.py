"""What holds for every pass in Python: readers, outputs, cycles, order of results, controls, and where it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from autofusion.fusion import Controls, FusionResult, fuse
from autofusion.fusion.passes import FUSION_PASSES
from autofusion.fusion.region import Found, Region
from autofusion.fusion.scope import Scope
from autofusion.ir import Graph
from autofusion.patternlang import Pattern, load_patterns
from autofusion.patternlang.vocabulary import PASSES
from fusion.support import Net, displays, ops

PLAIN = (2, 3)


def header(name: str, *, benefit: int = 0, stage: int = 1, level: int = 1, wraps: str = "") -> str:
    return f"""schema = 1
name = "{name}"
summary = "s"
display = "{name.title()}{{+Word}}"
op = "{name.title()}FusionOp"
kernel = "chain"
benefit = {benefit}
stage = {stage}
level = {level}
pass = "rotary_heads"
wraps = [{wraps}]
"""


def take(*names: str, results: Sequence[str], words: Sequence[str] = ()) -> Callable[[Scope, Pattern], Found]:
    """A pass that finds the nodes `names`, where they all are, and no more."""

    def find(scope: Scope, pattern: Pattern) -> Found:
        if any(name not in scope.graph for name in names):
            return Found()
        nodes = tuple(scope.graph.node(name) for name in names)
        return Found((Region(pattern, nodes, nodes[-1], 0, tuple(results), frozenset(words)),))

    return find


@pytest.fixture
def apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., FusionResult]:
    def run(
        graph: Graph, find: Callable[[Scope, Pattern], Found], controls: Controls | None = None, *headers: str
    ) -> FusionResult:
        monkeypatch.setitem(FUSION_PASSES, "rotary_heads", find)  # type: ignore[arg-type]
        for text in headers or (header("mine"),):
            (tmp_path / f"{text.split(chr(34))[1]}.toml").write_text(text, encoding="utf-8")
        return fuse(graph, load_patterns([tmp_path]), controls)

    return run


def chain(*outputs: str) -> Graph:
    """a = Exp(x), b = Neg(a), c = Add(b, a)."""
    net = Net()
    net.input("x", PLAIN)
    net.op("Exp", "x", "a")
    net.op("Neg", "a", "b")
    net.op("Add", "b a", "c")
    return net.output(*outputs)


def told(result: FusionResult) -> list[str]:
    return [str(miss.reason) for miss in result.misses]


def test_every_pass_is_in_the_vocabulary() -> None:
    assert FUSION_PASSES.keys() == PASSES.keys()


def test_a_region_becomes_one_node(apply: Callable[..., FusionResult]) -> None:
    graph = chain("c")
    result = apply(graph, take("A", "B", "C", results=["c"], words=["word"]))
    (node,) = graph
    assert (node.name, node.op, node.display, node.inputs, node.outputs) == (
        "C",
        "MineFusionOp",
        "Mine+Word",
        ("x",),
        ("c",),
    )
    assert node.body is not None
    assert [inner.name for inner in node.body] == ["A", "B", "C"]
    (step,) = result.fusions
    assert (step.pattern, step.members, step.level, step.origin) == ("mine", ("A", "B", "C"), 1, ("a", "b", "c"))


def test_results_keep_their_order(apply: Callable[..., FusionResult]) -> None:
    graph = chain("c", "b")
    apply(graph, take("A", "B", "C", results=["c", "b"]))
    assert graph.node("C").outputs == ("c", "b")


@pytest.mark.parametrize(
    ("graph", "names", "results", "reason"),
    [
        (chain("c", "b"), "A B C", ["c"], "GRAPH_OUTPUT(b)"),
        (chain("c"), "A B", ["b"], "MULTI_READER(a, C)"),
        (chain("c"), "A C", ["c", "a"], "CYCLE(b)"),
    ],
)
def test_what_may_not_be_one_node(
    graph: Graph, names: str, results: list[str], reason: str, apply: Callable[..., FusionResult]
) -> None:
    result = apply(graph, take(*names.split(), results=results))
    assert ops(graph) == ["Add", "Exp", "Neg"]
    assert told(result) == [reason]


@pytest.mark.parametrize(
    ("controls", "reason"),
    [
        (Controls(disabled={"Mine": "a list"}), "DISABLED(a list)"),
        (Controls(no_fusion_ops={"Neg": "a list"}), "DISABLED(a list)"),
        (Controls(whitelist={"Exp": "x", "mine": "a list"}), ""),
        (Controls(whitelist={"Relu": "a list"}), "DISABLED(a list)"),
        (Controls(skip_nodes={"b": "a file"}), "DISABLED(a file)"),
        (Controls(scope={"a": "a scope"}), "DISABLED(a scope)"),
        (Controls(stop_after=0), "none"),
    ],
)
def test_controls(controls: Controls, reason: str, apply: Callable[..., FusionResult]) -> None:
    graph = chain("c")
    result = apply(graph, take("A", "B", "C", results=["c"]), controls)
    assert displays(result) == ([] if reason else ["Mine"])
    assert told(result) == ([reason] if reason not in ("", "none") else [])


def test_the_level_holds(apply: Callable[..., FusionResult]) -> None:
    result = apply(chain("c"), take("A", "B", "C", results=["c"]), Controls(level=1), header("mine", level=2))
    assert told(result) == ["LEVEL(2)"]


def test_more_benefit_runs_first(apply: Callable[..., FusionResult]) -> None:
    """The second finds nothing any more."""
    headers = header("early", benefit=2), header("late", benefit=1)
    result = apply(chain("c"), take("A", "B", "C", results=["c"]), None, *headers)
    assert displays(result) == ["Early"]


def test_in_nested_graphs_too(apply: Callable[..., FusionResult]) -> None:
    net = Net()
    net.input("x", PLAIN)
    inner = Net(net)
    inner.op("Exp", "x", "a", PLAIN)
    inner.op("Neg", "a", "b")
    branch = inner.output("b")
    net.input("flag", ())
    net.op("If", "flag", "y", PLAIN, {"then_branch": branch, "else_branch": branch.copy()})
    graph = net.output("y")
    result = apply(graph, take("A", "B", results=["b"]))
    assert [(step.display, step.graph) for step in result.fusions] == [
        ("Mine", "Y.then_branch"),
        ("Mine", "Y.else_branch"),
    ]
