"""LayerNorm, RMSNorm, GroupNorm and Softmax written out: every spelling is one operator, lookalikes stay."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from autofusion.ir import Attribute, DType, Graph
from fusion.normalizing import normalize, only, reason_of
from fusion.support import Net, ops, run


@dataclass(frozen=True)
class Spelling:
    """How a normalization is written out."""

    shape: tuple[int | str, ...] = (2, 3, 8)
    axes: tuple[int, ...] = (2,)
    square: str = "Pow"
    exponent: float = 2.0
    root: str = "Sqrt"
    quotient: str = "Div"
    epsilon: float = 1e-5
    keep: int = 1
    scale: tuple[int, ...] | None = (8,)
    bias: tuple[int, ...] | None = (8,)
    swapped: bool = False
    minuend: str = "x"
    centred: bool = True
    spread_axes: tuple[int, ...] | None = None


def write(style: Spelling) -> Net:
    """A net whose last value is `y`."""
    net = Net()
    net.input("x", style.shape)
    row = tuple(1 if axis in style.axes else extent for axis, extent in enumerate(style.shape))
    keep: dict[str, Attribute] = {"keepdims": style.keep}
    net.const("axes", np.array(style.axes))
    net.const("eps", np.array(style.epsilon, np.float32))
    net.const("two", np.array(style.exponent, np.float32))
    net.const("half", np.array(0.5, np.float32))
    net.const("minus_half", np.array(-0.5, np.float32))
    net.const("one", np.array(1.0, np.float32))
    net.const("axes2", np.array(style.spread_axes or style.axes))
    d = "x"
    if style.centred:
        net.op("ReduceMean", "x axes", "mean", row, keep)
        d = net.op("Sub", "x mean" if style.minuend == "x" else "mean x", "d", style.shape)
    last = net.op("Pow", f"{d} two", "q") if style.square == "Pow" else net.op("Mul", f"{d} {d}", "q")
    net.op("ReduceMean", f"{last} axes2", "v", row, keep)
    net.op("Add", "eps v" if style.swapped else "v eps", "ve", row)
    if style.quotient == "power":
        inverse = net.op("Pow", "ve minus_half", "i")
        last = net.op("Mul", f"{inverse} {d}", "h", style.shape)
    else:
        root = net.op("Sqrt", "ve", "s") if style.root == "Sqrt" else net.op("Pow", "ve half", "s")
        if style.quotient == "Div":
            last = net.op("Div", f"{d} {root}", "h")
        else:
            inverse = net.op("Reciprocal", "s", "i") if style.quotient == "Reciprocal" else net.op("Div", "one s", "i")
            last = net.op("Mul", f"{d} {inverse}", "h")
    for name, op, shape in (("scale", "Mul", style.scale), ("bias", "Add", style.bias)):
        if shape is not None:
            net.const(name, shape)
            last = net.op(op, f"{name} {last}" if style.swapped else f"{last} {name}", f"{last}_{name}", style.shape)
    net.graph.outputs = (last,)
    net.graph.discard_unused()
    return net


LAYER = Spelling()
ROOT_MEAN_SQUARE = Spelling(centred=False, bias=None, epsilon=1e-6)


def graph_of(style: Spelling) -> Graph:
    return write(style).graph


@pytest.mark.parametrize("square", ["Pow", "Mul"])
@pytest.mark.parametrize("quotient", ["Div", "Reciprocal", "one over", "power"])
@pytest.mark.parametrize("root", ["Sqrt", "Pow"])
def test_layer_norm(square: str, quotient: str, root: str) -> None:
    node = only(graph_of(replace(LAYER, square=square, quotient=quotient, root=root)))
    assert (node.op, node.domain, node.display, node.inputs) == (
        "LayerNormalization",
        "",
        "LayerNorm",
        ("x", "scale", "bias"),
    )
    assert node.attributes == {"axis": 2, "epsilon": pytest.approx(1e-5), "stash_type": 1}


@pytest.mark.parametrize("scale", [None, (8,)])
@pytest.mark.parametrize("bias", [None, (8,)])
def test_scale_and_shift_may_be_missing(scale: tuple[int, ...] | None, bias: tuple[int, ...] | None) -> None:
    graph = graph_of(replace(LAYER, scale=scale, bias=bias, swapped=True))
    node = only(graph)
    assert node.op == "LayerNormalization"
    ones = graph.constant(node.inputs[1])
    assert scale is not None or (ones is not None and np.array_equal(ones, np.ones(8)))
    assert len(node.inputs) == (3 if bias else 2)


def test_a_block_of_last_axes() -> None:
    node = only(graph_of(replace(LAYER, axes=(1, 2), scale=(3, 8), bias=(3, 8))))
    assert (node.op, node.attributes["axis"]) == ("LayerNormalization", 1)


def test_rank_one() -> None:
    assert only(graph_of(replace(LAYER, shape=(8,), axes=(0,)))).op == "LayerNormalization"


def test_symbolic_rows() -> None:
    assert only(graph_of(replace(LAYER, shape=("batch", "rows", 8)))).op == "LayerNormalization"


def test_two_subtractions() -> None:
    net = Net()
    net.input("x", (2, 8))
    net.const("axes", np.array([1]))
    net.const("eps", np.array(1e-5, np.float32))
    net.op("ReduceMean", "x axes", "mean", (2, 1))
    net.op("Sub", "x mean", "d")
    net.op("Sub", "x mean", "again")
    net.op("Mul", "again again", "q")
    net.op("ReduceMean", "q axes", "v", (2, 1))
    net.op("Add", "v eps", "ve")
    net.op("Sqrt", "ve", "s")
    graph = net.output(net.op("Div", "d s", "y", (2, 8)))
    assert only(graph).op == "LayerNormalization"


def halves(back: bool) -> Graph:
    net = Net(dtype=DType.FLOAT16)
    net.input("x", (2, 8))
    net.op("Cast", "x", "wide", attributes={"to": 1}, dtype=DType.FLOAT)
    net.const("axes", np.array([1]))
    net.const("eps", np.array(1e-5, np.float32))
    net.const("two", np.array(2, np.float32))
    single = DType.FLOAT
    net.op("ReduceMean", "wide axes", "mean", (2, 1), dtype=single)
    net.op("Sub", "wide mean", "d", (2, 8), dtype=single)
    net.op("Pow", "d two", "q", dtype=single)
    net.op("ReduceMean", "q axes", "v", (2, 1), dtype=single)
    net.op("Add", "v eps", "ve", dtype=single)
    net.op("Sqrt", "ve", "s", dtype=single)
    net.op("Div", "d s", "h", (2, 8), dtype=single)
    if not back:
        return net.output("h")
    net.op("Cast", "h", "narrow", attributes={"to": 10})
    net.const("scale", (8,))
    return net.output(net.op("Mul", "narrow scale", "y"))


def test_casts_to_a_wider_type_are_taken_in() -> None:
    node = only(halves(back=True))
    assert (node.op, node.inputs) == ("LayerNormalization", ("x", "scale"))


def test_a_cast_that_stays_wide_stays() -> None:
    graph = halves(back=False)
    assert sorted(node.op for node in normalize(graph)) == ["Cast", "LayerNormalization"]


@pytest.mark.parametrize(
    ("style", "reason"),
    [
        (replace(LAYER, keep=0, shape=(4, 4), axes=(1,), scale=(4,), bias=(4,)), "ATTRIBUTE(keepdims, 0, 1)"),
        (replace(LAYER, shape=(2, 4, 4), axes=(1,), scale=None, bias=None), "AXIS([1], [2])"),
        # Of two norms the nearer one: all that keeps this from the channels of an image is where its scale lies.
        (replace(LAYER, shape=(2, 4, 4), axes=(1,), scale=(4,), bias=(4,)), "BROADCAST(scale, [4], [4, 1])"),
        (replace(LAYER, exponent=4.0), "CONSTANT_VALUE(4, 2)"),
        (replace(LAYER, epsilon=0.0), "CONSTANT_VALUE(0.0, > 0)"),
        (replace(LAYER, shape=(2, 8, 8), spread_axes=(1,)), "AXIS([1], [2])"),
    ],
)
def test_lookalikes_are_no_layer_norm(style: Spelling, reason: str) -> None:
    graph = graph_of(style)
    result = run(graph)
    assert "LayerNormalization" not in ops(graph)
    assert reason in {str(miss.reason) for miss in result.misses}


def test_the_mean_less_x_is_no_layer_norm() -> None:
    assert "LayerNormalization" not in [node.op for node in normalize(graph_of(replace(LAYER, minuend="mean")))]


@pytest.mark.parametrize(
    ("scale", "reason"), [((3, 1), "BROADCAST(scale, [3, 1], [8])"), ((3, 8), "BROADCAST(scale, [3, 8], [8])")]
)
def test_a_scale_over_other_axes_stays(scale: tuple[int, ...], reason: str) -> None:
    graph = graph_of(replace(LAYER, scale=scale, bias=None))
    assert sorted(node.op for node in normalize(graph)) == ["LayerNormalization", "Mul"]
    assert reason in {str(miss.reason) for miss in run(graph_of(replace(LAYER, scale=scale, bias=None))).misses}


def test_a_shift_that_widens_stays() -> None:
    graph = graph_of(replace(LAYER, bias=(3, 8)))
    assert sorted(node.op for node in normalize(graph)) == ["Add", "LayerNormalization"]


def test_epsilon_outside_the_root_stays() -> None:
    net = Net()
    net.input("x", (2, 8))
    net.const("axes", np.array([1]))
    net.const("eps", np.array(1e-5, np.float32))
    net.op("ReduceMean", "x axes", "mean", (2, 1))
    net.op("Sub", "x mean", "d")
    net.op("Mul", "d d", "q")
    net.op("ReduceMean", "q axes", "v", (2, 1))
    net.op("Sqrt", "v", "s")
    net.op("Add", "s eps", "se")
    graph = net.output(net.op("Div", "d se", "y", (2, 8)))
    run(graph)
    assert len(graph) == 7


def test_a_deviation_read_elsewhere_stays() -> None:
    net = write(LAYER)
    net.op("Neg", "d", "z")
    graph = net.output(*net.graph.outputs, "z")
    assert reason_of(run(graph), "layer_norm") == "MULTI_READER(d, Z)"


@pytest.mark.parametrize("square", ["Pow", "Mul"])
@pytest.mark.parametrize("quotient", ["Div", "Reciprocal", "one over", "power"])
@pytest.mark.parametrize("swapped", [False, True])
def test_rms_norm(square: str, quotient: str, swapped: bool) -> None:
    node = only(graph_of(replace(ROOT_MEAN_SQUARE, square=square, quotient=quotient, swapped=swapped)))
    assert (node.op, node.display, node.inputs) == ("RMSNormalization", "RMSNorm", ("x", "scale"))
    assert node.attributes["epsilon"] == pytest.approx(1e-6)


def test_rms_norm_over_another_axis_stays() -> None:
    graph = graph_of(replace(ROOT_MEAN_SQUARE, shape=(2, 8, 8), axes=(1,)))
    assert reason_of(run(graph), "rms_norm") == "AXIS([1], [2])"


@pytest.mark.parametrize("change", ["", "unit", "groups", "scale"])
def test_group_norm(change: str) -> None:
    net = Net()
    net.input("x", (2, 6, 2, 2))
    groups = 4 if change == "groups" else 3
    net.const("shape", np.array([0, groups, -1]))
    net.const("back", np.array([2, 6, 2, 2]))
    net.const("ones", np.full(groups, 2.0 if change == "unit" else 1.0, np.float32))
    net.const("zeros", np.zeros(groups, np.float32))
    net.const("scale", (6, 1, 1) if change != "scale" else (1, 2, 2))
    net.const("bias", (6, 1, 1))
    net.op("Reshape", "x shape", "g", (2, groups, 24 // groups))
    net.op("InstanceNormalization", "g ones zeros", "i", attributes={"epsilon": 1e-3})
    net.op("Reshape", "i back", "r", (2, 6, 2, 2))
    net.op("Mul", "r scale", "s")
    graph = net.output(net.op("Add", "s bias", "y"))
    if change:
        reasons = {
            "unit": "CONSTANT_VALUE(2, 1)",
            "groups": "KERNEL_LIMIT(groups, [2, 4, 6], [2, 6, 2, 2])",
            "scale": "BROADCAST(scale, [1, 2, 2], [6, 1, 1])",
        }
        assert reason_of(run(graph), "group_norm") == reasons[change]
        return
    node = only(graph)
    assert (node.op, node.display, node.attributes["num_groups"]) == ("GroupNormalization", "GroupNorm", 3)
    assert [graph.value(name).shape for name in node.inputs[1:]] == [(6,), (6,)]


@pytest.mark.parametrize(("axes", "total"), [((1,), (1,)), ((2,), (2,)), ((1,), (2,)), ((1, 2), (1, 2))])
def test_softmax(axes: tuple[int, ...], total: tuple[int, ...]) -> None:
    net = Net()
    net.input("x", (2, 4, 4))
    net.const("axes", np.array(axes))
    net.const("total", np.array(total))
    net.op("ReduceMax", "x axes", "m", tuple(1 if axis in axes else (2, 4, 4)[axis] for axis in range(3)))
    net.op("Sub", "x m", "d")
    net.op("Exp", "d", "e")
    net.op("ReduceSum", "e total", "t", tuple(1 if axis in total else (2, 4, 4)[axis] for axis in range(3)))
    graph = net.output(net.op("Div", "e t", "y"))
    if axes == total and len(axes) == 1:
        assert only(graph).attributes == {"axis": axes[0]}
        return
    reason = "AXIS([2], [1])" if len(axes) == 1 else "AXIS([1, 2], one axis)"
    assert reason_of(run(graph), "softmax") == reason


def image(scale: tuple[int, ...] = (8, 1, 1)) -> Graph:
    return graph_of(Spelling(shape=(2, 8, 3, 4), axes=(2, 3), epsilon=1e-3, scale=scale, bias=(8, 1, 1)))


def test_instance_norm() -> None:
    graph = image()
    node = only(graph)
    assert (node.op, node.display) == ("InstanceNormalization", "InstanceNorm")
    assert node.attributes == {"epsilon": pytest.approx(1e-3)}
    assert [graph.value(name).shape for name in node.inputs[1:]] == [(8,), (8,)]


def test_a_scale_along_the_rows_is_no_instance_norm() -> None:
    graph = image(scale=(1, 3, 1))
    assert sorted(node.op for node in normalize(graph)) == ["Add", "LayerNormalization", "Mul"]
