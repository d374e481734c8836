"""Manual rules that name nodes: what becomes one, what runs inside of it, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from autofusion.errors import UsageError
from autofusion.fusion import Controls, FusionResult, read_rules, resolve_rules
from autofusion.ir import MANUAL, Graph, Node
from autofusion.ir.parse import parse_graph
from autofusion.ir.text import dump_graph
from autofusion.ir.verify import verify_graph
from fusion.support import Net, builtin, displays, ops, reasons, run

IMAGE = (1, 4, 6, 6)


def network() -> Graph:
    """Two blocks of Conv, BatchNormalization and Relu, then pooling; the ONNX names are in lower case."""
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.norm("c", "n")
    net.op("Relu", "n", "a")
    net.conv("a", "d")
    net.norm("d", "m")
    net.op("Relu", "m", "b")
    net.op("MaxPool", "b", "p", (1, 4, 3, 3), {"kernel_shape": (2, 2), "strides": (2, 2)})
    return net.output("p")


def apply(graph: Graph, rules: Mapping[str, object], **controls: object) -> FusionResult:
    chosen = resolve_rules(Controls(rules=read_rules(rules), **controls), graph, builtin())  # pyright: ignore[reportArgumentType]
    result = run(graph, controls=chosen)
    verify_graph(graph, "the test")
    return result


def told(rules: Mapping[str, object], graph: Graph | None = None, **controls: object) -> Sequence[str]:
    """Code, message and remedy that the rules are refused with."""
    with pytest.raises(UsageError) as caught:
        apply(graph or network(), rules, **controls)
    found = caught.value.diagnostic
    return found.code, found.message.removeprefix("rule 'g' of fusion_rules "), found.help


def group_of(graph: Graph) -> Node:
    (node,) = [node for node in graph if node.pattern == MANUAL]
    return node


def test_a_group_holds_what_automatic_fusion_makes_of_its_nodes() -> None:
    graph = network()
    result = apply(graph, {"layer_0": ["c", "n", "a", "d", "m"]})
    group = group_of(graph)
    assert (group.name, group.op, group.display) == ("layer_0", "Layer0FusionOp", "layer_0")
    assert (group.origin, group.outputs) == (("c", "n", "a", "d", "m"), ("m",))
    assert group.body is not None
    assert [node.display for node in group.body] == ["Conv+BN+ReLU", "Conv+BN"]
    assert displays(result) == ["layer_0"]
    assert [(step.display, step.inside) for step in result.fusions] == [
        ("layer_0", None),
        ("Conv+BN+ReLU", "layer_0"),
        ("Conv+BN", "layer_0"),
    ]
    # The Relu and the pool were the group's neighbours, and could have been of the last convolution.
    assert ops(graph) == ["Layer0FusionOp", "MaxPool", "Relu"]
    assert reasons(result) == {"B": "RESERVED(layer_0)"}


def test_what_lies_outside_fuses_as_ever() -> None:
    graph = network()
    assert displays(apply(graph, {"first": ["c", "n", "a"]})) == ["first", "Conv+BN+ReLU+Pool"]


def test_both_sides_of_a_border_say_whose_it_is() -> None:
    result = apply(network(), {"first": ["c", "n"]}, level=3)
    (miss,) = [miss for miss in result.misses if str(miss.reason) == "RESERVED(first)"]
    assert miss.detail == "'n' crosses the border of the group that the manual rule 'first' makes"
    assert miss.reason.remedy == "take more nodes into the rule 'first', or fewer"
    result = apply(network(), {"later": ["a", "d", "m", "b"]})
    assert "RESERVED(later)" in reasons(result).values()


@pytest.mark.parametrize("items", [["[cnadm]"], ["c", "n", "a", "d", "m"], ["m", "d", "[can]", "c"]])
def test_globs_and_order_do_not_matter(items: list[str]) -> None:
    graph = network()
    apply(graph, {"g": items})
    assert group_of(graph).origin == ("c", "n", "a", "d", "m")


def test_a_scope_narrows_globs() -> None:
    graph = network()
    apply(graph, {"g": {"nodes": ["*"], "scope": ["c", "n", "a"]}})
    assert group_of(graph).origin == ("c", "n", "a")


def test_groups_remain_where_automatic_fusion_is_off() -> None:
    graph = network()
    result = apply(graph, {"g": ["c", "n", "a"]}, auto_fusion=False)
    assert ops(graph) == ["BatchNormalization", "Conv", "GFusionOp", "MaxPool", "Relu"]
    assert [step.display for step in result.fusions] == ["g", "Conv+BN+ReLU"]


def test_what_is_switched_off_stays_off_inside() -> None:
    graph = network()
    result = apply(graph, {"g": ["c", "n", "a"]}, disabled={"Conv+BN+ReLU": "--disable"})
    assert [step.display for step in result.fusions if step.inside == "g"] == ["Conv+BN"]


def test_what_only_wraps_is_undone_inside() -> None:
    """Conv+BN+ReLU is applied for the sake of Conv+BN+ReLU+Pool, which the border forbids."""
    graph = network()
    result = apply(graph, {"g": ["d", "m", "b"]}, whitelist={"Conv+BN+ReLU+Pool": "--whitelist"})
    assert [step.display for step in result.fusions] == ["g"]
    group = group_of(graph)
    assert group.body is not None
    assert ops(group.body) == ["BatchNormalization", "Conv", "Relu"]
    assert group.body.inputs == group.operands


def test_several_results_are_fine_where_nothing_inside_reads_them() -> None:
    net = Net()
    net.input("x", (2, 4))
    net.op("Exp", "x", "e")
    net.op("Neg", "x", "n")
    net.op("Add", "e n", "y")
    graph = net.output("y")
    apply(graph, {"g": ["e", "n"]})
    assert group_of(graph).outputs == ("e", "n")


def shared() -> Graph:
    net = Net()
    net.op("Exp", net.input("x", (2, 4)), "e")
    net.op("Neg", "e", "n")
    net.op("Relu", "n", "r")
    net.op("Add", "e r", "y")
    return net.output("y", "n")


@pytest.mark.parametrize("outputs", [["e", "n"], ["*"], ["[en]"]])
def test_results_read_on_both_sides_are_listed(outputs: list[str]) -> None:
    graph = shared()
    apply(graph, {"g": {"nodes": ["e", "n", "r"], "outputs": outputs}})
    assert group_of(graph).outputs == ("e", "n", "r")


def test_refuses_results_read_on_both_sides() -> None:
    assert told({"g": {"nodes": ["e", "n", "r"], "outputs": ["n"]}}, shared()) == (
        "AF334",
        "lets 'e', which n inside of it reads, go to y outside",
        "take y into the rule, or list 'e' under its outputs",
    )
    assert told({"g": {"nodes": ["e", "n", "r"], "outputs": ["e"]}}, shared()) == (
        "AF334",
        "lets 'n', which r inside of it reads, be an output of the graph",
        "list 'n' under its outputs",
    )


def test_refuses_a_way_out_and_back() -> None:
    assert told({"g": ["c", "a", "d"]}) == (
        "AF333",
        "is not convex: 'c' goes from c to n outside of it, and 'n' comes back from n to a",
        "take n into the rule, or take a out",
    )
    # Both ends of a longer way are named, and all of its nodes.
    code, message, advice = told({"g": ["c", "b"]})
    assert (code, message) == (
        "AF333",
        "is not convex: 'c' goes from c to n outside of it, and 'm' comes back from m to b",
    )
    assert advice == "take n, a, d, m into the rule, or take b out"


def test_refuses_a_way_through_another_group() -> None:
    assert told({"first": ["n", "a"], "g": ["c", "d"]})[0] == "AF333"


def test_refuses_names() -> None:
    assert told({"g": ["c", "n2"]}) == (
        "AF331",
        "names 'n2', which is no node of the model",
        "did you mean n?",
    )
    assert told({"g": ["conv_1", "relu_1"]})[1] == (
        "names 'conv_1', which is neither a node of the model nor a building block"
    )
    assert told({"g": {"nodes": ["c", "n"], "scope": ["[ab]"]}})[1] == "names 'c', which is no node within its scope"
    assert told({"g": {"nodes": ["c"], "scope": ["layer*"]}})[1] == (
        "has 'layer*' as scope, which is no node of the model"
    )
    assert told({"g": {"nodes": ["c"], "outputs": ["v1"]}})[1] == (
        "lists 'v1' under outputs, which is no value or node of the model"
    )
    assert told({"Conv+BN": ["c"]})[0] == "AF217"
    assert told({"ConvBN": ["c"]})[1] == "rule 'ConvBN' of fusion_rules is called like an automatic fusion"


def test_refuses_two_rules_of_one_name() -> None:
    rules = (*read_rules({"g": ["c"]}), *read_rules({"g": ["d"]}))
    with pytest.raises(UsageError) as caught:
        resolve_rules(Controls(rules=rules), network(), builtin())
    assert caught.value.diagnostic.message == "rule 'g' of fusion_rules is called like another rule"


def test_refuses_a_node_of_two_rules() -> None:
    assert told({"first": ["c", "n"], "g": ["n", "a"]}) == (
        "AF337",
        "holds 'n', which belongs to the rule 'first'",
        "name n in one of the two alone",
    )


@pytest.mark.parametrize(
    ("controls", "message", "advice"),
    [
        (
            {"no_fusion_ops": {"Relu": "--no_fusion_ops"}},
            "holds 'a', but Relu is switched off by --no_fusion_ops",
            "take Relu off --no_fusion_ops",
        ),
        (
            {"disabled": {"Relu": "--disable"}},
            "holds 'a', but Relu is switched off by --disable",
            "take Relu off --disable",
        ),
        (
            {"skip_nodes": {"a": "skip.ini"}},
            "holds 'a', but 'a' is kept out of fusion by skip.ini",
            "take a out of skip.ini",
        ),
        (
            {"scope": {"[cn]": "--fusion_scope"}},
            "holds 'a', but 'a' is outside --fusion_scope",
            "add a to --fusion_scope",
        ),
    ],
)
def test_refuses_what_other_controls_keep_out(controls: dict[str, object], message: str, advice: str) -> None:
    assert told({"g": ["c", "n", "a"]}, **controls) == ("AF338", message, advice)


def test_refuses_unknown_operators() -> None:
    graph = network()
    relu = graph.node("A")
    whirl = Node("A", "Whirl", relu.inputs, relu.outputs, domain="com.acme", opset=1, opaque=True, origin=("a",))
    graph.update(whirl)
    assert told({"g": ["n", "a"]}, graph)[:2] == ("AF336", "holds 'a', of the unknown operator com.acme::Whirl")


def test_nodes_that_passes_removed_are_no_fault() -> None:
    """Names are looked up in the model as read; some nodes are gone when the groups are made."""
    chosen = resolve_rules(Controls(rules=read_rules({"g": ["c", "n", "a"]})), network(), builtin())
    graph = network()
    relu = graph.remove("A")
    graph.update(Node("D", "Conv", ("n", *graph.node("D").inputs[1:]), ("d",), origin=("d",)))
    assert relu.origin == ("a",)
    run(graph, controls=chosen)
    assert group_of(graph).origin == ("c", "n")
    empty = Net()
    empty.op("Exp", empty.input("x", (2, 4)), "e")
    with pytest.raises(UsageError) as caught:
        run(empty.output("e"), controls=chosen)
    assert caught.value.diagnostic.message == "rule 'g' of fusion_rules names no node that is left before fusion"


def test_groups_count_as_rewrites() -> None:
    rules = {"one": ["c", "n", "a"], "two": ["d", "m"]}
    for limit, shown in ((0, []), (1, ["one"]), (2, ["one", "two"]), (3, ["one", "two", "Conv+BN+ReLU"])):
        result = apply(network(), rules, stop_after=limit)
        assert [step.display for step in result.fusions] == shown
        assert [step.number for step in result.fusions] == list(range(1, limit + 1))


def test_text_reads_back() -> None:
    graph = network()
    apply(graph, {"g": ["c", "n", "a"]})
    text = dump_graph(graph)
    assert 'by "manual rule" "g"' in text
    assert dump_graph(parse_graph(text)) == text
