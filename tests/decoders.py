"""Small GPT-2 models as exporters wrote them over the years: positions, masks and lengths are computed in the graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, LAYERS, TOKENS, ROWS = 32, 4, 2, 61, 24
"""Channels, heads, blocks, vocabulary and rows of the table of positions."""

POSITIONS = ("range", "nonzero", "buffer", "expanded", "counted")
MASKS = ("sliced", "sliced bytes", "tril", "compared", "triangle", "joined")


@dataclass
class Writer:
    """Nodes and weights so far."""

    opset: int
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    weights: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(3))

    def add(self, op: str, *inputs: str, **attributes: object) -> str:
        """A node with one result; gives the result's name."""
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [f"{name}_output"], name=name, **attributes))
        return f"{name}_output"

    def give(self, value: object, dtype: type = np.int64) -> str:
        """A Constant node, as the exporter writes every number."""
        return self.add("Constant", value=numpy_helper.from_array(np.array(value, dtype)))

    def draw(self, *shape: int, mean: float = 0.0, scale: float = 0.2) -> str:
        """A weight."""
        array = (mean + scale * self.random.standard_normal(shape)).astype(np.float32)
        return self.keep(array)

    def keep(self, array: np.ndarray) -> str:
        """An initializer."""
        self.weights.append(numpy_helper.from_array(array, f"weight_{len(self.weights)}"))
        return self.weights[-1].name

    def extent(self, name: str, axis: int) -> str:
        """One extent of a value, a scalar."""
        return self.add("Gather", self.add("Shape", name), self.give(axis), axis=0)

    def unsqueeze(self, name: str, axis: int) -> str:
        """An axis of extent 1 more."""
        if self.opset < 13:
            return self.add("Unsqueeze", name, axes=[axis])
        return self.add("Unsqueeze", name, self.give([axis]))

    def squeeze(self, name: str, axis: int) -> str:
        """An axis of extent 1 less."""
        if self.opset < 13:
            return self.add("Squeeze", name, axes=[axis])
        return self.add("Squeeze", name, self.give([axis]))

    def split(self, name: str, parts: int, axis: int) -> list[str]:
        """Equal parts of WIDTH each."""
        outputs = [f"Split_{len(self.nodes)}_output_{part}" for part in range(parts)]
        sizes = [WIDTH] * parts
        node = helper.make_node("Split", [name], outputs, name=f"Split_{len(self.nodes)}", axis=axis, split=sizes)
        if self.opset >= 13:
            inputs = [name, self.give(sizes)]
            node = helper.make_node("Split", inputs, outputs, name=f"Split_{len(self.nodes)}", axis=axis)
        self.nodes.append(node)
        return outputs

    def view(self, name: str, *extents: str | int) -> str:
        """A Reshape to scalars of the graph and numbers."""
        parts = [self.give([part]) if isinstance(part, int) else self.unsqueeze(part, 0) for part in extents]
        return self.add("Reshape", name, self.add("Concat", *parts, axis=0))

    def cut(self, name: str, axis: int, start: str, end: str) -> str:
        """A Slice between two scalars of the graph."""
        bounds = [self.unsqueeze(bound, 0) for bound in (start, end)]
        return self.add("Slice", name, *bounds, self.give([axis]), self.give([1]))


