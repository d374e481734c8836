"""Activations as epilogues of kernels."""

from __future__ import annotations

import math

from autofusion.fusion.pointwise.activations import ACTIVATION_OPERATORS, read_activation
from autofusion.ir import DType, Node
from autofusion.lowering.records import Epilogue
from autofusion.lowering.scope import Scope

__all__ = ["ACTIVATION_OPERATORS", "find_epilogue", "find_gate"]


def find_epilogue(node: Node, scope: Scope) -> Epilogue | None:
    """The activation that an ONNX operator applies to its first operand, None where the kernels have no such."""
    activation = read_activation(node, scope)
    return activation and Epilogue(activation.name, activation.alpha, activation.beta)


def find_gate(gate: Node, scope: Scope) -> Epilogue | None:
    """The activation `x * gate(x)`, None where the kernels have no such."""
    if gate.op == "Sigmoid" and not gate.domain and not gate.opaque:
        return Epilogue("SiLU", 1.0)
    epilogue = find_epilogue(gate, scope)
    if epilogue is None or epilogue.activation != "HardSigmoid":
        return None
    # In float32 1/6 is the nearest number to it, in float64 that is another one.
    tolerance = 1e-14 if scope.dtype(gate.input(0)) is DType.DOUBLE else 1e-6
    is_swish = math.isclose(epilogue.alpha, 1 / 6, rel_tol=tolerance) and epilogue.beta == 0.5
    return Epilogue("HardSwish") if is_swish else None
