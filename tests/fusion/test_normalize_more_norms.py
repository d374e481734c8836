"""LayerNorm with its scale on the deviation, by moments, and over channels: spellings, near misses, what stays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from autofusion.fusion import Controls
from autofusion.ir import Attribute, Graph
from fusion.normalizing import normalize, only, reason_of
from fusion.support import Net, ops, run

KEEP: dict[str, Attribute] = {"keepdims": 1}


@dataclass(frozen=True)
class Spelling:
    """A normalization over `axes` of an image or of rows, written out."""

    shape: tuple[int, ...] = (2, 3, 8)
    axes: tuple[int, ...] = (2,)
    scale: tuple[int, ...] = (8,)
    bias: tuple[int, ...] = (8,)
    variance: str = "deviation"
    epsilon: float = 1e-5


def begin(style: Spelling) -> Net:
    """A net with mean `m`, deviation `d`, root `s` and its inverse `i`."""
    net = Net()
    net.input("x", style.shape)
    row = tuple(1 if axis in style.axes else extent for axis, extent in enumerate(style.shape))
    for name, values in (("axes", np.array(style.axes)), ("eps", np.float32(style.epsilon))):
        net.const(name, np.asarray(values))
    net.const("scale", style.scale)
    net.const("bias", style.bias)
    net.op("ReduceMean", "x axes", "m", row, KEEP)
    net.op("Sub", "x m", "d", style.shape)
    net.op("Mul", "x x" if style.variance == "moments" else "d d", "q", style.shape)
    net.op("ReduceMean", "q axes", "v", row, KEEP)
    variance = "v"
    if style.variance == "moments":
        net.op("Mul", "m m", "mm", row)
        variance = net.op("Sub", "v mm", "u", row)
    net.op("Add", f"{variance} eps", "e", row)
    net.op("Sqrt", "e", "s", row)
    return net


def scaled(style: Spelling, *, whole: bool = True, minuend: str = "bias") -> Graph:
    net = begin(style)
    net.op("Reciprocal", "s", "i")
    net.op("Mul", "i scale", "f", (*style.shape[:-1], style.shape[-1]))
    if not whole:
        net.op("Mul", "d f", "h", style.shape)
        return net.output(net.op("Add", "h bias", "y", style.shape))
    net.op("Mul", "x f", "large", style.shape)
    net.op("Mul", "m f", "moved", style.shape)
    net.op("Sub", "bias moved" if minuend == "bias" else "moved bias", "shift", style.shape)
    return net.output(net.op("Add", "large shift", "y", style.shape))


def plain(style: Spelling) -> Graph:
    net = begin(style)
    net.op("Div", "d s", "n", style.shape)
    net.op("Mul", "n scale", "h", style.shape)
    return net.output(net.op("Add", "h bias", "y", style.shape))


ROWS = Spelling()
IMAGE = Spelling((2, 4, 3, 5), (1,), (4, 1, 1), (1, 4, 1, 1))


@pytest.mark.parametrize("whole", [True, False])
def test_the_scale_on_the_deviation(whole: bool) -> None:
    node = only(scaled(ROWS, whole=whole))
    assert (node.op, node.display, node.inputs) == ("LayerNormalization", "LayerNorm", ("x", "scale", "bias"))
    assert node.attributes["axis"] == 2


def test_the_scale_on_the_deviation_waits_for_level_2() -> None:
    graph = scaled(ROWS)
    result = run(graph, controls=Controls(level=1))
    assert "LayerNormalization" not in ops(graph)
    assert reason_of(result, "layer_norm_scaled") == "LEVEL(2)"


@pytest.mark.parametrize(
    ("style", "reason"),
    [
        (replace(ROWS, epsilon=0.0), "CONSTANT_VALUE(0.0, > 0)"),
        (replace(ROWS, scale=(3, 8)), "BROADCAST(scale, [3, 8], [8])"),
        (replace(ROWS, shape=(2, 8, 8), axes=(1,)), "AXIS([1], [2])"),
    ],
)
def test_near_misses_of_the_scale(style: Spelling, reason: str) -> None:
    graph = scaled(style)
    result = run(graph)
    assert "LayerNormalization" not in ops(graph)
    assert reason_of(result, "layer_norm_scaled") == reason


def test_the_shift_the_other_way_round_stays() -> None:
    assert "LayerNormalization" not in [node.op for node in normalize(scaled(ROWS, minuend="moved"))]


def test_moments_at_level_3_only() -> None:
    graph = plain(replace(ROWS, variance="moments"))
    assert reason_of(run(graph), "layer_norm_moments") == "LEVEL(3)"
    assert "LayerNormalization" not in ops(graph)
    run(graph, controls=Controls(level=3))
    assert ops(graph) == ["LayerNormalization"]


def test_moments_of_other_values_stay() -> None:
    net = begin(replace(ROWS, variance="moments"))
    net.input("z", (2, 3, 8))
    net.op("Sub", "z m", "w", (2, 3, 8))
    graph = net.output(net.op("Div", "w s", "y", (2, 3, 8)), "d")
    run(graph, controls=Controls(level=3))
    assert "LayerNormalization" not in ops(graph)


def test_channels_of_an_image() -> None:
    node = only(plain(IMAGE))
    assert (node.op, node.display, node.inputs[0]) == ("ChannelNorm", "LayerNorm", "x")
    assert node.attributes == {"epsilon": pytest.approx(1e-5)}


@pytest.mark.parametrize(
    ("style", "reason"),
    [
        (replace(IMAGE, shape=(2, 4, 4, 5), axes=(2,)), "AXIS([2], [1])"),
        (replace(IMAGE, scale=(4, 3, 1)), "BROADCAST(scale, [4, 3, 1], [4, 1, 1])"),
        (replace(IMAGE, epsilon=0.0), "CONSTANT_VALUE(0.0, > 0)"),
    ],
)
def test_near_misses_of_channels(style: Spelling, reason: str) -> None:
    graph = plain(style)
    result = run(graph)
    assert "ChannelNorm" not in ops(graph)
    # The report has one miss for each place: along an axis that suits neither, that of LayerNorm.
    (own,) = {str(miss.reason) for miss in result.attempts if miss.pattern == "channel_norm" and miss.is_near}
    assert own == reason


def turned(back: tuple[int, ...] = (0, 3, 1, 2), axis: int = 3) -> Graph:
    net = Net()
    net.input("x", (2, 4, 3, 5))
    net.const("scale", (4,) if axis == 3 else (5, 4))
    net.op("Transpose", "x", "t", (2, 3, 5, 4), {"perm": (0, 2, 3, 1)})
    net.op("LayerNormalization", "t scale", "n", (2, 3, 5, 4), {"axis": axis})
    shape = tuple((2, 3, 5, 4)[place] for place in back)
    return net.output(net.op("Transpose", "n", "y", shape, {"perm": back}))


def test_channels_between_transposes() -> None:
    node = only(turned())
    assert (node.op, node.display, node.inputs) == ("ChannelNorm", "LayerNorm", ("x", "scale"))


def test_another_way_back_stays() -> None:
    graph = turned(back=(0, 3, 2, 1))
    result = run(graph)
    assert ops(graph) == ["LayerNormalization", "Transpose", "Transpose"]
    assert [miss.pattern for miss in result.misses if miss.pattern == "channel_norm_turned"] == []


def test_a_block_of_more_than_channels_stays() -> None:
    graph = turned(axis=2)
    assert reason_of(run(graph), "channel_norm_turned").startswith(("AXIS(", "ATTRIBUTE("))
    assert "ChannelNorm" not in ops(graph)
