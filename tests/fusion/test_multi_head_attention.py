"""Heads, repeated keys, factors and the past round an attention: what goes into its one kernel call, and what stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autofusion.fusion import Controls
from autofusion.ir import Graph
from autofusion.plan import Step
from fusion.attention_graphs import Spelling, check, miss_of
from fusion.support import displays, run

H, D = 3, 4
W = H * D
PERMS = ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))
"""Heads ahead of rows for queries, keys turned at once, and values."""

DIMS = {"b": 2, "s": 5, "t": 6, "past": 3}


def rows(net: Spelling) -> str:
    """BERT: three products, their heads split and turned, the key at once."""
    q, k, v = (net.input(name, "b", "s", W) for name in ("q", "k", "v"))
    turned = net.split_heads(k, H, D, (0, 2, 3, 1))
    y = net.core(net.split_heads(q, H, D), turned, net.split_heads(v, H, D), mask=net.input("mask", "b", 1, 1, "s"))
    return net.merge_heads(y, W)


def packed(net: Spelling) -> str:
    """GPT-2: one product for three, split along its columns."""
    x = net.input("x", "b", "s", 3 * W)
    net.op("Split", x, net.const([W, W, W]), result="q k v", axis=2)
    turned = net.split_heads("k", H, D, (0, 2, 3, 1))
    return net.merge_heads(net.core(net.split_heads("q", H, D), turned, net.split_heads("v", H, D)), W)


def unpacked_by_gather(net: Spelling) -> str:
    """ViT: [batch, rows, 3, heads, size] with the three outermost, then one of each."""
    x = net.op("Reshape", net.input("x", "b", "s", 3 * W), net.const([0, 0, 3, H, D]))
    turned = net.op("Transpose", x, perm=(2, 0, 3, 1, 4))
    q, k, v = (net.op("Gather", turned, net.const(place), axis=0) for place in range(3))
    q = net.op("Mul", q, net.const(0.5))
    return net.merge_heads(net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v, scale=1.5), W)


def unpacked_by_split(net: Spelling) -> str:
    x = net.op("Reshape", net.input("x", "b", "s", 3 * W), net.const([0, 0, 3, H, D]))
    turned = net.op("Transpose", x, perm=(2, 0, 3, 1, 4))
    net.op("Split", turned, net.const([1, 1, 1]), result="q1 k1 v1", axis=0)
    q, k, v = (net.op("Squeeze", name, net.const([0])) for name in ("q1", "k1", "v1"))
    return net.merge_heads(net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v), W)


def packed_by_head(net: Spelling) -> str:
    """GPT-NeoX: each head has its query, key and value side by side."""
    x = net.op("Reshape", net.input("x", "b", "s", 3 * W), net.const([0, 0, H, 3 * D]))
    net.op("Split", x, net.const([D, D, D]), result="q1 k1 v1", axis=3)
    q, k, v = (net.op("Transpose", name, perm=perm) for name, perm in zip(("q1", "k1", "v1"), PERMS, strict=True))
    return net.merge_heads(net.core(q, k, v), W)


def packed_and_sliced(net: Spelling) -> str:
    x = net.input("x", 2, 5, 3 * W)
    parts = [
        net.op("Slice", x, *(net.const([bound]) for bound in (W * place, W * place + W, 2, 1))) for place in range(3)
    ]
    q, k, v = (net.split_heads(part, H, D, perm) for part, perm in zip(parts, PERMS, strict=True))
    return net.merge_heads(net.core(q, k, v), W)


def across(net: Spelling) -> str:
    """Queries of one sequence, keys and values of another, packed in twos."""
    q = net.split_heads(net.input("x", "b", "s", W), H, D)
    both = net.op("Reshape", net.input("z", "b", "t", 2 * W), net.const([0, 0, 2, H, D]))
    turned = net.op("Transpose", both, perm=(2, 0, 3, 1, 4))
    k, v = (net.op("Gather", turned, net.const(place), axis=0) for place in range(2))
    y = net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v, mask=net.input("mask", "b", 1, 1, "t"))
    return net.merge_heads(y, W)


def queries_for_all_samples(net: Spelling) -> str:
    """Learned queries, the same for every sample."""
    q = net.op("Expand", net.input("q", 1, H, 6, D), net.const([2, H, 6, D]))
    k, v = (net.split_heads(net.input(name, 2, 5, W), H, D, perm) for name, perm in zip("kv", PERMS[1:], strict=True))
    return net.merge_heads(net.core(q, k, v), W)


def factors_on_the_way(net: Spelling) -> str:
    q, k, v = (net.input(name, "b", "s", W) for name in ("q", "k", "v"))
    scaled = net.op("Div", q, net.const(2.0))
    turned = net.op("Mul", net.split_heads(k, H, D, (0, 2, 3, 1)), net.const(0.3))
    return net.merge_heads(net.core(net.split_heads(scaled, H, D), turned, net.split_heads(v, H, D)), W)


def grouped_queries(net: Spelling) -> str:
    """Two key heads for six queries, repeated one by one."""
    q = net.split_heads(net.input("q", 2, 5, 6 * D), 6, D)
    k, v = (net.split_heads(net.input(name, 2, 5, 2 * D), 2, D) for name in ("k", "v"))
    k, v = (repeat(net, value, (2, 2, 3, 5, D)) for value in (k, v))
    y = net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v)
    return net.merge_heads(y, 6 * D)


def repeat(net: Spelling, x: str, shape: tuple[int, ...]) -> str:
    wide = net.op("Expand", net.op("Unsqueeze", x, net.const([2])), net.const(list(shape)))
    return net.op("Reshape", wide, net.const([shape[0], shape[1] * shape[2], *shape[3:]]))


def heads_in_the_batch(net: Spelling) -> str:
    """CLIP's text: heads merged into the batch, the mask added to scores of rank 4."""
    q, k, v = (net.input(name, 2, 5, W) for name in ("q", "k", "v"))
    merged = [net.op("Reshape", net.split_heads(x, H, D), net.const([2 * H, 5, D])) for x in (q, k, v)]
    scores = net.op("MatMul", merged[0], net.op("Transpose", merged[1], perm=(0, 2, 1)))
    split = net.op("Add", net.op("Reshape", scores, net.const([2, H, 5, 5])), net.input("mask", 2, 1, 5, 5))
    y = net.op("MatMul", net.weights(net.op("Reshape", split, net.const([2 * H, 5, 5]))), merged[2])
    return net.merge_heads(net.op("Reshape", y, net.const([2, H, 5, D])), W)


