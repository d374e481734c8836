"""Random graphs of views and elementwise operators: whatever the passes do, outputs keep names, types and values."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autofusion.frontend import read_model
from autofusion.ir.verify import verify_graph
from autofusion.ops.selection import slice_places
from autofusion.passes import run_passes
from frontend.models import assert_same, model, node, random, run_graph, run_runtime, save, tensor

Shape = tuple[int, ...]


class Sketch:
    """A model in the making: nodes so far, and the shape of every value that may be read."""

    def __init__(self, draw: st.DrawFn, batch: int) -> None:
        self.draw = draw
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}
        self.shapes: dict[str, Shape] = {"x": (batch, 4, 6)}

    def constant(self, array: object, kind: type = np.int64) -> str:
        name = f"k{len(self.weights)}"
        self.weights[name] = np.array(array, kind)
        return name

    def add(self, op: str, inputs: str, shape: Shape, **attributes: object) -> None:
        name = f"v{len(self.nodes)}"
        self.nodes.append(node(op, inputs, name, f"n{len(self.nodes)}", **attributes))
        self.shapes[name] = shape

    def value(self) -> tuple[str, Shape]:
        return self.draw(st.sampled_from(sorted(self.shapes.items())))


def add_reshape(sketch: Sketch, name: str, shape: Shape) -> None:
    count = math.prod(shape)
    if not count:
        return
    first = sketch.draw(st.sampled_from([number for number in range(1, count + 1) if count % number == 0]))
    target = [first, count // first]
    if sketch.draw(st.booleans()):
        target = [shape[0] if shape else 1, -1]
    spelt = [0 if shape and index == 0 and extent == shape[0] else extent for index, extent in enumerate(target)]
    whole = tuple(count // target[0] if extent == -1 else extent for extent in target)
    sketch.add("Reshape", f"{name} {sketch.constant(spelt)}", whole)


def add_flatten(sketch: Sketch, name: str, shape: Shape) -> None:
    axis = sketch.draw(st.integers(0, len(shape)))
    sketch.add("Flatten", name, (math.prod(shape[:axis]), math.prod(shape[axis:])), axis=axis)


def add_unsqueeze(sketch: Sketch, name: str, shape: Shape) -> None:
    axis = sketch.draw(st.integers(-len(shape) - 1, len(shape)))
    place = axis % (len(shape) + 1)
    sketch.add("Unsqueeze", f"{name} {sketch.constant([axis])}", (*shape[:place], 1, *shape[place:]))


def add_squeeze(sketch: Sketch, name: str, shape: Shape) -> None:
    axes = [axis for axis, extent in enumerate(shape) if extent == 1 and axis]
    if axes:
        axis = sketch.draw(st.sampled_from(axes))
        sketch.add("Squeeze", f"{name} {sketch.constant([axis])}", (*shape[:axis], *shape[axis + 1 :]))


def add_transpose(sketch: Sketch, name: str, shape: Shape) -> None:
    order = sketch.draw(st.permutations(range(len(shape))))
    sketch.add("Transpose", name, tuple(shape[axis] for axis in order), perm=order)


def add_slice(sketch: Sketch, name: str, shape: Shape) -> None:
    if not shape:
        return
    axis = sketch.draw(st.integers(0, len(shape) - 1))
    step = sketch.draw(st.sampled_from([1, 1, 2, -1]))
    start, end = (sketch.draw(st.sampled_from([-100, -2, 0, 1, 2, 4])) for _ in range(2))
    if step > 0 and sketch.draw(st.booleans()):
        end = 2**31 - 1
    extent = len(slice_places(start, end, step, shape[axis]))
    operands = " ".join(sketch.constant([number]) for number in (start, end, axis, step))
    sketch.add("Slice", f"{name} {operands}", (*shape[:axis], extent, *shape[axis + 1 :]))


def add_halves(sketch: Sketch, name: str, shape: Shape) -> None:
    """Two Slices and the Concat of them, in one order or the other."""
    axis = len(shape) - 1
    if axis < 1 or shape[axis] < 2:
        return
    limits = [[0], [1], [shape[axis]]]
    for start, end in pairwise(limits):
        operands = " ".join(sketch.constant(numbers) for numbers in (start, end, [axis]))
        sketch.add("Slice", f"{name} {operands}", (*shape[:axis], end[0] - start[0]))
    first, second = f"v{len(sketch.nodes) - 2}", f"v{len(sketch.nodes) - 1}"
    order = sketch.draw(st.sampled_from([f"{first} {second}", f"{second} {first}", f"{first} {second} {first}"]))
    extent = sum(sketch.shapes[part][axis] for part in order.split())
    sketch.add("Concat", order, (*shape[:axis], extent), axis=axis)


def add_arithmetic(sketch: Sketch, name: str, shape: Shape) -> None:
    op = sketch.draw(st.sampled_from(["Add", "Sub", "Mul", "Div"]))
    element = sketch.draw(st.sampled_from([0.0, -0.0, 1.0, 2.0])) if op != "Div" else 1.0
    extents = sketch.draw(st.sampled_from([(), (1,), (1,) * len(shape), shape[-1:], (1,) * (len(shape) + 1)]))
    constant = sketch.constant(np.full(extents, element), np.float32)
    operands = [name, constant] if op in ("Sub", "Div") else sketch.draw(st.permutations([name, constant]))
    sketch.add(op, " ".join(operands), np.broadcast_shapes(shape, extents))


def add_limits(sketch: Sketch, name: str, shape: Shape) -> None:
    low, high = (sketch.draw(st.sampled_from([None, -1.0, 0.0, 0.5])) for _ in range(2))
    limits = ["_" if limit is None else sketch.constant(limit, np.float32) for limit in (low, high)]
    sketch.add("Clip", " ".join([name, *limits]), shape)


def add_unary(sketch: Sketch, name: str, shape: Shape) -> None:
    sketch.add(sketch.draw(st.sampled_from(["Relu", "Neg", "Tanh", "Identity"])), name, shape)


def add_casts(sketch: Sketch, name: str, shape: Shape) -> None:
    sketch.add("Cast", name, shape, to=sketch.draw(st.sampled_from([1, 10, 11])))
    sketch.add("Cast", f"v{len(sketch.nodes) - 1}", shape, to=1)
    del sketch.shapes[f"v{len(sketch.nodes) - 2}"]


def add_product(sketch: Sketch, name: str, shape: Shape) -> None:
    if len(shape) < 2 or not shape[-1]:
        return
    columns = sketch.draw(st.sampled_from([1, 3, shape[-1]]))
    matrix = sketch.constant(np.arange(shape[-1] * columns).reshape(shape[-1], columns) % 5 - 2, np.float32)
    sketch.add("MatMul", f"{name} {matrix}", (*shape[:-1], columns))


def add_picks(sketch: Sketch, name: str, shape: Shape) -> None:
    """Places of one axis, one by one."""
    axis = sketch.draw(st.integers(0, max(len(shape) - 1, 0)))
    if not shape or not shape[axis]:
        return
    keeps = sketch.draw(st.booleans())
    for index in {0, shape[axis] - 1}:
        place = sketch.constant([index] if keeps else index)
        extents = (1,) if keeps else ()
        sketch.add("Gather", f"{name} {place}", (*shape[:axis], *extents, *shape[axis + 1 :]), axis=axis)


def add_whole_gather(sketch: Sketch, name: str, shape: Shape) -> None:
    if shape and shape[0]:
        order = np.arange(shape[0]) if sketch.draw(st.booleans()) else np.arange(shape[0])[::-1]
        sketch.add("Gather", f"{name} {sketch.constant(order)}", shape)


def add_expand(sketch: Sketch, name: str, shape: Shape) -> None:
    axes = [axis for axis, extent in enumerate(shape) if extent == 1]
    if axes and axes[0]:
        wide = tuple(2 if axis == axes[0] else extent for axis, extent in enumerate(shape))
        sketch.add("Expand", f"{name} {sketch.constant([1] * axes[0] + [2] + [1] * (len(shape) - axes[0] - 1))}", wide)


def add_sum(sketch: Sketch, name: str, shape: Shape) -> None:
    """With another value that broadcasts to this one."""
    others = [other for other, own in sketch.shapes.items() if own and len(own) == len(shape)]
    fitting = [other for other in others if _broadcasts(sketch.shapes[other], shape)]
    if fitting:
        other = sketch.draw(st.sampled_from(sorted(fitting)))
        sketch.add(sketch.draw(st.sampled_from(["Add", "Mul"])), f"{name} {other}", shape)


def _broadcasts(own: Shape, shape: Shape) -> bool:
    return all(extent in (1, whole) for extent, whole in zip(own, shape, strict=True))


STEPS = [
    add_reshape,
    add_flatten,
    add_unsqueeze,
    add_squeeze,
    add_transpose,
    add_slice,
    add_halves,
    add_arithmetic,
    add_limits,
    add_unary,
    add_casts,
    add_product,
    add_picks,
    add_whole_gather,
    add_expand,
    add_sum,
]


@st.composite
def models(draw: st.DrawFn) -> tuple[onnx.ModelProto, np.ndarray]:
    batch = draw(st.sampled_from([1, 2, 3]))
    sketch = Sketch(draw, batch)
    for _ in range(draw(st.integers(1, 9))):
        name, shape = sketch.value()
        if len(shape) < 6:
            draw(st.sampled_from(STEPS))(sketch, name, shape)
    inner = [name for name in sketch.shapes if name != "x"] or ["x"]
    outputs = draw(st.lists(st.sampled_from(inner), min_size=1, max_size=3, unique=True))
    first = draw(st.sampled_from([batch, "n"]))
    declared = [tensor(name, None) for name in outputs]
    return model(sketch.nodes, [tensor("x", [first, 4, 6])], declared, sketch.weights), random(batch, batch, 4, 6)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(case=models())
def test_outputs_survive_all_passes(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[onnx.ModelProto, np.ndarray]
) -> None:
    proto, x = case
    x[0, 0, :3] = 0.0, -0.0, np.nan
    graph = read_model(save(proto, tmp_path_factory.mktemp("model"))).graph
    before = run_graph(graph, {"x": x})
    run_passes(graph)
    verify_graph(graph, "the passes")
    assert graph.outputs == tuple(value.name for value in proto.graph.output)
    after = run_graph(graph, {"x": x})
    assert_same(run_runtime(proto, {"x": x}), after)
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name])
    assert sum(record.changes for record in run_passes(graph)) == 0
