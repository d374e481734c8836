"""Which activation a node is, in the terms of the kernel table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from autofusion.ir import DType, Node
from autofusion.lowering.constants import read_float, read_scalar, read_text
from autofusion.lowering.records import Epilogue
from autofusion.lowering.scope import Scope

Recognise = Callable[[Node, Scope], Epilogue | None]


def find_epilogue(node: Node, scope: Scope) -> Epilogue | None:
    """The activation that an ONNX operator applies to its first operand, None where the kernels have no such."""
    recognise = _RECOGNISERS.get(node.op)
    if recognise is None or node.opaque or node.domain:
        return None
    return recognise(node, scope)


def find_gate(gate: Node, scope: Scope) -> Epilogue | None:
    """The activation `x * gate(x)`, None where the kernels have no such."""
    if gate.op == "Sigmoid" and not gate.domain and not gate.opaque:
        return Epilogue("SiLU", 1.0)
    epilogue = find_epilogue(gate, scope)
    if epilogue is None or epilogue.activation != "HardSigmoid":
        return None
    is_swish = math.isclose(epilogue.alpha, 1 / 6, rel_tol=1e-6) and epilogue.beta == 0.5
    return Epilogue("HardSwish") if is_swish else None


def _plain(activation: str) -> Recognise:
    return lambda _node, _scope: Epilogue(activation)


def _leaky_relu(node: Node, _scope: Scope) -> Epilogue:
    return Epilogue("LeakyRelu", read_float(node, "alpha", 0.01))


def _prelu(node: Node, scope: Scope) -> Epilogue | None:
    slope = scope.constant(node.input(1))
    rank = scope.value(node.input(0)).rank
    alpha = read_scalar(scope, node.input(1))
    if slope is None or alpha is None or rank is None or slope.ndim > rank:
        return None
    return Epilogue("LeakyRelu", alpha)


def _elu(node: Node, _scope: Scope) -> Epilogue:
    return Epilogue("Elu", read_float(node, "alpha", 1.0))


def _hard_sigmoid(node: Node, _scope: Scope) -> Epilogue:
    return Epilogue("HardSigmoid", read_float(node, "alpha", 0.2), read_float(node, "beta", 0.5))


def _swish(node: Node, _scope: Scope) -> Epilogue:
    return Epilogue("SiLU", read_float(node, "alpha", 1.0))


def _gelu(node: Node, _scope: Scope) -> Epilogue:
    return Epilogue("GeluTanh" if read_text(node, "approximate", "none") == "tanh" else "Gelu")


def _clip(node: Node, scope: Scope) -> Epilogue | None:
    """Limits are constants or absent; an absent one is the type's own lowest or highest number."""
    dtype = scope.dtype(node.input(0))
    if dtype is None or not dtype.is_float:
        return None
    limits: list[float] = []
    for index, sign in ((1, -1.0), (2, 1.0)):
        name = node.input(index)
        limit = read_scalar(scope, name) if name else sign * _highest(dtype)
        if limit is None or math.isnan(limit):
            return None
        limits.append(limit)
    return Epilogue("Clip", limits[0], limits[1])


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
