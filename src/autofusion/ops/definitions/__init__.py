"""Numpy definitions of the kernels: what every step of a plan means.

A definition takes exactly what lowering produced (folded weights, merged scale, epilogue
attributes), in the model's shapes and in row-major order, whatever layout the native kernel uses.
It computes in the type of its operands; two-byte floats are widened to float32 inside and
rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.affine import affine
from autofusion.ops.definitions.arithmetic import arithmetic
from autofusion.ops.definitions.attention import attention
from autofusion.ops.definitions.binary import binary
from autofusion.ops.definitions.compare import compare
from autofusion.ops.definitions.concat import concat
from autofusion.ops.definitions.conv import conv, conv_depthwise, conv_pool
from autofusion.ops.definitions.conv_transpose import conv_transpose
from autofusion.ops.definitions.convert import convert
from autofusion.ops.definitions.embedding import embedding
from autofusion.ops.definitions.excite import excite
from autofusion.ops.definitions.filter import filter_tiles
from autofusion.ops.definitions.gather import gather, gather_blocks, gather_elements
from autofusion.ops.definitions.generate import count, triangle
from autofusion.ops.definitions.group_norm import group_norm
from autofusion.ops.definitions.lines import argument, cumulate, rank
from autofusion.ops.definitions.matmul import matmul
from autofusion.ops.definitions.move import move
from autofusion.ops.definitions.norm import norm
from autofusion.ops.definitions.pad import pad
from autofusion.ops.definitions.pointwise import pointwise
from autofusion.ops.definitions.pool import pool
from autofusion.ops.definitions.reduce import reduce
from autofusion.ops.definitions.resize import resize
from autofusion.ops.definitions.rotary import rotary
from autofusion.ops.definitions.scatter import scatter_blocks, scatter_elements
from autofusion.ops.definitions.select import select
from autofusion.ops.definitions.softmax import softmax
from autofusion.ops.definitions.strided import strided
from autofusion.ops.definitions.unary import unary

Definition = Callable[
    [Sequence[np.ndarray | None], Mapping[str, Any], tuple[int, ...]], np.ndarray | tuple[np.ndarray, ...]
]
"""(operands in the table's order, None where absent; attributes; shape of the first result) -> the result or results.

Size expressions among the attributes are numbers by then.
"""

DEFINITIONS: Mapping[str, Definition] = {
    "conv": conv,
    "conv_depthwise": conv_depthwise,
    "conv_pool": conv_pool,
    "conv_transpose": conv_transpose,
    "excite": excite,
    "matmul": matmul,
    "pool": pool,
    "affine": affine,
    "unary": unary,
    "binary": binary,
    "attention": attention,
    "norm": norm,
    "group_norm": group_norm,
    "rotary": rotary,
    "embedding": embedding,
    "pointwise": pointwise,
    "strided": strided,
    "concat": concat,
    "select": select,
    "compare": compare,
    "arithmetic": arithmetic,
    "convert": convert,
    "pad": pad,
    "resize": resize,
    "range": count,
    "triangle": triangle,
    "filter": filter_tiles,
    "softmax": softmax,
    "reduce": reduce,
    "argument": argument,
    "cumulate": cumulate,
    "rank": rank,
    "gather": gather,
    "gather_elements": gather_elements,
    "gather_blocks": gather_blocks,
    "scatter_elements": scatter_elements,
    "scatter_blocks": scatter_blocks,
    "relayout": move,
    "copy": move,
}

__all__ = ["DEFINITIONS", "Definition"]
