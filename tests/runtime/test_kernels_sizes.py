"""Every kernel of the table at every size round the vectors, panels and tiles, at none and at one, and on threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from autofusion.plan import ACTIVATIONS, KERNELS
from autofusion.runtime.native import Native
from runtime.cases import attention_case
from runtime.steps import PLAIN_EPILOGUE, Case, assert_agrees, assert_equals
from runtime.test_kernels_conv import make_conv
from runtime.test_kernels_conv_depthwise import make_case as make_depthwise
from runtime.test_kernels_conv_pool import make_case as make_pooled
from runtime.test_kernels_conv_pool import window
from runtime.test_kernels_conv_transpose import make_transposed
from runtime.test_kernels_excite import make_excite
from runtime.test_kernels_matmul import make_matmul
from runtime.test_kernels_pool import make_pool

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 49, 63, 64, 65, 97, 257)
NOT_IN_C = {"host", "extents"}
"""Kernels that Python runs."""
ELSEWHERE = {"filter"}
"""Kernels whose operand is packed, which their own tests do for every size."""


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def count(*shape: int, dtype: str = "int32") -> np.ndarray:
    return (np.arange(np.prod(shape), dtype=np.int64).reshape(shape) * 7 % 23 - 11).astype(dtype)


def make_attention(n: int) -> Case:
    """As many queries and keys, after a past of three."""
    case = attention_case()
    batch, heads, key_heads, size, past = 2, 4, 2, 4, 3
    row, key_row, all_keys = heads * size, key_heads * size, n + past
    attributes = {**case.attributes, "extents": [batch, heads, key_heads, n, n, size, size, past]}
    attributes |= {name: [0, n * row, size, row, 1] for name in ("q_view", "y_view")}
    attributes |= {name: [0, n * key_row, size, key_row, 1] for name in ("k_view", "v_view")}
    rows = [draw(batch, n, row), draw(batch, n, key_row), draw(batch, n, key_row)]
    terms = [draw(2, heads, n, all_keys), draw(1, 1, n, all_keys), np.arange(all_keys).reshape(1, 1, 1, -1) < n + 2]
    pasts = [draw(batch, key_heads, past, size), draw(batch, key_heads, past, size)]
    return Case("attention", [*rows, *terms, *pasts], attributes, (batch, n, row))


def make_rotary(n: int) -> Case:
    width = n // 2 * 2
    attributes = {"extents": [2, 2, 3, n], "width": width, "interleaved": n % 3 == 0}
    attributes |= {"x_view": [0, 6 * n, n, 2 * n, 1], "y_view": [0, 6 * n, 3 * n, n, 1]}
    return Case("rotary", [draw(2, 3, 2 * n), draw(3, width), draw(3, width)], attributes, (2, 2, 3, n))


def make_embedding(n: int) -> Case:
    ids = np.array([[1, 0, 2], [2, 2, -1]])
    tables = [draw(9, n), ids, draw(4, n), ids.astype(np.int32), draw(2, 3, n), None]
    return Case("embedding", [*tables, draw(n), draw(n)], {"norm": "layer", "epsilon": 1e-3}, (2, 3, n))


def make_pointwise(n: int) -> Case:
    program = [["Add", 0, 1, -1, 0.0, 0.0], ["Tanh", 2, -1, -1, 0.0, 0.0], ["Mul", 3, 0, -1, 0.0, 0.0]]
    return Case("pointwise", [draw(3, n), draw(3, 1)], {"program": program, "reduce": "Sum"}, (3, 1))


def make_resize(n: int) -> Case:
    attributes = {"mode": "linear", "scales": [2.0, 1.0], "coordinates": "half_pixel", "rounding": "floor"}
    attributes |= {"cubic": 0.0, "exclude_outside": False}
    return Case("resize", [draw(2, n, 3, 5)], attributes, (2, n, 6, 5), ("nhwc",), {0: n + 1}, "nhwc", n + 2)


def make_gather(n: int) -> Case:
    return Case("gather", [draw(3, 5, n), np.array([4, -1, 0])], {"axis": 1}, (3, 3, n))


def make_indexed(kernel: str, n: int, **attributes: Any) -> Case:
    """Indices of `n` elements, or of blocks of `n` elements."""
    places = np.array([[0, 2], [1, -1]])
    if kernel.endswith("blocks"):
        operands = [draw(2, 5, n), places]
        return Case(
            kernel, operands if "gather" in kernel else [*operands, draw(2, n)], attributes,
            (2, n) if "gather" in kernel else (2, 5, n),
        )  # fmt: skip
    indices = count(4, n, dtype="int64") % 5 - 2
    operands = [draw(5, n), indices]
    gathers = kernel == "gather_elements"
    return Case(
        kernel, operands if gathers else [*operands, draw(4, n)], {"axis": 0, **attributes}, (4 if gathers else 5, n)
    )


def convolve(n: int) -> Case:
    return make_conv((2, 9, 3, n), n + 1, (1, 3), pads=(0, 1, 0, 1), residual=True, pitches=(1, 2, 3))


def compare_rows(kernel: str, n: int, dtype: str = "int32", **attributes: Any) -> Case:
    result = "bool" if kernel == "compare" else dtype
    return Case(kernel, [count(3, n, dtype=dtype), count(n, dtype=dtype)], attributes, (3, n), dtype=result)


def along(kernel: str, n: int, dtype: str = "float32", **attributes: Any) -> Case:
    return Case(kernel, [draw(3, n, 2)], {"axis": 1, **attributes}, (3, n, 2), dtype=dtype)


def permute(n: int) -> Case:
    return Case("strided", [count(3, n, dtype="int16")], {"extents": [n, 3], "view": [0, 1, n]}, (n, 3), dtype="int16")


def pad(n: int) -> Case:
    return Case("pad", [draw(3, n), draw(1)], {"pads": [1, 2, 0, 3], "mode": "constant"}, (4, n + 5))


def make_triangle(n: int) -> Case:
    return Case("triangle", [count(2, 5, n)], {"diagonal": [1, 0], "upper": True}, (2, 5, n), dtype="int32")


def affine(n: int, epilogue: Mapping[str, Any] = PLAIN_EPILOGUE) -> Case:
    return Case("affine", [draw(2, n, 5), draw(n), draw(n)], epilogue, (2, n, 5), ("nhwc",), {0: n + 3}, "nhwc", n)


def add(n: int, epilogue: Mapping[str, Any] = PLAIN_EPILOGUE) -> Case:
    return Case("binary", [draw(3, n), draw(n)], {"op": "Add", **epilogue}, (3, n))


POINT, THREE = window((1, 1)), window((3, 3), pads=(1, 1, 1, 1))
MAKERS: dict[str, Callable[[int], Case]] = {
    "conv": convolve,
    "conv_depthwise": lambda n: make_depthwise((2, 9, 3, n), n + 1, THREE, pitches=(1, 3)),
    "conv_pool": lambda n: make_pooled((2, 9, 5, n), n + 1, THREE, THREE, residual=True, pitches=(1, 2, 3)),
    "conv_transpose": lambda n: make_transposed((2, 9, 3, n), n + 1, (3, 3), (2, 2), pitches=(1, 3)),
    "excite": lambda n: make_excite(2, n, 5, n + 1),
    "matmul": lambda n: make_matmul((3, n), (n, n + 1)),
    "attention": make_attention,
    "norm": lambda n: Case("norm", [draw(5, n), draw(n)], {"kind": "rms", "epsilon": 1e-3, "axes": 1}, (5, n)),
    "group_norm": lambda n: Case(
        "group_norm", [draw(2, 6, n), draw(6), draw(6)], {"groups": 3, "epsilon": 1e-3}, (2, 6, n)
    ),
    "rotary": make_rotary,
    "embedding": make_embedding,
    "pointwise": make_pointwise,
    "pool": lambda n: make_pool("average", (2, n, 5, 4), (2, 3), pads=(1, 0, 0, 1), pitches=(3, 1)),
    "affine": affine,
    "unary": lambda n: Case("unary", [draw(3, n)], {"op": "Erf"}, (3, n)),
    "binary": add,
    "strided": permute,
    "concat": lambda n: Case(
        "concat", [count(3, n), count(3, 2), count(3, n)], {"axis": 1}, (3, 2 * n + 2), dtype="int32"
    ),
    "select": lambda n: Case(
        "select", [count(3, n) % 2 == 0, count(n), count(3, 1)], {}, (3, n), dtype="int32"
    ),
    "compare": lambda n: compare_rows("compare", n, op="Less"),
    "arithmetic": lambda n: compare_rows("arithmetic", n, "int64", op="Mod"),
    "convert": lambda n: Case("convert", [count(3, n)], {"to": "float16"}, (3, n), dtype="float16"),
    "pad": pad,
    "resize": make_resize,
    "range": lambda n: Case("range", [count(), np.int32(3).reshape(())], {}, (n,), dtype="int32"),
    "triangle": make_triangle,
    "softmax": lambda n: along("softmax", n, log=False),
    "reduce": lambda n: Case("reduce", [draw(3, n, 2)], {"kind": "l2", "axes": [1]}, (3, 2)),
    "argument": lambda n: Case(
        "argument", [draw(n, 3, 2)], {"kind": "max", "axis": 1, "last": True}, (n, 2), dtype="int64"
    ),
    "cumulate": lambda n: along("cumulate", n, exclusive=True, reverse=True),
    "rank": lambda n: along("rank", n, "int64", largest=True),
    "gather": make_gather,
    "gather_elements": lambda n: make_indexed("gather_elements", n),
    "gather_blocks": lambda n: make_indexed("gather_blocks", n, batch_dims=0),
    "scatter_elements": lambda n: make_indexed("scatter_elements", n, reduction="none"),
    "scatter_blocks": lambda n: make_indexed("scatter_blocks", n, reduction="mul"),
    "relayout": lambda n: Case("relayout", [draw(2, n, 3, 5)], {}, (2, n, 3, 5), (), {}, "nhwc", n + 1),
    "copy": lambda n: Case("copy", [draw(3, n)], {}, (3, n)),
}  # fmt: skip
NEVER_EMPTY = {"conv", "excite", "conv_depthwise", "conv_pool", "conv_transpose", "norm", "group_norm", "embedding"}
"""Kernels whose definition slides a window over the axis, or takes a mean of it."""
EXACT = {"strided", "concat", "select", "compare", "arithmetic", "convert", "range", "triangle", "argument", "rank"}


def test_every_kernel_of_the_table_has_sizes() -> None:
    assert set(KERNELS) - NOT_IN_C - ELSEWHERE == set(MAKERS)


@pytest.mark.threads
@pytest.mark.parametrize("kernel", MAKERS)
def test_sizes(native: Native, kernel: str) -> None:
    for n in SIZES[kernel in NEVER_EMPTY :]:
        case = MAKERS[kernel](n)
        for threads in (1, 2, 3):
            if kernel in EXACT:
                assert_equals(native, case, threads)
            else:
                assert_agrees(native, case, threads, 4e-6)


Epilogue = Mapping[str, Any]
WITH_EPILOGUE: dict[str, dict[str, Callable[[Epilogue, bool], Case]]] = {
    "conv": {
        name: lambda epilogue, has, options=options: make_conv(
            *options[:3], residual=has, bias=has, epilogue=dict(epilogue), **options[3]
        )
        for name, options in {
            "rows": ((2, 19, 13), 37, (3,), {"pads": (1, 1)}),
            "few channels": ((1, 3, 7, 5), 17, (3, 3), {}),
            "groups": ((1, 18, 5, 5), 34, (2, 2), {"group": 2}),
            "depthwise": ((1, 21, 5, 9), 21, (3, 3), {"group": 21, "pads": (1, 1, 1, 1)}),
            "volume": ((1, 9, 3, 4, 5), 11, (2, 2, 2), {}),
            "tiles of two": ((1, 20, 6, 5), 23, (3, 3), {"pads": (1, 1, 1, 1), "winograd": 2}),
            "tiles of four": ((1, 20, 6, 5), 23, (3, 3), {"pads": (1, 1, 1, 1), "winograd": 4}),
        }.items()
    },
    "conv_depthwise": {
        "pixels": lambda epilogue, has: make_depthwise(
            (1, 7, 5, 9), 21, THREE, biases=(has, has), inner=dict(epilogue), outer=dict(epilogue)
        ),
    },
    "conv_pool": {
        "whole images": lambda epilogue, has: make_pooled(
            (2, 7, 5, 9), 21, POINT, None, kind="average", residual=has, bias=has, epilogue=dict(epilogue)
        ),
        "tiles": lambda epilogue, has: make_pooled(
            (1, 9, 6, 7), 21, THREE, THREE, winograd=4, residual=has, bias=has, epilogue=dict(epilogue)
        ),
    },
    "conv_transpose": {
        name: lambda epilogue, has, filters=filters, group=group: make_transposed(
            (1, 21, 4, 5), filters, (3, 3), (2, 2), group=group, bias=has, epilogue=dict(epilogue)
        )
        for name, filters, group in (("phases", 24, 1), ("few filters", 5, 1), ("single channels", 21, 21))
    },
    "matmul": {
        "plain": lambda epilogue, has: make_matmul((7, 13), (13, 19), residual=has, bias=has, epilogue=dict(epilogue)),
        "packed": lambda epilogue, has: make_matmul(
            (7, 13), (13, 25), residual=has, bias=has, packed=True, epilogue=dict(epilogue)
        ),
    },
    "excite": {
        "inner": lambda epilogue, has: make_excite(2, 21, 6, 18, str(epilogue["activation"]), "Sigmoid", has),
        "outer": lambda epilogue, has: make_excite(2, 21, 6, 18, "Relu", str(epilogue["activation"]), has),
    },
    "affine": {"pixels": lambda epilogue, has: affine(19 + has, epilogue)},
    "binary": {"rows": lambda epilogue, has: add(19 + has, epilogue)},
}


def test_every_kernel_with_an_epilogue_has_cases() -> None:
    assert {kernel.name for kernel in KERNELS.values() if "activation" in kernel.attributes} == set(WITH_EPILOGUE)


@pytest.mark.parametrize("has_terms", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    ("kernel", "name"), [(kernel, name) for kernel in WITH_EPILOGUE for name in WITH_EPILOGUE[kernel]]
)
def test_epilogues(native: Native, kernel: str, name: str, activation: str, has_terms: bool) -> None:
    """With bias and residual, and without."""
    epilogue = {"activation": activation, "alpha": 0.3, "beta": 0.7}
    assert_agrees(native, WITH_EPILOGUE[kernel][name](epilogue, has_terms), 2, 6e-6)