def make_decoder(positions: str, mask: str, past: str, opset: int) -> onnx.ModelProto:
    """A GPT-2 with open batch, length and past; one of `POSITIONS` and of `MASKS`.

    `past` is "" for none, "pairs" for keys and values apart, "stacked" for both in one input.
    Before opset 11 there is no Range; "nonzero" is how lengths were counted then.
    """
    w = Writer(opset)
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "seq"])]
    length = w.extent("input_ids", 1)
    ids = w.add("Reshape", "input_ids", w.add("Concat", w.give([-1]), w.unsqueeze(length, 0), axis=0))
    size, seq = WIDTH // HEADS, length
    before = w.give(0)
    kept: list[tuple[str, ...]] = []
    if past == "pairs":
        kept = [(f"past_{layer}_key", f"past_{layer}_value") for layer in range(LAYERS)]
        extents = ["batch", HEADS, "past", size]
        before = w.extent(kept[0][0], -2)
    elif past == "stacked":
        kept = [(f"past_{layer}",) for layer in range(LAYERS)]
        extents = [2, "batch", HEADS, "past", size]
        first = w.add("Gather", w.add("Gather", "past_0", w.give(0), axis=0), w.give(0), axis=0)
        before = w.extent(first, -2)
    inputs += [helper.make_tensor_value_info(name, 1, extents) for names in kept for name in names]
    total = w.add("Add", seq, before) if past else seq
    if positions == "counted":
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"]))
    places = _write_positions(w, positions, seq, before, total)
    x = w.add("Add", w.add("Gather", w.draw(TOKENS, WIDTH), ids), w.add("Gather", w.draw(ROWS, WIDTH), places))
    outputs: list[str] = []
    for layer in range(LAYERS):
        x = _write_block(w, x, mask, kept[layer] if past else (), total, before, outputs)
    x = _write_norm(w, x)
    y = w.add("MatMul", x, w.draw(WIDTH, TOKENS))
    rank = {"": 0, "pairs": 4, "stacked": 5}[past]
    results = [helper.make_tensor_value_info(y, 1, ["batch", "seq", TOKENS])]
    results += [helper.make_tensor_value_info(name, 1, [None] * rank) for name in outputs]
    graph = helper.make_graph(w.nodes, "decoder", inputs, results, w.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


def _write_positions(w: Writer, kind: str, seq: str, before: str, total: str) -> str:
    if kind == "buffer":
        return w.cut(w.keep(np.arange(ROWS, dtype=np.int64)[None]), 1, before, total)
    if kind == "counted":
        whole = w.add("Sub", w.add("CumSum", "attention_mask", w.give(1)), w.give(1))
        empty = w.add("Equal", "attention_mask", w.give(0))
        filled = w.add("Where", empty, w.give(1), whole)
        return w.cut(filled, 1, before, total)
    if kind == "nonzero":
        ones = w.add("ConstantOfShape", w.unsqueeze(seq, 0), value=helper.make_tensor("v", 7, [1], [1]))
        counted = w.squeeze(w.add("Transpose", w.add("NonZero", ones), perm=[1, 0]), 1)
        counted = w.add("Add", w.add("Cast", counted, to=7), before)
    else:
        counted = w.add("Range", w.add("Cast", before, to=7), w.add("Cast", total, to=7), w.give(1))
    row = w.view(w.unsqueeze(counted, 0), -1, seq)
    if kind != "expanded":
        return row
    wanted = w.add("Concat", w.unsqueeze(w.extent("input_ids", 0), 0), w.unsqueeze(seq, 0), axis=0)
    return w.add("Expand", row, wanted)


def _write_norm(w: Writer, x: str) -> str:
    mean = w.add("ReduceMean", x, axes=[-1])
    moved = w.add("Sub", x, mean)
    spread = w.add("ReduceMean", w.add("Pow", moved, w.give(2.0, np.float32)), axes=[-1])
    root = w.add("Sqrt", w.add("Add", spread, w.give(1e-5, np.float32)))
    scaled = w.add("Mul", w.add("Div", moved, root), w.draw(WIDTH, mean=1.0))
    return w.add("Add", scaled, w.draw(WIDTH))


def _write_linear(w: Writer, x: str, rows: int, columns: int) -> str:
    """A convolution of one tap, as this library calls it: a view to two axes, Gemm, and the view back."""
    batch, seq = w.extent(x, 0), w.extent(x, 1)
    flat = w.view(x, -1, w.extent(x, -1))
    y = w.add("Gemm", flat, w.draw(rows, columns), w.draw(columns))
    return w.view(y, batch, seq, columns)


def _write_heads(w: Writer, x: str, turn: tuple[int, ...]) -> str:
    batch, seq = w.extent(x, 0), w.extent(x, 1)
    size = w.add("Div", w.extent(x, -1), w.give(HEADS))
    return w.add("Transpose", w.view(x, batch, seq, HEADS, size), perm=turn)


def _write_block(
    w: Writer, x: str, mask: str, past: tuple[str, ...], total: str, before: str, outputs: list[str]
) -> str:
    parts = w.split(_write_linear(w, _write_norm(w, x), WIDTH, 3 * WIDTH), 3, 2)
    query, value = _write_heads(w, parts[0], (0, 2, 1, 3)), _write_heads(w, parts[2], (0, 2, 1, 3))
    key = _write_heads(w, parts[1], (0, 2, 3, 1))
    if len(past) == 1:
        old_key = w.add("Transpose", w.add("Gather", past[0], w.give(0), axis=0), perm=[0, 1, 3, 2])
        old_value = w.add("Gather", past[0], w.give(1), axis=0)
        key, value = w.add("Concat", old_key, key, axis=-1), w.add("Concat", old_value, value, axis=-2)
        both = [w.unsqueeze(w.add("Transpose", key, perm=[0, 1, 3, 2]), 0), w.unsqueeze(value, 0)]
        outputs.append(w.add("Concat", *both, axis=0))
    elif past:
        key = w.add("Concat", past[0], w.add("Transpose", key, perm=[0, 1, 3, 2]), axis=-2)
        value = w.add("Concat", past[1], value, axis=-2)
        outputs += [key, value]
        key = w.add("Transpose", key, perm=[0, 1, 3, 2])
    scores = w.add("MatMul", query, key)
    root = w.add("Pow", w.add("Cast", w.extent(value, -1), to=1), w.give(0.5, np.float32))
    scores = _write_mask(w, mask, w.add("Div", scores, root))
    chances = w.add("Softmax", scores, axis=3)
    mixed = w.add("Transpose", w.add("MatMul", chances, value), perm=[0, 2, 1, 3])
    width = w.add("Mul", w.extent(mixed, -2), w.extent(mixed, -1))
    mixed = w.view(mixed, w.extent(mixed, 0), w.extent(mixed, 1), width)
    x = w.add("Add", x, _write_linear(w, mixed, WIDTH, WIDTH))
    inner = _write_gelu(w, _write_linear(w, _write_norm(w, x), WIDTH, 4 * WIDTH))
    return w.add("Add", x, _write_linear(w, inner, 4 * WIDTH, WIDTH))


def _write_gelu(w: Writer, x: str) -> str:
    cube = w.add("Mul", w.give(0.044715, np.float32), w.add("Pow", x, w.give(3.0, np.float32)))
    inner = w.add("Tanh", w.add("Mul", w.give(0.7978845608, np.float32), w.add("Add", x, cube)))
    half = w.add("Mul", w.give(0.5, np.float32), x)
    return w.add("Mul", half, w.add("Add", inner, w.give(1.0, np.float32)))


def _write_mask(w: Writer, kind: str, scores: str) -> str:
    """The scores, those of later tokens put far below the others."""
    queries, keys = w.extent(scores, -2), w.extent(scores, -1)
    start = w.add("Sub", keys, queries)
    low = w.give(-1e4, np.float32)
    if kind in ("sliced", "sliced bytes"):
        dtype = np.bool_ if kind == "sliced" else np.uint8
        whole = w.keep(np.tril(np.ones((ROWS, ROWS), dtype))[None, None])
        part = w.cut(w.cut(whole, 2, start, keys), 3, w.give(0), keys)
        if kind == "sliced":
            return w.add("Where", part, scores, low)
        return w.add("Where", w.add("Cast", part, to=9), scores, low)
    if kind == "tril":
        whole = w.keep(np.tril(np.ones((ROWS, ROWS), np.float32))[None, None])
        part = w.cut(w.cut(whole, 2, start, keys), 3, w.give(0), keys)
        lost = w.add("Mul", w.add("Sub", w.give(1.0, np.float32), part), w.give(1e4, np.float32))
        return w.add("Sub", w.add("Mul", scores, part), lost)
    if kind == "compared":
        rows = w.unsqueeze(w.add("Range", start, keys, w.give(1)), 1)
        columns = w.unsqueeze(w.add("Range", w.give(0), keys, w.give(1)), 0)
        return w.add("Where", w.add("Less", rows, columns), low, scores)
    if kind == "joined":
        return w.add("Add", scores, _write_joined_mask(w, queries, start))
    shape = w.add("Concat", w.unsqueeze(queries, 0), w.unsqueeze(keys, 0), axis=0)
    full = w.add("ConstantOfShape", shape, value=helper.make_tensor("v", 1, [1], [-1e4]))
    upper = w.add("Trilu", full, w.add("Add", start, w.give(1)), upper=1)
    return w.add("Add", scores, upper)


def _write_joined_mask(w: Writer, queries: str, before: str) -> str:
    """A square of the new tokens, which no past token is masked beside."""
    square = w.add("Concat", w.unsqueeze(queries, 0), w.unsqueeze(queries, 0), axis=0)
    full = w.add("ConstantOfShape", square, value=helper.make_tensor("v", 1, [1], [-1e4]))
    places = w.add("Range", w.give(0), queries, w.give(1))
    lower = w.add("Less", places, w.view(w.add("Add", places, w.give(1)), queries, 1))
    filled = w.add("Where", lower, w.give(0.0, np.float32), full)
    empty = w.add("Concat", w.unsqueeze(queries, 0), w.unsqueeze(before, 0), axis=0)
    zeros = w.add("ConstantOfShape", empty, value=helper.make_tensor("v", 1, [1], [0.0]))
    return w.unsqueeze(w.unsqueeze(w.add("Concat", zeros, filled, axis=-1), 0), 0)