def heads_in_the_batch_unmasked(net: Spelling) -> str:
    q, k, v = (net.input(name, 2, 5, W) for name in ("q", "k", "v"))
    merged = [net.op("Reshape", net.split_heads(x, H, D), net.const([2 * H, 5, D])) for x in (q, k, v)]
    y = net.core(merged[0], net.op("Transpose", merged[1], perm=(0, 2, 1)), merged[2])
    return net.merge_heads(net.op("Reshape", y, net.const([2, H, 5, D])), W)


def windows(net: Spelling) -> str:
    """Swin: two images of four windows, a mask for each window."""
    x = net.input("x", 8, 5, 3 * W)
    net.op("Split", x, net.const([W, W, W]), result="q k v", axis=2)
    turned = net.split_heads("k", H, D, (0, 2, 3, 1))
    scores = net.op("Add", net.op("MatMul", net.split_heads("q", H, D), turned), net.input("bias", 1, H, 5, 5))
    split = net.op("Add", net.op("Reshape", scores, net.const([2, 4, H, 5, 5])), net.input("mask", 1, 4, 1, 5, 5))
    p = net.weights(net.op("Reshape", split, net.const([8, H, 5, 5])))
    return net.merge_heads(net.op("MatMul", p, net.split_heads("v", H, D)), W)


SPELLINGS = (
    rows, packed, packed_by_head, packed_and_sliced, across, queries_for_all_samples, unpacked_by_gather,
    unpacked_by_split, factors_on_the_way, grouped_queries, heads_in_the_batch, heads_in_the_batch_unmasked, windows,
)  # fmt: skip


@pytest.mark.parametrize("spell", SPELLINGS)
def test_one_node_and_one_step(spell: Callable[[Spelling], str]) -> None:
    net = Spelling()
    graph = net.graph(spell(net))
    step = only_step(graph)
    assert [node.op for node in graph] == ["MultiHeadAttentionFusionOp"]
    assert step.kernel == "attention"


def only_step(graph: Graph) -> Step:
    (step,) = check(graph, DIMS).plan.steps
    return step


def test_views_of_packed_rows() -> None:
    net = Spelling()
    settings = only_step(net.graph(packed(net))).attributes
    assert settings["extents"] == ["b", H, H, "s", "s", D, D, 0]
    assert settings["q_view"] == [0, f"{3 * W}*s", D, 3 * W, 1]
    assert settings["k_view"] == [W, f"{3 * W}*s", D, 3 * W, 1]
    assert settings["v_view"] == [2 * W, f"{3 * W}*s", D, 3 * W, 1]
    assert settings["y_view"] == [0, f"{W}*s", D, W, 1]


def test_factors_are_one_number() -> None:
    net = Spelling()
    assert only_step(net.graph(factors_on_the_way(net))).attributes["scale"] == pytest.approx(0.5 / 2 * 0.3)


def test_repeated_keys_are_read_where_they_lie() -> None:
    net = Spelling()
    step = only_step(net.graph(grouped_queries(net)))
    assert step.inputs == ("q", "k", "v")
    assert step.attributes["extents"] == [2, 6, 2, 5, 5, D, D, 0]


