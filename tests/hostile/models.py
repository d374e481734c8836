"""Three small sound models to break: a convolutional network, a transformer's layer, control flow with a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx.parser
from onnx import ModelProto, numpy_helper

CNN = """<ir_version: 8, opset_import: ["" : 13]>
cnn (float[n, 3, 16, 12] x) => (float[n, 5] y) {
    c1 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x, w1, b1)
    n1 = BatchNormalization <epsilon = 0.001, momentum = 0.9> (c1, s, o, m, v)
    r1 = Relu (n1)
    p1 = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 0> (r1)
    c2 = Conv <kernel_shape = [1, 1]> (p1, w2)
    n2 = BatchNormalization (c2, s, o, m, v)
    r2 = Relu (n2)
    c3 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 4> (r2, w3, b3)
    k = Clip (c3, lo, hi)
    a = Add (k, p1)
    r3 = Relu (a)
    sg = Sigmoid (r3)
    si = Mul (r3, sg)
    g = GlobalAveragePool (si)
    f = Flatten <axis = 1> (g)
    y = Gemm <alpha = 1.0, beta = 1.0, transB = 1> (f, w4, b4)
}"""

LAYER = """<ir_version: 8, opset_import: ["" : 17]>
layer (int64[b, t] ids) => (float[b, 8] y, float[b, t, 8] res) {
    e = Gather <axis = 0> (table, ids)
    ln = LayerNormalization <axis = -1, epsilon = 0.001> (e, g, h)
    q0 = MatMul (ln, wq)
    q1 = Add (q0, bq)
    k0 = MatMul (ln, wk)
    k1 = Add (bk, k0)
    v0 = MatMul (ln, wv)
    sh = Shape (ids)
    d0 = Gather <axis = 0> (sh, zero)
    d1 = Gather <axis = 0> (sh, one)
    u0 = Unsqueeze (d0, first)
    u1 = Unsqueeze (d1, first)
    to = Concat <axis = 0> (u0, u1, heads, size)
    q2 = Reshape (q1, to)
    q3 = Transpose <perm = [0, 2, 1, 3]> (q2)
    k2 = Reshape (k1, to)
    k3 = Transpose <perm = [0, 2, 3, 1]> (k2)
    v2 = Reshape (v0, to)
    v3 = Transpose <perm = [0, 2, 1, 3]> (v2)
    s0 = MatMul (q3, k3)
    s1 = Div (s0, scale)
    p = Softmax <axis = -1> (s1)
    o0 = MatMul (p, v3)
    o1 = Transpose <perm = [0, 2, 1, 3]> (o0)
    o2 = Reshape (o1, back)
    o3 = MatMul (o2, wo)
    res = Add (o3, e)
    mean = ReduceMean <axes = [1], keepdims = 0> (res)
    y = Tanh (mean)
}"""

CONTROL = """<ir_version: 8, opset_import: ["" : 16, "local" : 1]>
control (float[n, 6] x, bool c, int64 k) => (float[n, 6] y, float[n, m] z, int64[r] t)
<float[6] w = {1, 2, 3, -1, -2, 0.5}, int64[2] unused = {0, 1}> {
    a = local.scale <alpha: float = 2.0> (x, w)
    y = If (c) <then_branch = yes () => (float[n, 6] p) { p = Relu(a) },
                else_branch = no () => (float[n, 6] q) { h = Neg(a) q = Add(h, w) }>
    on = Constant <value: tensor = bool {1}> ()
    last, all = Loop (k, on, y) <body = turn (int64 i, bool go, float[n, 6] s)
        => (bool keep, float[n, 6] u, float[n, 6] o) { keep = Identity(go) u = Mul(s, w) o = Add(u, s) }>
    axes = Constant <value: tensor = int64[1] {1}> ()
    from = Constant <value: tensor = int64[1] {1}> ()
    to = Constant <value: tensor = int64[1] {-1}> ()
    cut = Slice (last, from, to, axes)
    l, r2 = Split <axis = 1> (cut)
    j = Concat <axis = 1> (r2, l, y)
    z = Cast <to = 1> (j)
    s = Shape (z)
    one = Constant <value: tensor = int64[1] {1}> ()
    v = Add (s, one)
    two = Constant <value_int = 2> ()
    more = Greater (v, two)
    t = Where (more, v, s)
}
<domain: "local", opset_import: ["" : 16]>
scale <alpha> (p, q) => (r) { m = Mul(p, q) r = LeakyRelu<alpha: float = @alpha>(m) }"""


def build_cnn() -> ModelProto:
    shapes = {"w1": (4, 3, 3, 3), "w2": (4, 4, 1, 1), "w3": (4, 1, 3, 3), "w4": (5, 4), "b4": (5,)}
    weights = draw({**shapes, **dict.fromkeys(("b1", "b3", "s", "o", "m"), (4,))})
    weights["v"] = np.abs(weights["s"]) + np.float32(0.5)
    return complete(CNN, {**weights, "lo": np.float32(0), "hi": np.float32(6)})


def build_layer() -> ModelProto:
    shapes = {"table": (7, 8), **dict.fromkeys(("g", "h", "bq", "bk"), (8,))}
    weights = draw({**shapes, **dict.fromkeys(("wq", "wk", "wv", "wo"), (8, 8))})
    numbers = {"zero": 0, "one": 1, "first": [0], "heads": [2], "size": [4], "back": [0, -1, 8]}
    integers = {name: np.array(value, np.int64) for name, value in numbers.items()}
    return complete(LAYER, {**weights, **integers, "scale": np.float32(2)})


def build_control() -> ModelProto:
    return complete(CONTROL, {})


def draw(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {name: (random.standard_normal(shape) / 3).astype(np.float32) for name, shape in shapes.items()}


def complete(text: str, weights: Mapping[str, np.ndarray]) -> ModelProto:
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items())
    return model


MODELS: Mapping[str, Callable[[], ModelProto]] = {"cnn": build_cnn, "layer": build_layer, "control": build_control}
