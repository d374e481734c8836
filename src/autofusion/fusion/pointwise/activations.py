"""Which activation of the kernel table a node is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from autofusion.ir import DType, Node
from autofusion.ops.table import Known


@dataclass(frozen=True)
class Activation:
    """A name of `plan.ACTIVATIONS` with its two numbers."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0


Recognise = Callable[[Node, Known], Activation | None]


def read_activation(node: Node, known: Known) -> Activation | None:
    """The activation that an ONNX operator applies to its first operand, None where the kernels have no such."""
    recognise = _RECOGNISERS.get(node.op)
    if recognise is None or node.opaque or node.domain:
        return None
    return recognise(node, known)


def read_number(known: Known, name: str) -> float | None:
    """The only element of a constant, else None."""
    array = known.constant(name)
    if array is None or array.size != 1 or array.dtype.kind in "OSU":
        return None
    return float(array.reshape(()).astype(np.float64))


def read_float(node: Node, name: str, default: float) -> float:
    """Floating-point attribute `name`."""
    return float(cast(float, node.attributes.get(name, default)))


def _plain(activation: str) -> Recognise:
    return lambda _node, _known: Activation(activation)


def _leaky_relu(node: Node, _known: Known) -> Activation:
    return Activation("LeakyRelu", read_float(node, "alpha", 0.01))


def _prelu(node: Node, known: Known) -> Activation | None:
    slope = known.constant(node.input(1))
    rank = known.value(node.input(0)).rank
    alpha = read_number(known, node.input(1))
    if slope is None or alpha is None or rank is None or slope.ndim > rank:
        return None
    return Activation("LeakyRelu", alpha)


def _elu(node: Node, _known: Known) -> Activation:
    return Activation("Elu", read_float(node, "alpha", 1.0))


def _hard_sigmoid(node: Node, _known: Known) -> Activation:
    return Activation("HardSigmoid", read_float(node, "alpha", 0.2), read_float(node, "beta", 0.5))


def _swish(node: Node, _known: Known) -> Activation:
    return Activation("SiLU", read_float(node, "alpha", 1.0))


def _gelu(node: Node, _known: Known) -> Activation:
    return Activation("GeluTanh" if node.attributes.get("approximate") == "tanh" else "Gelu")


def _clip(node: Node, known: Known) -> Activation | None:
    """Limits are constants or absent; an absent one is the type's own lowest or highest number."""
    dtype = known.value(node.input(0)).dtype
    if dtype is None or not dtype.is_float:
        return None
    limits: list[float] = []
    for index, sign in ((1, -1.0), (2, 1.0)):
        name = node.input(index)
        limit = read_number(known, name) if name else sign * _highest(dtype)
        if limit is None or math.isnan(limit):
            return None
        limits.append(limit)
    return Activation("Clip", limits[0], limits[1])


def _highest(dtype: DType) -> float:
    # numpy knows no limits of bfloat16: seven bits of fraction, the exponents of float32.
    return float.fromhex("0x1.fep127") if dtype is DType.BFLOAT16 else float(np.finfo(dtype.numpy.name).max)


_RECOGNISERS: Mapping[str, Recognise] = {
    "Relu": _plain("Relu"),
    "Sigmoid": _plain("Sigmoid"),
    "Tanh": _plain("Tanh"),
    "HardSwish": _plain("HardSwish"),
    "LeakyRelu": _leaky_relu,
    "PRelu": _prelu,
    "Elu": _elu,
    "HardSigmoid": _hard_sigmoid,
    "Swish": _swish,
    "Gelu": _gelu,
    "Clip": _clip,
}

ACTIVATION_OPERATORS = frozenset(_RECOGNISERS)
"""ONNX operators that may be activations of the kernels."""
