"""The table of kernels: operands and attributes of every step that lowering may emit.

Three parties implement it: the numpy definitions (`ops.definitions`), the C library
(`runtime/csrc`) and lowering, which emits nothing that is not in this table.
Kernels take float32 natively, most of them float64 as well, unless they say otherwise; the definitions take any
floating type.  Packed matrices of products, filters and tables may have two bytes an element natively:
`docs/kernels.md`.

Operand names ending in "?" may be absent ("").  Shapes below are the model's (NCHW order);
`layouts` says which storage the native kernel takes for its first operand and result:
`nhwc` where the innermost axis is the channel, `plain` for row-major, `any` for both
(then all operands of the model's shape have one layout).

An activation is `activation` (a name of `ACTIVATIONS`, "" for none) with the two numbers
`alpha` and `beta`; it is applied to the result after the residual was added.
"""

from __future__ import annotations

from autofusion.record import Record

ACTIVATIONS = (
    "",
    "Relu",  # max(x, 0); NaN stays NaN
    "LeakyRelu",  # x < 0 ? alpha * x : x
    "Clip",  # min(max(x, alpha), beta)
    "Sigmoid",
    "Tanh",
    "HardSigmoid",  # min(max(alpha * x + beta, 0), 1)
    "HardSwish",  # x * min(max(x / 6 + 0.5, 0), 1)
    "SiLU",  # x * sigmoid(alpha * x), alpha usually 1
    "Gelu",  # exact: x * (1 + erf(x / sqrt 2)) / 2
    "GeluTanh",  # 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    "Elu",  # x < 0 ? alpha * (exp(x) - 1) : x
)


class Kernel(Record):
    """Signature of one kernel: operand names in order, attribute names, storage of data operands, result names.

    `sizes` are the attributes that are lists of size expressions; a step's results may end early where the names
    of those left out end in "?".
    """

    name: str
    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    layouts: tuple[str, ...]
    results: tuple[str, ...] = ("y",)
    sizes: tuple[str, ...] = ()


_EPILOGUE = ("activation", "alpha", "beta")
_WINDOW = ("kernel", "strides", "pads", "dilations")
_POOL = ("kind", "is_global", *_WINDOW, "include_pad")

FLOATING = ("float", "double")
"""Element types that native kernels compute in."""

NORMS = ("", "layer", "rms")
"""Normalizations of the last axis: none, LayerNormalization, RMSNormalization."""

MAX_OPERANDS = 10
"""Operands of a step of the kernels that take any number."""

MAX_RESULTS = 4
"""Results of a matrix product."""

ATTENTION_VIEWS = ("q_view", "k_view", "v_view", "y_view")

KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        # y = act(conv(x, weight) + bias + residual).  weight [M, C/group, *kernel] in a reference plan;
        # natively packed (`lowering.packing`).  `kernel`, `strides`, `dilations`: 1 to 3 numbers;
        # `pads`: begins then ends; residual has y's shape and layout.  `winograd` (native only): 2 or 4 where the
        # weight is transformed for tiles of that many results each way; absent for the plain product.  `narrow` (native
        # only): groups of 2, 4 or 8 channels and as many filters, packed side by side.
        # `gate` [N, C, ...1], of 1x1 windows one pixel apart without pads over all channels: conv(x * gate, weight).
        # `mean` [N, M, ...1] over the image axes of y, natively of convolutions with one channel per group.
        Kernel(
            "conv",
            ("x", "weight", "bias?", "residual?", "gate?"),
            (*_WINDOW, "group", "winograd", "narrow", *_EPILOGUE),
            ("nhwc",),
            ("y", "mean?"),
        ),
        # y = act(conv(inner_act(conv(x, weight) + bias), depth_weight) + depth_bias), natively of planes [N, C, H, W]:
        # the first convolution is over all channels and need not be 1x1, the second over each channel by itself.
        # Attributes of the second have the prefix `depth_`, those of the activation between them `inner_`.
        Kernel(
            "conv_depthwise",
            ("x", "weight", "bias?", "depth_weight", "depth_bias?"),
            (*_WINDOW, *(f"depth_{name}" for name in _WINDOW), *(f"inner_{name}" for name in _EPILOGUE), *_EPILOGUE),
            ("nhwc",),
            ("y", "mean?"),
        ),
        # y = act(act(x @ reduce^T + reduce_bias) @ expand + expand_bias): x [N, C, ...1], reduce [R, C], expand [R, M],
        # y [N, M, ...1].  `activation`, `alpha` and `beta` of the inner one, `gate`, `gate_alpha` and `gate_beta` of
        # the outer one.
        Kernel(
            "excite",
            ("x", "reduce", "reduce_bias?", "expand", "expand_bias?"),
            (*_EPILOGUE, "gate", "gate_alpha", "gate_beta"),
            ("plain",),
        ),
        # y = pool(act(conv(x, weight) + bias + residual)): attributes as in `conv`, and as in `pool` with the prefix
        # `pool_`.  Natively the pool is of planes [N, C, H, W], or of whole images.
        Kernel(
            "conv_pool",
            ("x", "weight", "bias?", "residual?"),
            (*_WINDOW, "group", "winograd", *_EPILOGUE, *(f"pool_{name}" for name in _POOL)),
            ("nhwc",),
        ),
        # y = act(t(x, weight) + bias), t the transposed convolution: along each axis the sum over i of
        # x[i] * weight[k] with o + pad = i * stride + k * dilation.  weight [C, M/group, *kernel], natively packed;
        # `pads` are the cells before the first one of y.  y's extents are those of its buffer.
        Kernel("conv_transpose", ("x", "weight", "bias?"), (*_WINDOW, "group", *_EPILOGUE), ("nhwc",)),
        # The 3x3 filters x [M, C, 3, 3] at the positions of Winograd's tiles of `tile` results each way:
        # y [(tile + 2) ** 2, ceil(M / 16), C, 16], as a conv of as many takes it; natively x is packed as for a conv.
        Kernel("filter", ("x",), ("tile",), ("plain",)),
        # y = act(scale * n(a) @ b + bias + residual): a [..., M, K] (`trans_a`: [..., K, M]), b [..., K, N]
        # (`trans_b`), batch axes broadcast as in ONNX MatMul; bias [N]; residual of y's shape.
        # `norm` and `epsilon`: n normalizes the rows of a, then scales by gamma [K] and shifts by beta [K].
        # `widths`: b's columns are dealt out to that many results.  `gated`: b is [K, 2 N], y = act(left) * right.
        # `packed` (native only): b is constant, rank 2, and stored as column panels, each part from a new panel on.
        Kernel(
            "matmul",
            ("a", "b", "bias?", "residual?", "gamma?", "beta?"),
            ("trans_a", "trans_b", "scale", "packed", "norm", "epsilon", "widths", "gated", *_EPILOGUE),
            ("plain",),
            ("y", "y2?", "y3?", "y4?"),
        ),
        # y = softmax(scale * q k^T + masks) v for every head; see docs/fused-ops.md.
        Kernel(
            "attention",
            ("q", "k", "v", "bias?", "mask?", "keep?", "past_key?", "past_value?"),
            ("extents", *ATTENTION_VIEWS, "scale", "keep_mode", "keep_drops", "fill", "causal", "guard"),
            ("plain",),
            ("y", "present_key?", "present_value?"),
            ("extents", *ATTENTION_VIEWS),
        ),
        # y = n(x + residual) over the last `axes` axes, scaled by gamma and shifted by beta of their extents;
        # the second result is the sum.  `kind`: "layer" or "rms".
        Kernel("norm", ("x", "gamma?", "beta?", "residual?"), ("kind", "epsilon", "axes"), ("plain",), ("y", "sum?")),
        # y = scale * (x - mean) / sqrt(variance + epsilon) + bias with the mean over each of `groups` groups of
        # channels of each sample; scale and bias [C].
        Kernel("group_norm", ("x", "scale", "bias"), ("groups", "epsilon"), ("any",)),
        # x with the first `width` numbers of each head rotated in pairs by the angles of cos and sin.
        Kernel(
            "rotary",
            ("x", "cos", "sin"),
            ("extents", "x_view", "y_view", "width", "interleaved"),
            ("plain",),
            sizes=("extents", "x_view", "y_view"),
        ),
        # y = n(rows of table_1 + rows of table_2 + rows of table_3); the second result is the sum.
        Kernel(
            "embedding",
            ("table_1", "ids_1?", "table_2?", "ids_2?", "table_3?", "ids_3?", "gamma?", "beta?"),
            ("norm", "epsilon"),
            ("plain",),
            ("y", "sum?"),
        ),
        # y = the last register of `program` over operands that broadcast to it, reduced over the last axis by `reduce`.
        Kernel("pointwise", ("...",), ("program", "reduce"), ("any",)),
        # `kind`: "max", "average" (`include_pad`: padded cells count) ; `is_global`: the window is the whole
        # image and the geometry attributes are absent.  Cells past the padded image, which ceil_mode
        # brings, never count.  y's extents are those of its buffer.
        Kernel(
            "pool",
            ("x",),
            _POOL,
            ("nhwc",),
        ),
        # y = act(x * scale + shift), scale and shift [C] along axis 1.
        Kernel("affine", ("x", "scale", "shift"), _EPILOGUE, ("nhwc",)),
        # y = f(x): `op` one of ACTIVATIONS or Abs Neg Exp Log Sqrt Reciprocal Floor Ceil Erf
        # Sin Cos Round Sign ToFloat16 ToBfloat16.
        Kernel("unary", ("x",), ("op", "alpha", "beta"), ("any",)),
        # y = act(op(a, b)), ONNX broadcasting; `op` one of Add Sub Mul Div Pow Max Min.
        Kernel("binary", ("a", "b"), ("op", *_EPILOGUE), ("any",)),
        # y's elements are those of x, row-major, at `view` (an offset, then one stride an axis) as `extents`.
        Kernel("strided", ("x",), ("extents", "view"), ("any",), sizes=("extents", "view")),
        # The operands joined along `axis`.
        Kernel("concat", ("...",), ("axis",), ("any",)),
        # y = condition ? a : b, broadcast; condition of type bool, a and b of any one type.
        Kernel("select", ("condition", "a", "b"), (), ("any",)),
        # y = op(a, b), broadcast, of type bool; `op` one of Equal NotEqual Less LessOrEqual Greater GreaterOrEqual.
        Kernel("compare", ("a", "b"), ("op",), ("plain",)),
        # y = op(a, b), broadcast, of integers, truth values or doubles; `op` one of Add Sub Mul Div Mod FMod Pow Max
        # Min And Or Xor.
        Kernel("arithmetic", ("a", "b"), ("op",), ("plain",)),
        # x in the element type `to`, as arrays have it (float32).
        Kernel("convert", ("x",), ("to",), ("plain",)),
        # x with `pads` cells (begins, ends; negative ones crop) that hold value, 0, or elements of x by `mode`.
        Kernel("pad", ("x", "value?"), ("pads", "mode"), ("any",)),
        # x [N, C, *spatial] in y's extents: `mode` nearest, linear or cubic, one of `scales` per spatial axis.
        Kernel(
            "resize",
            ("x",),
            ("mode", "scales", "coordinates", "rounding", "cubic", "exclude_outside"),
            ("any",),
        ),
        # start + i * delta.
        Kernel("range", ("start", "delta"), (), ("plain",)),
        # Every matrix on and above (below) the diagonal through a column of row 0 and a row of column 0, else 0.
        Kernel("triangle", ("x",), ("diagonal", "upper"), ("plain",), sizes=("diagonal",)),
        # exp(x) / sum(exp(x)) along `axis`, or with `log` its logarithm.
        Kernel("softmax", ("x",), ("axis", "log"), ("any",)),
        # `kind` (sum mean max min prod sum_square l1 l2) over `axes`.
        Kernel("reduce", ("x",), ("kind", "axes"), ("any",)),
        # The place along `axis` of the extreme `kind` (max min), of the `last` one among equals.
        Kernel("argument", ("x",), ("kind", "axis", "last"), ("plain",)),
        # Running sums along `axis`.
        Kernel("cumulate", ("x",), ("axis", "exclusive", "reverse"), ("plain",)),
        # The places along `axis` of the first elements in order, the `largest` or the smallest first.
        Kernel("rank", ("x",), ("axis", "largest"), ("plain",)),
        # x[.., indices, ..] along `axis`; in this and what follows, indices out of range end the run with AF536.
        Kernel("gather", ("x", "indices"), ("axis",), ("plain",)),
        # As ONNX GatherElements, GatherND, ScatterElements and ScatterND.
        Kernel("gather_elements", ("x", "indices"), ("axis",), ("plain",)),
        Kernel("gather_blocks", ("x", "indices"), ("batch_dims",), ("plain",)),
        Kernel("scatter_elements", ("x", "indices", "updates"), ("axis", "reduction"), ("plain",)),
        Kernel("scatter_blocks", ("x", "indices", "updates"), ("reduction",), ("plain",)),
        # An int64 (or int32) tensor of rank 0 or 1 whose elements are the size expressions `values`.
        Kernel("extents", (), ("values",), ("plain",)),
        # The same elements in the layout of the output's buffer.
        Kernel("relayout", ("x",), (), ("any",)),
        # The same bytes in another buffer (an input or an alias that is an output of the model).
        Kernel("copy", ("x",), (), ("any",)),
        # Any ONNX operator by its reference implementation: `op`, `domain`, `opset`, and `attributes` as
        # `plan.attributes` writes them.  The last operands are what graphs among the attributes capture,
        # under the names `captured` (absent without graphs).
        Kernel("host", ("...",), ("op", "domain", "opset", "attributes", "captured"), ("plain",)),
    )
}
