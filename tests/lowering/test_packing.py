"""Packed weights: every element is where the kernels look for it."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.lowering import lower
from autofusion.lowering.packing import PANEL, pack_conv_weight, pack_matmul_weight
from autofusion.runtime import records
from lowering.graphs import build, node, randoms


def test_both_sides_agree_on_the_width_of_a_panel() -> None:
    assert PANEL == records.PANEL


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 15, 16, 17, 40])
def test_matrix(columns: int, dtype: type[np.floating]) -> None:
    b = np.arange(7 * columns, dtype=dtype).reshape(7, columns) + 1
    packed = pack_matmul_weight(b)
    assert packed.dtype == dtype
    panels = packed.reshape(-1, 7, PANEL)
    for row in range(7):
        for column in range(columns):
            assert b[row, column] == panels[column // PANEL, row, column % PANEL]
    assert np.count_nonzero(packed) == b.size


@pytest.mark.parametrize(("filters", "depth", "group"), [(5, 3, 1), (16, 2, 1), (34, 2, 2), (4, 1, 1)])
def test_convolution(filters: int, depth: int, group: int) -> None:
    weight = np.arange(filters * depth * 6, dtype=np.float32).reshape(filters, depth, 2, 3) + 1
    per_group = filters // group
    packed = pack_conv_weight(weight, group).reshape(group, -1, 6, depth, PANEL)
    for filter_ in range(filters):
        place, column = divmod(filter_, per_group)
        for channel in range(depth):
            panel = packed[place, column // PANEL, :, channel, column % PANEL]
            np.testing.assert_array_equal(weight[filter_, channel].ravel(), panel)
    assert np.count_nonzero(packed) == weight.size


@pytest.mark.parametrize(("filters", "group"), [(1, 1), (16, 16), (37, 37), (6, 3), (40, 2)])
def test_depthwise(filters: int, group: int) -> None:
    weight = np.arange(filters * 3, dtype=np.float32).reshape(filters, 1, 3) + 1
    packed = pack_conv_weight(weight, group).reshape(-1, 3, PANEL)
    for filter_ in range(filters):
        np.testing.assert_array_equal(weight[filter_, 0], packed[filter_ // PANEL, :, filter_ % PANEL])
    assert np.count_nonzero(packed) == weight.size


def test_every_part_of_a_product_begins_a_panel():
    b = np.arange(60, dtype=np.float32).reshape(3, 20) + 1
    packed = pack_matmul_weight(b, [17, 3]).reshape(3, 3, PANEL)
    np.testing.assert_array_equal(packed[0], b[:, :16])
    np.testing.assert_array_equal(packed[1, :, 0], b[:, 16])
    np.testing.assert_array_equal(packed[2, :, :3], b[:, 17:])
    assert not packed[1, :, 1:].any()
    assert not packed[2, :, 3:].any()


@pytest.mark.parametrize(
    ("channels", "filters", "group", "kernel", "narrow"),
    [
        (32, 32, 8, 3, True),
        (32, 32, 4, 3, True),
        (32, 32, 16, 3, True),
        (32, 32, 2, 3, False),
        (32, 64, 8, 3, False),
        (32, 32, 8, 1, False),
        (24, 24, 4, 3, False),
        (8, 8, 1, 3, False),
        (32, 32, 32, 3, False),
    ],
)
def test_which_groups_are_narrow(channels: int, filters: int, group: int, kernel: int, narrow: bool) -> None:
    weight = randoms(1, filters, channels // group, kernel, kernel)
    pads = (kernel // 2,) * 4
    graph = build({"x": [1, channels, 9, 9]}, [node("Conv", "x w", "y", group=group, pads=pads)], "y", {"w": weight})
    lowered = lower(graph, backend="native", exact=True)
    (step,) = (step for step in lowered.plan.steps if step.kernel == "conv")
    assert step.attributes.get("narrow", False) == narrow
    if narrow:
        packed = lowered.weights[0].reshape(filters // 16, kernel, kernel, channels // group, 16)
        assert (packed[1, 2, 1, 0, 5], packed[0, 0, 2, 1, 7]) == (weight[21, 0, 2, 1], weight[7, 1, 0, 2])