def cached(*, copies: int = 1, is_output: bool = True) -> Graph:
    """New keys and values behind those of earlier tokens."""
    net = Spelling()
    q = net.split_heads(net.input("q", 2, 2, H * copies * D), H * copies, D)
    joined: list[str] = []
    for name in ("key", "value"):
        new = net.split_heads(net.input(name, 2, 2, W), H, D)
        past = net.input(f"past_{name}", 2, H, 3, D)
        joined.append(net.op("Concat", past, new, result=f"present_{name}", axis=2))
    k, v = joined
    if copies > 1:
        k, v = (repeat(net, value, (2, H, copies, 5, D)) for value in joined)
    y = net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v)
    merged = net.merge_heads(y, H * copies * D)
    return net.graph(merged, *(joined if is_output else ()))


@pytest.mark.parametrize("copies", [1, 2])
def test_past_and_present(copies: int) -> None:
    step = only_step(cached(copies=copies))
    assert step.outputs[1:] == ("present_key", "present_value")
    assert step.inputs[6:] == ("past_key", "past_value")
    assert step.attributes["extents"] == [2, H * copies, H, 2, 2, D, D, 3]


def test_a_present_that_nobody_reads() -> None:
    step = only_step(cached(is_output=False))
    assert len(step.outputs) == 1


def test_past_of_symbolic_length() -> None:
    net = Spelling()
    q, k, v = (net.input(name, "b", H, 1, D) for name in ("q", "k", "v"))
    pasts = [net.input(name, "b", H, "past", D) for name in ("pk", "pv")]
    key, value = (net.op("Concat", past, new, axis=2) for past, new in zip(pasts, (k, v), strict=True))
    y = net.core(q, net.op("Transpose", key, perm=(0, 1, 3, 2)), value)
    step = only_step(net.graph(net.op("Reshape", y, net.const([0, 1, W])), key, value))
    assert step.attributes["extents"] == ["b", H, H, 1, 1, D, D, "past"]


def masked_by_truth(*, readers: int = 1) -> Graph:
    """0 where a number is positive, -1e9 elsewhere, added to the scores of so many attentions."""
    net = Spelling()
    keep = net.op("Greater", net.input("m", 2, 1, 1, 5), net.const(0.0), result="keep")
    mask = net.op("Where", keep, net.const(0.0), net.const(-1e9))
    results: list[str] = []
    for place in range(readers):
        q, k, v = (net.input(f"{name}{place}", 2, H, 5, D) for name in "qkv")
        results.append(net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v, mask=mask))
    return net.graph(*results)


def test_a_mask_made_of_truth_values_is_read_as_those() -> None:
    graph = masked_by_truth()
    steps = check(graph).plan.steps
    assert [node.op for node in graph] == ["Greater", "MultiHeadAttentionFusionOp"]
    assert (steps[-1].inputs[5], steps[-1].attributes["keep_mode"]) == ("keep", "add")


def test_a_mask_of_two_attentions_is_made_once() -> None:
    graph = masked_by_truth(readers=2)
    check(graph)
    assert sorted(node.op for node in graph) == ["AttentionFusionOp", "AttentionFusionOp", "Greater", "Where"]


def test_only_one_of_both_has_a_past() -> None:
    net = Spelling()
    q, v = net.input("q", 2, H, 2, D), net.input("v", 2, H, 5, D)
    key = net.op("Concat", net.input("past", 2, H, 3, D), net.input("k", 2, H, 2, D), axis=2)
    graph = net.graph(net.merge_heads(net.core(q, net.op("Transpose", key, perm=(0, 1, 3, 2)), v), W))
    check(graph)
    assert [node.op for node in graph] == ["Concat", "MultiHeadAttentionFusionOp"]


def test_a_factor_on_new_keys_alone_stays() -> None:
    net = Spelling()
    q, k, v = (net.input(name, 2, H, 2, D) for name in ("q", "k", "v"))
    pasts = [net.input(name, 2, H, 3, D) for name in ("pk", "pv")]
    key = net.op("Concat", pasts[0], net.op("Mul", k, net.const(0.5)), axis=2)
    value = net.op("Concat", pasts[1], v, axis=2)
    graph = net.graph(net.core(q, net.op("Transpose", key, perm=(0, 1, 3, 2)), value))
    check(graph)
    assert "Mul" in [node.op for node in graph]


def test_a_factor_on_values_stays() -> None:
    net = Spelling()
    q, k = (net.split_heads(net.input(name, 2, 5, W), H, D) for name in ("q", "k"))
    v = net.op("Mul", net.split_heads(net.input("v", 2, 5, W), H, D), net.const(0.5))
    graph = net.graph(net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v))
    check(graph)
    assert sorted(node.op for node in graph) == ["Mul", "MultiHeadAttentionFusionOp", "Reshape", "Transpose"]


