"""Lists of names, levels, and what falls back to what."""

from __future__ import annotations

import pytest

from autofusion.errors import UsageError
from autofusion.fusion import Controls, FusionResult, check_node_names
from autofusion.fusion.trace import render_trace
from autofusion.ir import Graph
from fusion.support import Net, displays, ops, reasons, run

IMAGE = (1, 4, 6, 6)
BY = "GE_FUSION_DISABLE_LIST"


def network() -> Graph:
    net = Net()
    net.conv(net.input("x", IMAGE), "c")
    net.norm("c", "n")
    net.op("Relu", "n", "a")
    net.op("MaxPool", "a", "p", (1, 4, 3, 3), {"kernel_shape": (2, 2), "strides": (2, 2)})
    net.conv("p", "d")
    net.op("Sigmoid", "d", "g")
    net.op("Mul", "d g", "y")
    return net.output("y")


def apply(controls: Controls) -> tuple[Graph, FusionResult]:
    graph = network()
    return graph, run(graph, controls=controls)


def test_nothing_is_switched_off() -> None:
    assert displays(apply(Controls())[1]) == ["Conv+SiLU", "Conv+BN+ReLU+Pool"]


def test_fusion_off() -> None:
    graph, result = apply(Controls(auto_fusion=False))
    assert ops(graph) == ops(network())
    assert (result.fusions, result.misses, result.normalized) == ((), (), ())


@pytest.mark.parametrize(
    ("name", "left", "reason"),
    [
        ("ConvBNReluFusionOp", ["Conv+BN", "Conv+SiLU"], {"C": f"DISABLED({BY})"}),
        ("Conv+BN+ReLU", ["Conv+BN", "Conv+SiLU"], {"C": f"DISABLED({BY})"}),
        ("Relu", ["Conv+BN", "Conv+SiLU"], {"C": f"DISABLED({BY})"}),
        ("conv_bn_act", ["BN+ReLU"], {"C": f"DISABLED({BY})", "D": f"DISABLED({BY})"}),
        ("Conv", ["BN+ReLU"], {"C": f"DISABLED({BY})", "D": f"DISABLED({BY})"}),
        ("conv_pool", ["Conv+BN+ReLU", "Conv+SiLU"], {"A": f"DISABLED({BY})"}),
        ("MaxPool", ["Conv+BN+ReLU", "Conv+SiLU"], {"A": f"DISABLED({BY})"}),
        ("Conv+BN+ReLU+Pool", ["Conv+BN+ReLU", "Conv+SiLU"], {"A": f"DISABLED({BY})"}),
        ("ConvBatchnormFusionPass", ["BN+ReLU", "Conv+SiLU"], {"C": f"DISABLED({BY})"}),
        ("ConvSiLUFusionPass", ["Conv+BN+ReLU+Pool"], {"D": f"DISABLED({BY})"}),
        ("TbeEltwiseFusionPass", ["Conv+BN+ReLU+Pool", "Conv+SiLU"], {}),
    ],
)
def test_names_of_all_kinds(name: str, left: list[str], reason: dict[str, str]) -> None:
    _, result = apply(Controls(disabled={name: BY}))
    assert sorted(displays(result)) == left
    assert reasons(result) == reason


@pytest.mark.parametrize("name", ["silu", "SiLU", "Sigmoid"])
def test_a_normal_form_switched_off(name: str) -> None:
    graph, result = apply(Controls(disabled={name: BY}))
    assert result.normalized == ()
    assert {"Mul"} <= set(ops(graph)) or "Conv+Sigmoid" in displays(result)


def test_the_fallback_says_what_was_left_out() -> None:
    _, result = apply(Controls(disabled={"ConvBNReluFusionOp": BY}))
    (miss,) = result.misses
    assert (miss.display, miss.instead, miss.left_out) == ("Conv+BN+ReLU", "Conv+BN", ("A",))
    assert miss.detail == f"ConvBNReluFusionOp is switched off by {BY}"
    assert miss.help == f"take ConvBNReluFusionOp off {BY}"
    assert miss.message == (
        f"conv_bn_act matches at A but is switched off: DISABLED({BY}); Conv+BN was applied without A"
    )
    assert miss.diagnostic().code == "AF303"


def test_no_fusion_operators() -> None:
    graph, result = apply(Controls(no_fusion_ops={"BatchNormalization": "--no-fusion-op"}))
    assert displays(result) == ["Conv+SiLU"]
    assert reasons(result) == {"C": "DISABLED(--no-fusion-op)"}
    assert "BatchNormalization" in ops(graph)


def test_a_switched_off_operator_stands_in_no_fused_node() -> None:
    for op in ("Conv", "BatchNormalization", "Relu", "MaxPool", "Sigmoid", "Mul"):
        graph, _ = apply(Controls(disabled={op: BY}))
        assert ops(network()).count(op) == sum(node.op == op for node in graph), op


