"""One step of every native kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from runtime.steps import PLAIN_EPILOGUE, Case, has_doubles, widen_case


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def conv_case(channels: int = 16, filters: int = 16, size: int = 6, group: int = 1, winograd: int = 0) -> Case:
    window = {"kernel": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1], "group": group}
    window |= {"winograd": winograd} if winograd else {}
    shape = (1, filters, size, size)
    operands = [draw(1, channels, size, size), draw(filters, channels // group, 3, 3), draw(filters), draw(*shape)]
    return Case("conv", operands, window | PLAIN_EPILOGUE, shape, ("nhwc", "plain", "plain", "nhwc"), {}, "nhwc")


WEIGHTS = {
    "conv": (1,),
    "conv_pool": (1,),
    "conv_depthwise": (1, 3),
    "conv_transpose": (1,),
    "matmul": (1,),
    "filter": (0,),
    "excite": (1, 3),
}
"""Operands that may have two bytes an element."""


def narrowed(case: Case, half: Any = np.float16) -> Case:
    """The case with its weights in two bytes an element."""
    operands = list(case.operands)
    for place in WEIGHTS[case.kernel]:
        weight = operands[place]
        assert weight is not None
        operands[place] = weight.astype(half)
    return replace(case, operands=operands)


def narrow_case() -> Case:
    case = conv_case(group=4)
    return replace(case, attributes={**case.attributes, "narrow": True})


def gated_case(size: int) -> Case:
    window = {"kernel": [1, 1], "strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1], "group": 1}
    shape = (2, 20, size, size)
    operands = [draw(2, 16, size, size), draw(20, 16, 1, 1), draw(20), draw(*shape), draw(2, 16, 1, 1)]
    return Case("conv", operands, window | PLAIN_EPILOGUE, shape, ("nhwc", "plain", "plain", "nhwc"), {}, "nhwc")


def excite_case() -> Case:
    attributes = {**PLAIN_EPILOGUE, "gate": "Sigmoid", "gate_alpha": 0.0, "gate_beta": 0.0}
    operands = [draw(2, 19, 1, 1), draw(5, 19), draw(5), draw(5, 23), draw(23)]
    return Case("excite", operands, attributes, (2, 23, 1, 1))


def conv_depthwise_case() -> Case:
    names = ("kernel", "strides", "pads", "dilations")
    first = dict(zip(names, ([1, 1], [1, 1], [0, 0, 0, 0], [1, 1]), strict=True))
    second = dict(zip(names, ([3, 3], [1, 1], [1, 1, 1, 1], [1, 1]), strict=True))
    attributes = first | {f"depth_{name}": value for name, value in second.items()} | PLAIN_EPILOGUE
    attributes |= {"inner_activation": "Clip", "inner_alpha": 0.0, "inner_beta": 6.0}
    operands = [draw(1, 16, 6, 6), draw(32, 16, 1, 1), draw(32), draw(32, 1, 3, 3), draw(32)]
    return Case("conv_depthwise", operands, attributes, (1, 32, 6, 6), ("nhwc",), {}, "nhwc")


def conv_pool_case() -> Case:
    conv = conv_case(group=2)
    pool = {"kind": "max", "is_global": False, "kernel": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0]}
    pool |= {"dilations": [1, 1], "include_pad": False}
    attributes = {**conv.attributes, **{f"pool_{name}": value for name, value in pool.items()}}
    return Case("conv_pool", conv.operands, attributes, (1, 16, 3, 3), conv.layouts, {}, "nhwc")


def conv_transpose_case(filters: int = 24, group: int = 1) -> Case:
    window = {"kernel": [3, 4], "strides": [2, 2], "pads": [1, 0], "dilations": [1, 1], "group": group}
    operands = [draw(1, 16, 5, 6), draw(16, filters // group, 3, 4), draw(filters)]
    return Case("conv_transpose", operands, window | PLAIN_EPILOGUE, (1, filters, 10, 14), ("nhwc",), {}, "nhwc")


def matmul_case(packed: bool = False) -> Case:
    attributes = {"trans_a": False, "trans_b": False, "scale": 1.0, "packed": packed, **PLAIN_EPILOGUE}
    return Case("matmul", [draw(5, 7), draw(7, 9), draw(9), draw(5, 9)], attributes, (5, 9))


def pool_case() -> Case:
    window = {"kernel": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0], "dilations": [1, 1]}
    attributes = {"kind": "max", "is_global": False, "include_pad": False, **window}
    return Case("pool", [draw(1, 8, 6, 6)], attributes, (1, 8, 3, 3), ("nhwc",), {}, "nhwc")


def data_cases() -> dict[str, Case]:
    """One step of every kernel for elements of any type."""
    x, wide, two = draw(2, 5, 4, 3), np.arange(60).reshape(3, 4, 5), np.arange(6, dtype=np.int32).reshape(2, 3)
    half, truth = np.arange(12, dtype=np.int16).reshape(3, 4), np.arange(12).reshape(3, 4) % 2 == 0
    indices = np.array([[0, 2], [1, -1]])
    window = {"coordinates": "half_pixel", "rounding": "floor", "cubic": 0.0, "exclude_outside": False}
    return {
        "strided": Case("strided", [half], {"extents": [4, 3], "view": [0, 1, 4]}, (4, 3), dtype="int16"),
        "concat": Case("concat", [half, half], {"axis": 1}, (3, 8), dtype="int16"),
        "select": Case("select", [truth, wide[0, :3, :4], wide[0, 0, :1]], {}, (3, 4), dtype="int64"),
        "compare": Case("compare", [half, half[:1]], {"op": "Less"}, (3, 4), dtype="bool"),
        "arithmetic": Case("arithmetic", [two, two[0]], {"op": "Add"}, (2, 3), dtype="int32"),
        "convert": Case("convert", [half], {"to": "float64"}, (3, 4), dtype="float64"),
        "pad": Case("pad", [x, draw(1)], {"pads": [0, 0, 1, 2, 0, 0, 1, 0], "mode": "constant"}, (2, 5, 6, 5)),
        "resize": Case("resize", [x], {"mode": "linear", "scales": [2.0, 1.0], **window}, (2, 5, 8, 3)),
        "range": Case("range", [np.int32(1).reshape(()), np.int32(2).reshape(())], {}, (9,), dtype="int32"),
        "triangle": Case("triangle", [wide], {"diagonal": [1, 0], "upper": True}, wide.shape, dtype="int64"),
        "filter": Case("filter", [draw(16, 5, 3, 3)], {"tile": 2}, (16, 1, 5, 16)),
        "softmax": Case("softmax", [x], {"axis": 1, "log": False}, x.shape),
        "reduce": Case("reduce", [x], {"kind": "sum", "axes": [1, 3]}, (2, 4)),
        "argument": Case("argument", [x], {"kind": "max", "axis": 1, "last": False}, (2, 4, 3), dtype="int64"),
        "cumulate": Case(
            "cumulate", [wide], {"axis": 1, "exclusive": False, "reverse": False}, wide.shape, dtype="int64"
        ),
        "rank": Case("rank", [x], {"axis": 1, "largest": True}, (2, 2, 4, 3), dtype="int64"),
        "gather": Case("gather", [x, indices], {"axis": 1}, (2, 2, 2, 4, 3)),
        "gather_elements": Case("gather_elements", [wide[0, :, :2], indices], {"axis": 0}, (2, 2), dtype="int64"),
        "gather_blocks": Case("gather_blocks", [x, indices], {"batch_dims": 0}, (2, 4, 3)),
        "scatter_elements": Case(
            "scatter_elements", [x[0, 0], indices, draw(2, 2)], {"axis": 0, "reduction": "none"}, (4, 3)
        ),
        "scatter_blocks": Case("scatter_blocks", [x, indices, draw(2, 4, 3)], {"reduction": "add"}, x.shape),
    }


def attention_case() -> Case:
    """Two samples of four heads on two key heads, with every term of the scores and a past."""
    batch, heads, key_heads, queries, keys, size, past = extents = [2, 4, 2, 3, 3, 4, 3]
    row, key_row = heads * size, key_heads * size
    attributes = {"extents": [*extents[:6], size, past], "scale": 0.5, "keep_mode": "add", "keep_drops": False}
    attributes |= {"fill": -1e4, "causal": True, "guard": True}
    attributes |= {name: [0, queries * row, size, row, 1] for name in ("q_view", "y_view")}
    attributes |= {name: [0, keys * key_row, size, key_row, 1] for name in ("k_view", "v_view")}
    rows = [draw(batch, queries, row), draw(batch, keys, key_row), draw(batch, keys, key_row)]
    terms = [draw(2, heads, queries, 6), draw(1, 1, queries, 6), np.arange(6).reshape(1, 1, 1, 6) < 5]
    pasts = [draw(batch, key_heads, past, size), draw(batch, key_heads, past, size)]
    return Case("attention", [*rows, *terms, *pasts], attributes, (batch, queries, row))


def rotary_case() -> Case:
    attributes = {"extents": [2, 2, 3, 6], "width": 4, "interleaved": False}
    attributes |= {"x_view": [0, 36, 6, 12, 1], "y_view": [0, 36, 18, 6, 1]}
    return Case("rotary", [draw(2, 3, 12), draw(3, 4), draw(3, 4)], attributes, (2, 2, 3, 6))


def transformer_cases() -> dict[str, Case]:
    """One step of every kernel of transformers."""
    norm = {"kind": "layer", "epsilon": 1e-5, "axes": 1}
    ids = np.array([[1, 0, 2], [2, 2, -1]])
    tables = [draw(9, 5), ids, draw(4, 5), ids.astype(np.int32), draw(2, 3, 5), None]
    return {
        "attention": attention_case(),
        "norm": Case("norm", [draw(3, 7), draw(7), draw(7), draw(3, 7)], norm, (3, 7)),
        "group_norm": Case("group_norm", [draw(2, 6, 4), draw(6), draw(6)], {"groups": 3, "epsilon": 1e-5}, (2, 6, 4)),
        "rotary": rotary_case(),
        "embedding": Case("embedding", [*tables, draw(5), draw(5)], {"norm": "layer", "epsilon": 1e-5}, (2, 3, 5)),
    }


def pointwise_case() -> Case:
    """Every form of an instruction, on operands of several shapes and truth values."""
    program = [
        ["Add", 0, 1, -1, 0.0, 0.0],
        ["Clip", 3, -1, -1, -0.5, 0.5],
        ["Constant", -1, -1, -1, 0.25, 0.0],
        ["Less", 4, 5, -1, 0.0, 0.0],
        ["Select", 6, 4, 3, 0.0, 0.0],
        ["Select", 2, 7, 0, 0.0, 0.0],
    ]
    operands = [draw(3, 40), draw(3, 1), np.arange(120).reshape(3, 40) % 3 == 0]
    return Case("pointwise", operands, {"program": program, "reduce": "Sum"}, (3, 1))


HALVES = {
    "conv": "conv of halves",
    "conv of narrow groups": "conv of narrow groups of halves",
    "conv_depthwise": "conv_depthwise of halves",
    "conv_pool": "conv_pool of halves",
    "depthwise with means": "depthwise of halves",
    "conv of tiles": "conv of tiles of halves",
    "conv with gated weights": "conv with gated weights of halves",
    "conv_transpose": "conv_transpose of halves",
    "conv_transpose of single channels": "conv_transpose of single channels of halves",
    "packed matmul": "packed matmul of halves",
    "filter": "filter of halves",
    "excite": "excite of halves",
}
"""Cases that are there with weights of two bytes as well."""


def make_cases() -> dict[str, Case]:
    """One step of every native kernel, with every operand that it may have."""
    cases = make_wide_cases()
    return cases | {other: narrowed(cases[name]) for name, other in HALVES.items()}


def make_wide_cases() -> dict[str, Case]:
    """Those with weights of float32."""
    x = draw(2, 5, 4, 3)
    pixels = ("nhwc",)
    return {
        "conv": conv_case(),
        "conv_depthwise": conv_depthwise_case(),
        "conv_pool": conv_pool_case(),
        "conv_transpose": conv_transpose_case(),
        "conv_transpose of few filters": conv_transpose_case(5),
        "conv_transpose of single channels": conv_transpose_case(16, group=16),
        "conv of few channels": conv_case(3),
        "conv of groups": conv_case(24, 36, group=2),
        "conv of narrow groups": narrow_case(),
        "depthwise": conv_case(group=16),
        "conv of tiles": conv_case(winograd=4),
        "depthwise with means": replace(conv_case(group=16), further=[(1, 16, 1, 1)]),
        "conv_depthwise with means": replace(conv_depthwise_case(), further=[(1, 32, 1, 1)]),
        "conv with gated pixels": gated_case(4),
        "conv with gated weights": gated_case(5),
        "excite": excite_case(),
        "matmul": matmul_case(),
        "packed matmul": matmul_case(packed=True),
        "pool": pool_case(),
        "affine": Case("affine", [x, draw(5), draw(5)], PLAIN_EPILOGUE, x.shape, pixels, {0: 8}, "nhwc", 8),
        "unary": Case("unary", [x], {"op": "Exp"}, x.shape, pixels, {0: 8}, "nhwc", 7),
        "binary": Case("binary", [x, draw(4, 1)], {"op": "Add", **PLAIN_EPILOGUE}, x.shape),
        "relayout": Case("relayout", [x], {}, x.shape, (), {}, "nhwc", 8),
        "copy": Case("copy", [x], {}, x.shape),
        "pointwise": pointwise_case(),
        **transformer_cases(),
        **data_cases(),
    }


def add_doubles(cases: dict[str, Case]) -> dict[str, Case]:
    """`cases`, and those on doubles that the library knows."""
    wide = {f"{name} of doubles": widen_case(case) for name, case in cases.items() if has_doubles(case)}
    return cases | wide


CASES = add_doubles(make_cases())
