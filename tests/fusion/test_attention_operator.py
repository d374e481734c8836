"""The operator Attention: which of its forms are one step, and which do more than the kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autofusion.ir import Graph
from fusion.attention_graphs import Spelling, check, miss_of
from fusion.support import run

H, D = 3, 4
W = H * D


def operator_of_rows(net: Spelling) -> str:
    q, k, v = net.input("q", 2, 5, 6 * D), net.input("k", 2, 4, 2 * D), net.input("v", 2, 4, 2 * D)
    return net.op("Attention", q, k, v, q_num_heads=6, kv_num_heads=2, is_causal=1)


def operator_of_heads(net: Spelling) -> str:
    q, k, v = (net.split_heads(net.input(name, 2, 5, W), H, D) for name in ("q", "k", "v"))
    mask = net.const(np.tri(5, dtype=bool)[None, None])
    return net.merge_heads(net.op("Attention", q, k, v, mask, scale=0.3), W)


def operator_with_rows_masked_as_a_whole(net: Spelling) -> str:
    """The operator gives 0 for a query without keys."""
    q, k, v = (net.input(name, 2, H, 5, D) for name in ("q", "k", "v"))
    return net.op("Attention", q, k, v, net.const(np.tri(5, k=-1, dtype=bool)))


@pytest.mark.parametrize("spell", [operator_of_rows, operator_of_heads, operator_with_rows_masked_as_a_whole])
def test_one_node_and_one_step(spell: Callable[[Spelling], str]) -> None:
    net = Spelling()
    graph = net.graph(spell(net))
    (step,) = check(graph).plan.steps
    assert [node.op for node in graph] == ["MultiHeadAttentionFusionOp"]
    assert step.kernel == "attention"


def operator_with_cache(*, rows: bool, past: bool) -> Graph:
    """The operator with present keys and values as results, and earlier ones as operands."""
    net = Spelling()
    shapes = [(2, 2, 4 * D), (2, 2, 2 * D), (2, 2, 2 * D)] if rows else [(2, 4, 2, D), (2, 2, 2, D), (2, 2, 2, D)]
    operands = [net.input(name, *shape) for name, shape in zip("qkv", shapes, strict=True)]
    if past:
        operands += ["_", net.input("pk", 2, 2, 3, D), net.input("pv", 2, 2, 3, D)]
    words = {"q_num_heads": 4, "kv_num_heads": 2} if rows else {}
    net.op("Attention", *operands, result="y present_key present_value", is_causal=1, **words)
    return net.graph("y", "present_key", "present_value")


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("past", [False, True])
def test_operators_with_a_cache(rows: bool, past: bool) -> None:
    (step,) = check(operator_with_cache(rows=rows, past=past)).plan.steps
    assert step.outputs == ("y", "present_key", "present_value")
    assert step.attributes["extents"] == [2, 4, 2, 2, 2, D, D, 3 if past else 0]


@pytest.mark.parametrize(
    ("word", "value", "reason"),
    [("softcap", 5.0, "KERNEL_LIMIT(softcap, 5.0, 0)")],
)
def test_operators_that_do_more(word: str, value: float, reason: str) -> None:
    net = Spelling()
    q, k, v = (net.input(name, 2, H, 5, D) for name in ("q", "k", "v"))
    graph = net.graph(net.op("Attention", q, k, v, **{word: value}))
    result = run(graph)
    assert [node.op for node in graph] == ["Attention"]
    assert miss_of(result, "multi_head_attention") == [reason]


def test_operator_that_hands_on_its_scores() -> None:
    net = Spelling()
    q, k, v = (net.input(name, 2, H, 5, D) for name in ("q", "k", "v"))
    net.op("Attention", q, k, v, result="y pk pv scores")
    result = run(net.graph("y", "scores"))
    assert miss_of(result, "multi_head_attention") == ["KERNEL_LIMIT(results, scores, none)"]
