from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autofusion.ir import DType, Graph
from autofusion.lowering import lower
from autofusion.lowering.cost import CostModel, estimate_node_speedup, estimate_speedup
from autofusion.lowering.roofline import CACHE_BYTES, SERVER, Roofline, Work
from autofusion.lowering.winograd import MAKING_COST
from autofusion.lowering.work import LOAD_FLOPS, SHUFFLE_FLOPS, TRANSCENDENTAL_FLOPS, WINOGRAD_PARTS
from lowering.graphs import build, fuse, node, randoms


def conv_relu(batch: int | str = 1) -> Graph:
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "r"), node("Flatten", "r", "y")]
    return build({"x": [batch, 8, 10, 10]}, nodes, "y", {"w": randoms(1, 16, 8, 3, 3)})


def test_time_is_the_slower_of_arithmetic_and_traffic_plus_a_call():
    roofline = Roofline(flops=10, cache_bandwidth=4, memory_bandwidth=2, launch=0.5)
    assert roofline.seconds(Work(flops=30)) == 3.5
    assert roofline.seconds(Work(cached=8, streamed=8)) == 6.5
    assert roofline.seconds(Work(flops=30, cached=8)) == 3.5


def test_costs_of_operators():
    graph = conv_relu()
    model = CostModel(graph)
    weight, image, result = 16 * 8 * 9, 800, 16 * 64
    assert model.estimate(graph.node("c")) == Work(2 * 8 * 9 * result, 4 * (weight + image + result))
    assert model.estimate(graph.node("r")) == Work(result, 4 * 2 * result)
    assert model.estimate(graph.node("y")) == Work()


def test_terms_that_need_loads_of_their_own_count_more():
    nodes = [node("Conv", "x w", "c", group=8), node("MaxPool", "c", "y", kernel_shape=(2, 2))]
    graph = build({"x": [1, 8, 10, 10]}, nodes, "y", {"w": randoms(1, 8, 1, 3, 3)})
    model = CostModel(graph)
    assert model.estimate(graph.node("c")).flops == LOAD_FLOPS * 2 * 9 * 8 * 64
    assert model.estimate(graph.node("y")).flops == LOAD_FLOPS * 4 * 8 * 49


