"""The core of attention: which spellings are one kernel, which are none, and why."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autofusion.fusion import Controls
from autofusion.ir import DType, Graph
from autofusion.lowering import Lowered, lower
from fusion.attention_graphs import Spelling, check, miss_of, steps
from fusion.support import displays, ops, run
from lowering.graphs import build

INF = float("inf")

# Square and even enough that only axes and permutations tell what is what.
B, H, S, D = 2, 3, 4, 4


def heads(net: Spelling, *names: str, rank: int = 4) -> list[str]:
    shape = (B, H, S, D) if rank == 4 else (B * H, S, D)
    return [net.input(name, *shape) for name in names]


def keep_of(net: Spelling, *shape: int) -> str:
    return net.op("Greater", net.input("m", *shape), net.const(0.0))


def plain(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    return net.core(q, net.op("Transpose", k, perm=(0, 1, 3, 2)), v)


def key_by_rows(net: Spelling) -> str:
    """[batch, rows, heads, size] straight to [batch, heads, size, rows]."""
    q, v = heads(net, "q", "v")
    k = net.input("k", B, S, H, D)
    return net.core(q, net.op("Transpose", k, perm=(0, 2, 3, 1)), v)


def key_as_stored(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    return net.core(q, k, v)


def rank_three(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v", rank=3)
    return net.core(q, net.op("Transpose", k, perm=(0, 2, 1)), v)


def key_turned_in_three_steps(net: Spelling) -> str:
    """Heads merged into the batch, turned there, and parted again."""
    q, k, v = heads(net, "q", "k", "v")
    flat = net.op("Reshape", k, net.const([B * H, S, D]))
    turned = net.op("Transpose", flat, perm=(0, 2, 1))
    return net.core(q, net.op("Reshape", turned, net.const([B, H, D, S])), v)


def scaled_both(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    turned = net.op("Mul", net.op("Transpose", k, perm=(0, 1, 3, 2)), net.const(0.7))
    scores = net.op("MatMul", net.op("Mul", q, net.const(0.6)), turned)
    return net.op("MatMul", net.weights(net.op("Div", scores, net.const(1.5))), v)


def scaled_by_a_negative_number(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    return net.core(q, k, v, scale=-0.5)


def unscaled(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    return net.op("MatMul", net.weights(net.op("MatMul", q, k)), v)


def two_masks(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    scores = net.op("Add", net.input("bias", 1, H, S, S), net.op("MatMul", q, k))
    scores = net.op("Add", scores, net.input("mask", B, 1, 1, S))
    return net.op("MatMul", net.weights(scores), v)


def mask_of_lower_rank(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    return net.core(q, k, v, mask=net.input("mask", S, S))


def filled_then_added(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    scores = net.op("Where", keep_of(net, B, 1, S, S), net.op("MatMul", q, k), net.const(-2.0))
    return net.op("MatMul", net.weights(net.op("Add", scores, net.input("mask", S))), v)


def added_then_filled(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    scores = net.op("Add", net.op("MatMul", q, k), net.input("mask", S))
    return net.op("MatMul", net.weights(net.op("Where", keep_of(net, S, S), net.const(-3.0), scores)), v)


def rows_masked_as_a_whole(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    fill = net.op("Where", net.const(np.tri(S, k=-1, dtype=bool)), net.const(0.0), net.const(-INF))
    return net.core(q, k, v, mask=fill)


def rows_masked_and_guarded(net: Spelling) -> str:
    q, k, v = heads(net, "q", "k", "v")
    scores = net.op("Where", net.const(np.tri(S, k=-1, dtype=bool)), net.op("MatMul", q, k), net.const(-INF))
    return net.op("MatMul", net.weights(scores, guard=True), v)


def values_of_another_size(net: Spelling) -> str:
    q, k = heads(net, "q", "k")
    return net.core(q, k, net.input("v", B, H, S, 7))


def one_key_head(net: Spelling) -> str:
    (q,) = heads(net, "q")
    return net.core(q, net.input("k", B, 1, D, S), net.input("v", B, 1, S, D))


def one_value_head(net: Spelling) -> str:
    q, k = heads(net, "q", "k")
    return net.core(q, k, net.input("v", 1, 1, S, D))


def windows(net: Spelling) -> str:
    """Two images of three windows each, with one mask a window."""
    q, k, v = (net.input(name, 6, H, S, D) for name in ("q", "k", "v"))
    scores = net.op("Add", net.op("MatMul", q, k), net.input("bias", 1, H, S, S))
    split = net.op("Reshape", scores, net.const([2, 3, H, S, S]))
    masked = net.op("Add", split, net.input("mask", 1, 3, 1, S, S))
    return net.op("MatMul", net.weights(net.op("Reshape", masked, net.const([6, H, S, S]))), v)


def mask_of_the_batch(net: Spelling) -> str:
    """Samples and heads are one axis of the mask as well."""
    q, k, v = heads(net, "q", "k", "v", rank=3)
    return net.core(q, k, v, mask=net.input("mask", B * H, 1, S))


def heads_in_the_batch(net: Spelling) -> str:
    """The mask is one a sample; the product has samples and heads in one axis."""
    q, k, v = heads(net, "q", "k", "v", rank=3)
    split = net.op("Reshape", net.op("MatMul", q, k), net.const([B, H, S, S]))
    masked = net.op("Add", split, net.input("mask", B, 1, S, S))
    return net.op("MatMul", net.weights(net.op("Reshape", masked, net.const([B * H, S, S]))), v)


SPELLINGS = (
    plain, key_by_rows, key_as_stored, rank_three, key_turned_in_three_steps, scaled_both, scaled_by_a_negative_number,
    unscaled, two_masks, mask_of_lower_rank, filled_then_added, added_then_filled, rows_masked_as_a_whole,
    rows_masked_and_guarded, values_of_another_size, one_key_head, one_value_head, windows, mask_of_the_batch,
    heads_in_the_batch,
)  # fmt: skip


@pytest.mark.parametrize("spell", SPELLINGS)
def test_one_step(spell: Callable[[Spelling], str]) -> None:
    net = Spelling()
    graph = net.graph(spell(net))
    lowered = check(graph)
    assert [kernel for kernel in steps(lowered) if kernel not in ("host", "select", "compare")] == ["attention"]
    assert sum("Attention" in op for op in ops(graph)) == 1


def test_extents_by_symbols() -> None:
    net = Spelling()
    q, v = net.input("q", "b", H, "s", D), net.input("v", "b", H, "t", D)
    k = net.op("Transpose", net.input("k", "b", H, "t", D), perm=(0, 1, 3, 2))
    graph = net.graph(net.core(q, k, v, mask=net.input("mask", "b", 1, "s", "t")))
    lowered = check(graph, {"b": 2, "s": 3, "t": 5})
    (step,) = lowered.plan.steps
    assert step.attributes["extents"] == ["b", H, H, "s", "t", D, D, 0]
    assert step.attributes["k_view"] == [0, "12*t", "4*t", D, 1]


def test_a_causal_mask_cut_to_length() -> None:
    """The mask is as long as the rows in every run that broadcasting allows."""
    net = Spelling()
    q, k, v = net.input("q", "b", H, "s", D), net.input("k", "b", H, D, "s"), net.input("v", "b", H, "s", D)
    tri = net.const(np.tri(8, dtype=bool)[None, None])
    length = net.op("Shape", v, start=2, end=3)
    cut = net.op("Slice", tri, net.const([0]), length, net.const([2]), net.const([1]))
    cut = net.op("Slice", cut, net.const([0]), length, net.const([3]), net.const([1]))
    scores = net.op("Where", cut, net.op("MatMul", q, k), net.const(-1e4))
    graph = net.graph(net.op("MatMul", net.weights(scores), v))
    assert "attention" in steps(check(graph, {"b": 2, "s": 5}))


def broken(change: str) -> tuple[Graph, tuple[str, ...]]:
    """Attention with one thing changed."""
    net = Spelling()
    q, k, v = heads(net, "q", "k", "v")
    scores = net.op("MatMul", q, k, result="scores")
    outputs: tuple[str, ...] = ()
    match change:
        case "scores are read":
            outputs = (net.op("Neg", scores, result="other"),)
        case "scores are an output":
            outputs = (scores,)
        case "weights are an output":
            outputs = ("p",)
        case "a factor for each head":
            scores = net.op("Mul", scores, net.const(np.ones((H, 1, 1))))
        case "a factor at run time":
            scores = net.op("Mul", scores, net.input("factor"))
        case "a mask that widens":
            scores = net.op("Add", scores, net.input("mask", 5, B, H, S, S))
        case "a mask that widens an axis":
            net.inputs["q"] = net.inputs["k"] = net.inputs["v"] = (1, H, S, D)
            scores = net.op("Add", scores, net.input("mask", B, 1, 1, S))
        case "a fill at run time":
            scores = net.op("Where", keep_of(net, S, S), scores, net.input("fill"))
        case "a factor after the mask":
            scores = net.op("Mul", net.op("Add", scores, net.input("mask", S)), net.const(2.0))
        case "three masks":
            for name in ("m1", "m2", "m3"):
                scores = net.op("Add", scores, net.input(name, S))
    axis = 2 if change == "another axis" else -1
    p = net.op("Softmax", scores, result="p", axis=axis)
    y = net.op("MatMul", p, net.op("Relu", v), result="y")
    return net.graph(y, *outputs), (change,)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("another axis", "AXIS(2, 3)"),
        ("scores are read", "MULTI_READER(scores, other)"),
        ("scores are an output", "GRAPH_OUTPUT(scores)"),
        ("weights are an output", "GRAPH_OUTPUT(p)"),
        ("a factor for each head", "BROADCAST(factor, [3, 1, 1], [])"),
        ("a factor at run time", "NOT_CONSTANT(factor)"),
        ("a mask that widens", "BROADCAST(rank, 5, at most 4)"),
        ("a mask that widens an axis", "BROADCAST(0, 2, 1)"),
        ("a fill at run time", "NOT_CONSTANT(fill)"),
    ],
)
def test_near_misses(change: str, reason: str) -> None:
    graph, _ = broken(change)
    result = run(graph)
    assert not any("Attention" in display for display in displays(result))
    assert reason in miss_of(result, "attention")


@pytest.mark.parametrize("change", ["a factor after the mask", "three masks"])
def test_what_the_kernel_cannot_say(change: str) -> None:
    graph, _ = broken(change)
    assert not any("Attention" in display for display in displays(run(graph)))


def test_another_axis_reads_so() -> None:
    graph, _ = broken("another axis")
    (miss,) = (miss for miss in run(graph).misses if miss.pattern == "attention")
    assert miss.detail == "p runs along axis 2, not along the last one, 3"


def test_rank_two_is_no_attention() -> None:
    net = Spelling()
    q, k, v = net.input("q", S, D), net.input("k", D, S), net.input("v", S, D)
    graph = net.graph(net.core(q, k, v))
    result = run(graph)
    assert miss_of(result, "attention") == ["KERNEL_LIMIT(rank, 2, 3 or 4)"]


def test_scores_of_more_samples_than_keys() -> None:
    """Values widen the batch of the scores: the kernel's masks would not know of it."""
    net = Spelling()
    q, k, v = net.input("q", 1, H, S, D), net.input("k", 1, H, D, S), net.input("v", B, H, S, D)
    graph = net.graph(net.core(q, k, v))
    assert miss_of(run(graph), "attention") == ["BROADCAST(result, [2, 3, 4, 4], [1, 3, 4, value size])"]


def test_controls() -> None:
    net = Spelling()
    graph = net.graph(plain(net))
    result = run(graph, controls=Controls(level=1))
    assert miss_of(result, "attention") == ["LEVEL(2)"]
    assert "Softmax" in ops(graph)


def test_half_precision_is_one_step_too() -> None:
    lowered = _half()
    assert steps(lowered) == ["attention"]


def _half() -> Lowered:
    net = Spelling()
    y = plain(net)
    constants = {name: array.astype(np.float16) for name, array in net.constants.items()}
    graph = build(net.inputs, net.nodes, y, constants, DType.FLOAT16)
    run(graph)
    return lower(graph, backend="reference")