def test_levels() -> None:
    _, result = apply(Controls(level=1))
    assert displays(result) == ["Conv+BN+ReLU", "Conv+SiLU"]
    assert reasons(result) == {"A": "LEVEL(2)"}
    assert result.misses[0].help == "set the fusion level to 2"
    assert displays(apply(Controls(level=3))[1]) == ["Conv+SiLU", "Conv+BN+ReLU+Pool"]


def test_white_list() -> None:
    graph, result = apply(Controls(whitelist={"Conv+SiLU": "--whitelist"}))
    assert displays(result) == ["Conv+SiLU"]
    assert reasons(result) == {"C": "DISABLED(--whitelist)"}
    assert result.misses[0].help == "add Conv+BN+ReLU to --whitelist"
    assert ops(graph) == ["BatchNormalization", "Conv", "ConvSiLUFusionOp", "MaxPool", "Relu"]


def test_white_listed_operators_allow_what_they_stand_in() -> None:
    assert displays(apply(Controls(whitelist={"BatchNormalization": "w"}))[1]) == ["Conv+BN+ReLU+Pool"]
    assert displays(apply(Controls(whitelist={"ConvBatchnormFusionPass": "w"}))[1]) == ["Conv+BN+ReLU+Pool"]
    assert displays(apply(Controls(whitelist={"conv_bn_act": "w"}))[1]) == ["Conv+BN+ReLU", "Conv+SiLU"]


def test_a_white_listed_wrapper_brings_what_it_wraps() -> None:
    graph, result = apply(Controls(whitelist={"Conv+BN+ReLU+Pool": "w"}))
    assert displays(result) == ["Conv+BN+ReLU+Pool"]
    assert [fusion.display for fusion in result.fusions] == ["Conv+BN+ReLU", "Conv+BN+ReLU+Pool"]
    # What was formed only to be wrapped, and was not, is undone; the normal form stays.
    assert ops(graph) == ["Conv", "ConvBNReluPoolFusionOp", "SiLU"]
    assert reasons(result) == {"D": "DISABLED(w)"}


def test_an_empty_white_list_allows_nothing() -> None:
    assert displays(apply(Controls(whitelist={}))[1]) == []


def test_the_black_list_wins() -> None:
    _, result = apply(Controls(disabled={"Relu": BY}, whitelist={"Relu": "w", "Conv+SiLU": "w"}))
    assert displays(result) == ["Conv+SiLU"]


@pytest.mark.parametrize(
    ("controls", "code", "message", "advice"),
    [
        (
            Controls(disabled={"ConvBNReluFusonOp": BY}),
            "AF310",
            f"{BY} names 'ConvBNReluFusonOp', which is no operator and no pattern",
            "did you mean ConvBNReluFusionOp",
        ),
        (
            Controls(whitelist={"Conv+BN+Relu": "--whitelist"}),
            "AF310",
            "--whitelist names 'Conv+BN+Relu', which is no operator and no pattern",
            "did you mean Conv+BN+ReLU",
        ),
        (
            Controls(no_fusion_ops={"conv_bn_act": "--no-fusion-op"}),
            "AF310",
            "--no-fusion-op names 'conv_bn_act', which is no operator",
            "",
        ),
        (
            Controls(disabled={"\udcff": BY}),
            "AF310",
            f"{BY} names '\\udcff', which is no operator and no pattern",
            "",
        ),
        (Controls(level=4), "AF311", "fusion level 4 does not exist", "the levels are 1, 2 and 3"),
    ],
)
def test_names_that_mean_nothing(controls: Controls, code: str, message: str, advice: str) -> None:
    with pytest.raises(UsageError) as caught:
        apply(controls)
    diagnostic = caught.value.diagnostic
    assert (diagnostic.code, diagnostic.message) == (code, message)
    assert diagnostic.help.startswith(advice)


@pytest.mark.parametrize("name", ["Slice", "LayerNormalization", "MatMulBiasReluFusionOp", "conv_pool_fc"])
def test_names_that_the_model_does_not_have_are_allowed(name: str) -> None:
    assert displays(apply(Controls(disabled={name: BY}))[1]) == ["Conv+SiLU", "Conv+BN+ReLU+Pool"]


def test_stopping_after_some_rewrites() -> None:
    whole = render_trace(apply(Controls())[1]).splitlines()
    assert whole == [
        "1 silu: SiLU -> SiLU Y (G, Y)",
        "2 conv_bn_act: Conv+BN+ReLU -> ConvBNReluFusionOp A (C, N, A)",
        "3 conv_bn_act: Conv+SiLU -> ConvSiLUFusionOp Y_conv_bn_act (D, Y)",
        "4 conv_pool: Conv+BN+ReLU+Pool -> ConvBNReluPoolFusionOp P (A, P)",
    ]
    for limit in range(5):
        assert render_trace(apply(Controls(stop_after=limit))[1]).splitlines() == whole[:limit]


