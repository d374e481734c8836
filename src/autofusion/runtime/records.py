"""Layout of the records that Python hands to the C executor; its counterpart is `csrc/record.h`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from autofusion.plan import ACTIVATIONS, Step
from autofusion.record import Record


class Space:
    """The memory that a place lies in."""

    NONE = 0
    ARENA = 1
    WEIGHTS = 2
    BINDING = 3


class Place(Record):
    """Where a buffer lies: byte `offset` and extent within a space; `slot` is the number of the binding."""

    space: int
    offset: int
    bytes: int
    slot: int = 0


NOWHERE = Place(Space.NONE, 0, 0)

OPERANDS = 16
"""Operands of a record: the first result, up to ten operands in the kernel's order, further results, scratch memory."""

FURTHER = 11
"""The place of the second result; up to four results follow the first."""

INTS = 96
FLOATS = 4

OPERAND = np.dtype([("space", "<i4"), ("slot", "<i4"), ("offset", "<i8"), ("bytes", "<i8")])
RECORD = np.dtype(
    [
        ("kernel", "<i4"),
        ("type", "<i4"),
        ("operands", OPERAND, (OPERANDS,)),
        ("ints", "<i8", (INTS,)),
        ("floats", "<f8", (FLOATS,)),
    ]
)

KERNEL_CODES: Mapping[str, int] = {
    "conv": 1,
    "matmul": 2,
    "pool": 3,
    "affine": 4,
    "unary": 5,
    "binary": 6,
    "relayout": 7,
    "copy": 8,
    "attention": 84,
    "norm": 85,
    "group_norm": 86,
    "rotary": 87,
    "embedding": 88,
    "product": 89,
    "pointwise": 90,
    "conv_depthwise": 91,
    "conv_pool": 92,
    "excite": 93,
    "filter": 94,
    "conv_transpose": 95,
    "strided": 64,
    "concat": 65,
    "select": 66,
    "compare": 67,
    "arithmetic": 68,
    "convert": 69,
    "softmax": 70,
    "reduce": 71,
    "argument": 72,
    "cumulate": 73,
    "rank": 74,
    "gather": 75,
    "gather_elements": 76,
    "gather_blocks": 77,
    "scatter_elements": 78,
    "scatter_blocks": 79,
    "pad": 80,
    "resize": 81,
    "range": 82,
    "triangle": 83,
}
"""Kernels that the C library runs; every other step has an empty record, which it passes over.

A matrix product with a packed matrix is a `product`, see `record_kernel`.
"""


DOUBLE_KERNELS = frozenset(
    {
        *(
            "conv",
            "conv_transpose",
            "matmul",
            "product",
            "pool",
            "affine",
            "unary",
            "binary",
            "relayout",
            "softmax",
            "resize",
        ),
        *("attention", "norm", "group_norm", "rotary", "embedding", "pointwise"),
    }
)
"""Kernels that compute in the floating type of their first result, float32 or float64 (`af_find_double_kernel`)."""


def record_kernel(step: Step) -> str:
    """The kernel that a step of a native plan runs: a name of `KERNEL_CODES`, or of a kernel that Python runs."""
    return "product" if step.kernel == "matmul" and step.attributes.get("packed") else step.kernel


UNARY_OPERATORS = (
    *ACTIVATIONS,
    *("Abs", "Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Floor", "Ceil", "Erf"),
    *("Sin", "Cos", "Round", "Sign", "ToFloat16", "ToBfloat16"),
)
BINARY_OPERATORS = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min")

ELEMENT_TYPES = (
    *("float", "double", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "float16", "bfloat16"),
)
"""Element types that records name, by their code (`af_type`)."""

HALVES = ("float16", "bfloat16")
"""Element types of constants that kernels widen to float32 while they read them."""

ELEMENT_SIZES = (4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 2)
"""Bytes of one element of each."""

MAX_AXES = 8
"""Axes that a step may iterate over after merging."""

MAX_BATCH_AXES = 6
"""Batch axes of a matrix product after merging."""

ROW_BLOCK = 144
"""Rows of the left matrix that a product works on at a time (AF_ROW_BLOCK)."""

DEPTH_BLOCK = 256
"""Elements of a row that a product works on at a time (AF_DEPTH_BLOCK)."""

DOUBLE_BLOCK = 48
"""Rows that products of doubles work on at a time (AF_DOUBLE_BLOCK)."""

PANEL_BLOCK = 8
"""Panels that a product deeper than `DEPTH_BLOCK` works on at a time (AF_PANEL_BLOCK)."""

PANEL = 16
"""Columns of a weight panel."""

GATHER_CHANNELS = 8
"""Convolutions with fewer channels per group copy the window into one row first (AF_GATHER_CHANNELS)."""

WINOGRAD_TILES = 25
"""Tiles that Winograd's filtering works on at a time (AF_WINOGRAD_TILES)."""

WINOGRAD_FILTERS = 64
"""Filters whose products it keeps before they are transformed back."""
