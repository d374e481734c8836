"""The arithmetic of operators, counted in operations of a large matrix product."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol

from autofusion.ir import Node
from autofusion.lowering.constants import read_integer, read_integers
from autofusion.lowering.views import VIEWS

TRANSCENDENTAL_FLOPS = 40
"""What one element of an exponential or its like counts for: about twenty vector instructions, each in the place of a
fused multiply-add."""

LOAD_FLOPS = 4
"""What a sum counts for whose every term needs a load of its own, as in a depthwise convolution or a pool."""

SHUFFLE_FLOPS = 170
"""What an element counts for that is copied by itself: 0.68 ns were measured for each in shuffles of channels, which
natively lie innermost."""

WINOGRAD_PARTS = {2: 0.5, 4: 0.35}
"""Part of a 3x3 convolution's operations that F(2x2, 3x3) and F(4x4, 3x3) count for, their transforms included.

The multiplications alone are 4/9 and 1/4 (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015).
"""

_TRANSCENDENTAL = frozenset(
    {"Exp", "Log", "Erf", "Tanh", "Sigmoid", "Softmax", "LogSoftmax", "Gelu", "Elu", "Selu", "Celu", "Softplus"}
    | {"Mish", "Swish", "Sin", "Cos", "Pow"}
)


class Extents(Protocol):
    """Where the extents of values are known."""

    def extents(self, name: str) -> tuple[int, ...]:
        """Shape of a value; () where it is not known."""
        ...

    def elements(self, name: str) -> int:
        """Number of elements of a value; 0 where its shape is not known."""
        ...


def count_flops(node: Node, values: Extents) -> float:
    """The arithmetic of one plain node, 0 for a view."""
    count = _FLOPS.get(node.op)
    if count is not None and not node.domain:
        return count(values, node)
    if node.op in VIEWS:
        return 0
    each = TRANSCENDENTAL_FLOPS if node.op in _TRANSCENDENTAL else 1
    return each * max((values.elements(name) for name in (*node.operands, *node.results)), default=0)


def _count_convolution(values: Extents, node: Node) -> float:
    weight = values.extents(node.input(1))
    each = LOAD_FLOPS if weight[1:2] == (1,) and weight[0] > 1 else 1
    return each * 2 * math.prod(weight[1:]) * values.elements(node.outputs[0])


def _count_transposed_convolution(values: Extents, node: Node) -> float:
    weight = values.extents(node.input(1))
    return 2 * math.prod(weight[1:]) * values.elements(node.input(0))


def _count_product(values: Extents, node: Node) -> float:
    a = values.extents(node.input(0))
    depth = a[0 if node.op == "Gemm" and read_integer(node, "transA", 0) else -1] if a else 0
    return 2 * depth * values.elements(node.outputs[0])


def _count_attention(values: Extents, node: Node) -> float:
    """Both products and the softmax between them, for every query and key."""
    q, k, y = (values.extents(name) for name in (node.input(0), node.input(1), node.outputs[0]))
    if not q or not k or not y:
        return 0
    heads = q[1] if len(q) == 4 else max(read_integer(node, "q_num_heads", 1), 1)
    past = values.extents(node.input(4))[2:3] if node.input(4) else ()
    queries, keys = q[0] * heads * q[-2], k[-2] + sum(past)
    sizes = (q[-1] + y[-1]) / (1 if len(q) == 4 else heads)
    return queries * keys * (2 * sizes + TRANSCENDENTAL_FLOPS + 2)


def _count_rotation(values: Extents, node: Node) -> float:
    return 3 * values.elements(node.input(0))


def _count_pool(values: Extents, node: Node) -> float:
    return LOAD_FLOPS * math.prod(read_integers(node, "kernel_shape", ())) * values.elements(node.outputs[0])


def _count_transposition(values: Extents, node: Node) -> float:
    """Copies of runs are traffic alone; where axes of channels change places before those of an image, none are."""
    is_shuffle = read_integers(node, "perm", ())[:3] == [0, 2, 1] and len(values.extents(node.input(0))) > 4
    return (SHUFFLE_FLOPS if is_shuffle else 1) * values.elements(node.outputs[0])


def _count_normalization(values: Extents, node: Node) -> float:
    return 8 * values.elements(node.input(0))


def _count_affine(values: Extents, node: Node) -> float:
    return 2 * values.elements(node.input(0))


_FLOPS: Mapping[str, Callable[[Extents, Node], float]] = {
    "Conv": _count_convolution,
    "ConvTranspose": _count_transposed_convolution,
    "MatMul": _count_product,
    "Gemm": _count_product,
    "Attention": _count_attention,
    "RotaryEmbedding": _count_rotation,
    "MaxPool": _count_pool,
    "AveragePool": _count_pool,
    "Transpose": _count_transposition,
    "BatchNormalization": _count_affine,
    "LayerNormalization": _count_normalization,
    "GroupNormalization": _count_normalization,
    "InstanceNormalization": _count_normalization,
    "RMSNormalization": _count_normalization,
}