@pytest.mark.parametrize(
    ("states", "left"),
    [
        ({"ALL": False}, []),
        ({"ALL": True}, ["Conv+BN+ReLU+Pool", "Conv+SiLU"]),
        ({"ALL": False, "ConvBatchnormFusionPass": True}, ["Conv+BN+ReLU+Pool"]),
        ({"ALL": False, "conv_bn_act": True}, ["Conv+BN+ReLU"]),
        ({"ALL": False, "Conv+BN+ReLU+Pool": True}, ["Conv+BN+ReLU+Pool"]),
        ({"ALL": True, "conv_pool": False}, ["Conv+BN+ReLU", "Conv+SiLU"]),
        ({"conv_pool": False, "Conv+BN+ReLU+Pool": True}, ["Conv+BN+ReLU", "Conv+SiLU"]),
    ],
)
def test_switches(states: dict[str, bool], left: list[str]) -> None:
    assert sorted(displays(apply(Controls(switches={"s.cfg": states}))[1])) == left


def test_all_off_leaves_every_operator() -> None:
    graph, result = apply(Controls(switches={"s.cfg": {"ALL": False}}))
    assert ops(graph) == ops(network())
    assert result.normalized == ()
    assert "DISABLED(s.cfg)" in reasons(result).values()


def test_the_earlier_list_of_switches_wins() -> None:
    option, file = {"conv_pool": True}, {"conv_pool": False, "ALL": True}
    both = {"--optimization_switch": option, "s.cfg": file}
    assert "Conv+BN+ReLU+Pool" in displays(apply(Controls(switches=both))[1])
    turned = {"--optimization_switch": {"conv_pool": False}, "s.cfg": {"conv_pool": True}}
    assert reasons(apply(Controls(switches=turned))[1]) == {"A": "DISABLED(--optimization_switch)"}


def test_a_switch_wins_over_the_level_and_not_over_the_lists() -> None:
    on = {"s.cfg": {"conv_pool": True}}
    assert "Conv+BN+ReLU+Pool" in displays(apply(Controls(level=1, switches=on))[1])
    assert displays(apply(Controls(level=1, switches={"s.cfg": {"ALL": True}}))[1]) == ["Conv+BN+ReLU", "Conv+SiLU"]
    assert displays(apply(Controls(switches=on, disabled={"conv_pool": BY}))[1]) == ["Conv+BN+ReLU", "Conv+SiLU"]
    assert displays(apply(Controls(switches=on, whitelist={"Conv+SiLU": "w"}))[1]) == ["Conv+SiLU"]


def test_an_unknown_name_in_a_file_of_switches() -> None:
    with pytest.raises(UsageError) as caught:
        apply(Controls(switches={"s.cfg": {"ConvBatchNormFusionPass": False}}))
    found = caught.value.diagnostic
    assert found.message == "s.cfg names 'ConvBatchNormFusionPass', which is no operator and no pattern"
    assert found.help == "did you mean ConvBatchnormFusionPass?"


@pytest.mark.parametrize(
    ("glob", "left", "reason"),
    [
        ("n", ["Conv+SiLU"], {"N": "DISABLED(x.ini)", "C": "DISABLED(x.ini)"}),
        ("[ap]", ["Conv+BN", "Conv+SiLU"], None),
        ("p", ["Conv+BN+ReLU", "Conv+SiLU"], {"A": "DISABLED(x.ini)"}),
        ("*", [], None),
    ],
)
def test_skipped_nodes_stand_in_no_fused_node(glob: str, left: list[str], reason: dict[str, str] | None) -> None:
    graph, result = apply(Controls(skip_nodes={glob: "x.ini"}))
    assert sorted(displays(result)) == left
    assert "DISABLED(x.ini)" in reasons(result).values()
    if reason is not None:
        assert reasons(result).items() <= reason.items()
    assert all("n" not in node.origin for node in graph if glob == "n" and node.body is not None)


def test_only_nodes_in_scope_fuse() -> None:
    scope = {"d": "--fusion_scope", "[gy]": "--fusion_scope"}
    _, result = apply(Controls(scope=scope))
    assert displays(result) == ["Conv+SiLU"]
    assert "DISABLED(--fusion_scope)" in reasons(result).values()
    assert displays(apply(Controls(scope={"*": "s"}))[1]) == ["Conv+SiLU", "Conv+BN+ReLU+Pool"]


def test_names_of_nodes_are_checked() -> None:
    net = Net()
    net.op("Relu", net.input("x", IMAGE), "layer[0].relu")
    graph = net.output("layer[0].relu")
    check_node_names(Controls(skip_nodes={"layer[0].relu": "x.ini"}, scope={"layer*": "s"}), graph)
    with pytest.raises(UsageError) as caught:
        check_node_names(Controls(skip_nodes={"layer[1].relu": "x.ini"}), graph)
    found = caught.value.diagnostic
    assert (found.code, found.help) == ("AF312", "did you mean layer[0].relu?")
    assert found.message == "x.ini names 'layer[1].relu', which is no node of the model"