def test_heads_that_something_else_reads_stay() -> None:
    net = Spelling()
    q, k, v = (net.input(name, 2, 5, W) for name in ("q", "k", "v"))
    heads = net.split_heads(v, H, D)
    y = net.core(net.split_heads(q, H, D), net.split_heads(k, H, D, (0, 2, 3, 1)), heads)
    graph = net.graph(net.merge_heads(y, W), net.op("Neg", heads, result="other"))
    before = [node.op for node in graph]
    check(graph)
    assert len(before) > 4
    assert sorted(node.op for node in graph) == ["MultiHeadAttentionFusionOp", "Neg", "Reshape", "Transpose"]


def test_a_factor_on_all_operands_at_once_stays() -> None:
    """Queries and keys could take it in, but the values are read as it leaves them."""

    def spell() -> Graph:
        net = Spelling()
        x = net.op("Mul", net.input("x", 2, H, 5, D), net.const(0.5), result="scaled")
        return net.graph(net.core(x, net.op("Transpose", x, perm=(0, 1, 3, 2)), x))

    told = [str(miss.reason) for miss in run(spell()).attempts if miss.pattern == "multi_head_attention"]
    assert len(told) == 1
    assert told[0].startswith("MULTI_READER(scaled, ")
    check(spell())


def test_the_reader_is_named() -> None:
    net = Spelling()
    q, k, v = (net.input(name, 2, 5, W) for name in ("q", "k", "v"))
    heads = net.op("Transpose", net.op("Reshape", v, net.const([0, 0, H, D])), perm=(0, 2, 1, 3), result="heads")
    y = net.core(net.split_heads(q, H, D), net.split_heads(k, H, D, (0, 2, 3, 1)), heads)
    result = run(net.graph(net.merge_heads(y, W), net.op("Neg", heads, result="other")))
    told = [str(miss.reason) for miss in result.attempts if miss.pattern == "multi_head_attention"]
    assert told == ["MULTI_READER(heads, other)"]


def test_values_that_lie_in_no_strides_are_copied_first() -> None:
    """Heads and rows of the values were merged in an order that no four strides say."""
    net = Spelling()
    q, k = (net.input(name, 2, H, 6, D) for name in ("q", "k"))
    mixed = net.op("Transpose", net.input("v", 2, 6, H, D), perm=(0, 3, 1, 2))
    v = net.op("Reshape", mixed, net.const([2, H, 6, D]))
    graph = net.graph(net.merge_heads(net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v), W))
    check(graph)
    # The copy is all in order, so that its new shape costs nothing.
    assert sorted(node.op for node in graph) == ["MultiHeadAttentionFusionOp", "Transpose"]


def test_heads_of_another_order_are_no_group() -> None:
    """Key heads repeated as a whole, 0 1 0 1: queries would read the wrong ones."""
    net = Spelling()
    q = net.input("q", 2, 4, 5, D)
    k, v = (net.op("Tile", net.input(name, 2, 2, 5, D), net.const([1, 2, 1, 1])) for name in ("k", "v"))
    graph = net.graph(net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v))
    check(graph)
    assert sorted(node.op for node in graph) == ["AttentionFusionOp", "Tile", "Tile"]


def test_without_it_the_core_stands_alone() -> None:
    net = Spelling()
    graph = net.graph(rows(net))
    result = run(graph, controls=Controls(disabled={"MultiHeadAttention": "a list"}))
    assert displays(result) == ["Attention"]
    assert miss_of(result, "multi_head_attention") == ["DISABLED(a list)"]


def test_on_a_white_list_it_brings_its_core() -> None:
    net = Spelling()
    result = run(net.graph(rows(net)), controls=Controls(whitelist={"MultiHeadAttention": "a list"}))
    assert displays(result) == ["MultiHeadAttention"]


def test_without_the_core_there_is_none() -> None:
    net = Spelling()
    result = run(net.graph(rows(net)), controls=Controls(disabled={"Attention": "a list"}))
    assert not any("Attention" in display for display in displays(result))


def test_reports_count_the_core_inside() -> None:
    net = Spelling()
    result = run(net.graph(rows(net)))
    core, whole = (fusion for fusion in result.fusions if "Attention" in fusion.op)
    assert (core.display, core.inside) == ("Attention", whole.node)
    assert (whole.display, whole.pattern, whole.stage, whole.level) == (
        "MultiHeadAttention",
        "multi_head_attention",
        2,
        2,
    )
    assert set(whole.members) > {core.node}


def test_stop_after_counts_passes() -> None:
    net = Spelling()
    result = run(net.graph(rows(net)), controls=Controls(stop_after=1))
    assert displays(result) == ["Attention"]