def test_large_values_are_streamed():
    graph = build({"x": [CACHE_BYTES // 4 + 1], "z": [1]}, [node("Add", "x z", "y")], "y", {})
    assert CostModel(graph).estimate(graph.node("y")) == Work(
        CACHE_BYTES // 4 + 1, cached=4, streamed=2 * CACHE_BYTES + 8
    )


def test_constants_are_streamed_where_all_of_them_are_large():
    nodes = [node("MatMul", "x v", "a"), node("MatMul", "a w", "y")]
    size = 1536
    graph = build({"x": [1, size]}, nodes, "y", {"v": randoms(1, size, size), "w": randoms(2, size, size)})
    assert 4 * size * size < CACHE_BYTES < 8 * size * size
    assert CostModel(graph).estimate(graph.node("a")) == Work(2 * size * size, 8 * size, 4 * size * size)


def test_winograd_counts_fewer_operations_fused_or_not():
    nodes = [node("Conv", "x w", "c", pads=(1, 1, 1, 1)), node("Relu", "c", "y")]
    graph = build({"x": [1, 64, 56, 56]}, nodes, "y", {"w": randoms(1, 64, 64, 3, 3)})
    apart = CostModel(graph).unfused_seconds(graph)
    fuse(graph, "c y")
    lowered = lower(graph, backend="native")
    index = next(index for index, step in enumerate(lowered.plan.steps) if step.attributes.get("winograd") == 4)
    model = CostModel(graph, lowered=lowered)
    flops = 2 * 64 * 9 * 64 * 56 * 56
    assert model.step_work(index).flops == flops * WINOGRAD_PARTS[4] + 64 * 56 * 56
    assert model.unfused_seconds(graph) == pytest.approx(apart - flops * (1 - WINOGRAD_PARTS[4]) / SERVER.flops)


def test_filters_made_in_every_run_belong_to_no_operator():
    nodes = [node("Conv", "x w", "c", pads=(1, 1, 1, 1)), node("Relu", "c", "y")]
    graph = build({"x": [1, 16, 224, 224]}, nodes, "y", {"w": randoms(1, 16, 16, 3, 3)})
    lowered = lower(graph, backend="native")
    kernels = [step.kernel for step in lowered.plan.steps]
    model = CostModel(graph, lowered=lowered)
    making = model.step_work(kernels.index("filter"))
    positions = (int(str(lowered.plan.steps[kernels.index("conv")].attributes["winograd"])) + 2) ** 2
    tile = int(str(lowered.plan.steps[kernels.index("filter")].attributes["tile"]))
    assert making.flops == 2 * MAKING_COST[tile] * positions * 16 * 16
    assert model.fused_seconds(graph) == model.unfused_seconds(graph)


def test_cost_of_products():
    nodes = [node("Gemm", "x w b", "g", transA=1), node("MatMul", "g v", "y")]
    constants = {"w": randoms(1, 3, 4), "b": randoms(2, 4), "v": randoms(3, 5, 4, 6)}
    graph = build({"x": [3, 7]}, nodes, "y", constants)
    model = CostModel(graph)
    assert model.estimate(graph.node("g")).flops == 2 * 7 * 4 * 3
    assert model.estimate(graph.node("y")).flops == 2 * 5 * 7 * 6 * 4


def test_a_fused_node_moves_only_its_operands_and_its_result():
    graph = conv_relu()
    model = CostModel(graph)
    apart = [model.estimate(graph.node(name)) for name in ("c", "r")]
    fused = fuse(graph, "c r")
    together = CostModel(graph).estimate(fused)
    assert together == Work(apart[0].flops + apart[1].flops, apart[0].bytes)
    seconds = sum(map(SERVER.seconds, apart))
    assert estimate_node_speedup(fused, graph) == seconds / SERVER.seconds(together) > 1


def test_nested_fusions_are_taken_apart():
    graph = conv_relu()
    before = CostModel(graph).fused_seconds(graph)
    fuse(graph, "c r")
    fuse(graph, "r y")
    assert CostModel(graph).unfused_seconds(graph) == before
    assert estimate_speedup(graph) == before / CostModel(graph).fused_seconds(graph)


def test_nothing_fused_is_no_speedup():
    assert estimate_speedup(conv_relu()) == 1
    assert estimate_speedup(Graph("empty")) == 1


def test_symbols_have_nominal_extents_unless_given():
    graph = conv_relu("batch")
    assert CostModel(graph).extents("x") == (1, 8, 10, 10)
    assert CostModel(graph, {"batch": 3}).extents("x") == (3, 8, 10, 10)
    tokens = build({"x": ["batch", "seq", 4]}, [node("Softmax", "x", "y", axis=-1)], "y", {})
    assert CostModel(tokens).extents("y") == (1, 128, 4)
    assert CostModel(tokens).estimate(tokens.node("y")).flops == TRANSCENDENTAL_FLOPS * 512


@pytest.mark.parametrize("op", ["NonZero", "Unheard"])
def test_unknown_shapes_cost_a_call(op: str):
    graph = Graph("main", ["x"], ["y"])
    graph.add(node(op, "x", "y"))
    assert SERVER.seconds(CostModel(graph).estimate(graph.node("y"))) == SERVER.launch


def test_a_fused_node_that_takes_several_calls_is_charged_for_each():
    graph = conv_relu()
    graph.replace(["r"], [node("Erf", "c", "r")])
    apart = CostModel(graph).fused_seconds([graph.node("c"), graph.node("r")])
    fused = fuse(graph, "c r")
    lowered = lower(graph, backend="native")
    assert [step.kernel for step in lowered.plan.steps if step.kernel in ("conv", "unary")] == ["conv", "unary"]
    assert CostModel(graph, lowered=lowered).fused_seconds([fused]) == pytest.approx(apart, rel=0.05)
    assert CostModel(graph).fused_seconds([fused]) < 0.95 * apart


def test_a_fused_node_of_one_call_keeps_its_gain():
    graph = conv_relu()
    fused = fuse(graph, "c r")
    lowered = lower(graph, backend="native")
    assert CostModel(graph, lowered=lowered).fused_seconds([fused]) == CostModel(graph).fused_seconds([fused])


def test_of_a_table_the_rows_that_are_read_count():
    graph = build(
        {"i": [3]}, [node("Gather", "t i", "y", axis=0)], "y", {"t": np.zeros((10000, 8), np.float32)}, DType.INT64
    )
    assert CostModel(graph).estimate(graph.node("y")).bytes == 2 * 3 * 8 * 4 + 3 * 8
    assert CostModel(graph, lowered=lower(graph, backend="native")).step_work(0).bytes == 2 * 3 * 8 * 4 + 3 * 8


def test_attention_is_both_products_and_the_exponentials():
    spelled = [node("MatMul", "q t", "s"), node("Softmax", "s", "p", axis=3), node("MatMul", "p v", "y")]
    shapes = {"q": [2, 3, 5, 8], "t": [2, 3, 8, 7], "k": [2, 3, 7, 8], "v": [2, 3, 7, 8]}
    body = build(shapes, spelled, "y", {})
    parts = CostModel(body)
    queries, keys = 2 * 3 * 5, 7
    wanted = queries * keys * (2 * (8 + 8) + TRANSCENDENTAL_FLOPS + 2)
    assert sum(parts.estimate(part).flops for part in body) == wanted - 2 * queries * keys
    graph = build(shapes, [node("Attention", "q k v", "y")], "y", {})
    assert CostModel(graph).estimate(graph.node("y")).flops == wanted
    rows = build(
        {"q": [2, 5, 24], "k": [2, 7, 24], "v": [2, 7, 24]},
        [node("Attention", "q k v", "y", q_num_heads=3, kv_num_heads=3)],
        "y",
        {},
    )
    assert CostModel(rows).estimate(rows.node("y")).flops == wanted


def test_a_shuffle_of_channels_counts_every_element_where_it_is_not_fused_away():
    """Into the filters round it, it costs nothing; apart, what copies of elements one by one do."""
    nodes = [
        node("Conv", "x whole", "o"),
        node("Reshape", "o groups", "split"),
        node("Transpose", "split", "turned", perm=(0, 2, 1, 3, 4)),
        node("Reshape", "turned image", "u"),
        node("Conv", "u last", "y"),
    ]
    constants = {
        "whole": randoms(1, 6, 3, 1, 1),
        "last": randoms(2, 2, 6, 1, 1),
        "groups": np.array([1, 2, 3, 5, 4]),
        "image": np.array([1, 6, 5, 4]),
    }
    graph = build({"x": [1, 3, 5, 4]}, nodes, "y", constants)
    turned = CostModel(graph).estimate(graph.node("turned"))
    assert turned == Work(SHUFFLE_FLOPS * 120, 2 * 480)
    fused = fuse(graph, "split turned u")
    lowered = lower(graph, backend="native")
    assert "strided" not in {step.kernel for step in lowered.plan.steps}
    model = CostModel(graph, lowered=lowered)
    assert model.fused_seconds([fused]) == 0
    assert model.unfused_seconds([fused]) == SERVER.seconds(turned) + 2 * SERVER.launch


def test_rows_that_change_places_are_traffic_alone():
    graph = build({"x": [2, 3, 4, 5]}, [node("Transpose", "x", "y", perm=(0, 2, 1, 3))], "y", {})
    assert CostModel(graph).estimate(graph.node("y")) == Work(120, 2 * 480)


def test_a_convolution_behind_its_average_counts_the_pixels_that_are_left():
    nodes = [
        node("Conv", "x w", "c", kernel_shape=(1, 1)),
        node("AveragePool", "c", "y", kernel_shape=(2, 2), strides=(2, 2)),
    ]
    graph = build({"x": [1, 8, 10, 10]}, nodes, "y", {"w": randoms(1, 16, 8, 1, 1)})
    fused = replace(fuse(graph, "c y"), pattern="conv_pool")
    graph.replace([fused.name], [fused])
    lowered = lower(graph, backend="native")
    kernels = [step.kernel for step in lowered.plan.steps]
    assert [kernel for kernel in kernels if kernel != "relayout"] == ["pool", "conv"]
    work = CostModel(graph, lowered=lowered).step_work(kernels.index("conv"))
    pooled = LOAD_FLOPS * 4 * 16 * 25
    assert work.flops == 2 * 8 * 16 * 25 + pooled
