"""Functions of one and two tensors, and the affine map of a BatchNormalization that stands alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autofusion.ir import DType, Node, Value
from autofusion.lowering.absorb import read_normalization
from autofusion.lowering.activations import find_epilogue
from autofusion.lowering.constants import fits
from autofusion.lowering.products import MAX_RANK, refuse_operands
from autofusion.lowering.records import NO_EPILOGUE, Call, Epilogue
from autofusion.lowering.workspace import Workspace

BINARY_OPERATORS = {"Add": "Add", "Sum": "Add", "Sub": "Sub", "Mul": "Mul", "Div": "Div"} | {
    name: name for name in ("Pow", "Max", "Min")
}

FUNCTIONS = (
    *("Abs", "Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Floor", "Ceil", "Erf"),
    *("Sin", "Cos", "Round", "Sign"),
)


def open_activation(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of an activation, or why no kernel can compute it."""
    if reason := refuse_operands(workspace, node.input(0), node.outputs[0]):
        return reason
    epilogue = find_epilogue(node, workspace.scope)
    if epilogue is None:
        return "limits or slopes are no constant scalars"
    return [activation_call(node.input(0), workspace.scope.value(node.outputs[0]), epilogue, node.origin)]


def activation_call(x: str, result: Value, epilogue: Epilogue, origin: tuple[str, ...]) -> Call:
    """The call that applies one activation."""
    settings = {"op": epilogue.activation, "alpha": epilogue.alpha, "beta": epilogue.beta}
    return Call("unary", (x,), result, settings, absorbed=origin)


def open_slopes(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a PRelu with one slope, or `max(x, 0) + slope * min(x, 0)`; else why no kernel can compute it."""
    scope = workspace.scope
    if find_epilogue(node, scope) is not None:
        return open_activation(node, workspace)
    if reason := refuse_operands(workspace, *node.inputs, node.outputs[0]):
        return reason
    slope, result = scope.constant(node.input(1)), scope.value(node.outputs[0])
    # Of an infinite slope, the product with the zeros of min(x, 0) would be NaN.
    if slope is None or not np.isfinite(slope.astype(np.float64)).all() or len(result.shape or ()) > MAX_RANK:
        return "slopes are no finite constants"
    x = node.input(0)
    zero = workspace.add_constant(f"{node.name}:zero", np.zeros((), slope.dtype))
    above, below, sloped = (
        workspace.add_value(f"{result.name}:{part}", result) for part in ("above", "below", "sloped")
    )
    return [
        activation_call(x, above, Epilogue("Relu"), node.origin),
        Call("binary", (x, zero), below, {"op": "Min"}, NO_EPILOGUE, absorbed=node.origin),
        Call("binary", (below.name, node.input(1)), sloped, {"op": "Mul"}, NO_EPILOGUE, absorbed=node.origin),
        Call("binary", (above.name, sloped.name), result, {"op": "Add"}, NO_EPILOGUE, absorbed=node.origin),
    ]


def open_function(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of an elementwise function, or why no kernel can compute it."""
    if reason := refuse_operands(workspace, node.input(0), node.outputs[0]):
        return reason
    settings = {"op": node.op, "alpha": 0.0, "beta": 0.0}
    return [Call("unary", (node.input(0),), workspace.scope.value(node.outputs[0]), settings, absorbed=node.origin)]


def open_rounding(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call that rounds a float32 value to the type that `passes.carry_halves` names."""
    if reason := refuse_operands(workspace, node.input(0), node.outputs[0]):
        return reason
    settings = {"op": f"To{node.op.capitalize()}", "alpha": 0.0, "beta": 0.0}
    return [Call("unary", (node.input(0),), workspace.scope.value(node.outputs[0]), settings, absorbed=node.origin)]


def open_binary(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of an arithmetic operator on two tensors, or why no kernel can compute it."""
    if reason := refuse_operands(workspace, *node.inputs, node.outputs[0]):
        return reason
    result = workspace.scope.value(node.outputs[0])
    if len(node.inputs) != 2:
        return f"{len(node.inputs)} operands"
    if len(result.shape or ()) > MAX_RANK:
        return f"more than {MAX_RANK} axes"
    settings = {"op": BINARY_OPERATORS[node.op]}
    return [Call("binary", node.inputs, result, settings, NO_EPILOGUE, absorbed=node.origin)]


def open_normalization(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of an inference BatchNormalization: `affine`, or a product and a sum outside ranks 3 to 5."""
    if reason := refuse_operands(workspace, node.input(0), node.outputs[0]):
        return reason
    x, result = workspace.scope.value(node.input(0)), workspace.scope.value(node.outputs[0])
    channels = x.shape[1] if x.shape and len(x.shape) > 1 else None
    if not isinstance(channels, int) or len(x.shape or ()) > MAX_RANK:
        return "the number of channels is not known"
    factors = read_normalization(node, workspace.scope, channels)
    if factors is None:
        return "training mode, or parameters that are no constants of the data's type"
    dtype = (x.dtype or DType.FLOAT).numpy
    if not all(fits(factor, dtype) for factor in factors):
        return "a folded parameter leaves the range of its type"
    rank = len(x.shape or ())
    along = (channels,) if 3 <= rank <= 5 else (channels, *[1] * (rank - 2))
    scale, shift = (
        workspace.add_constant(f"{node.name}:{name}", factor.astype(dtype).reshape(along))
        for name, factor in zip(("scale", "shift"), factors, strict=True)
    )
    if 3 <= rank <= 5:
        return [Call("affine", (x.name, scale, shift), result, {}, NO_EPILOGUE, absorbed=node.origin)]
    scaled = workspace.add_value(f"{result.name}:scaled", result)
    product = Call("binary", (x.name, scale), scaled, {"op": "Mul"}, absorbed=node.origin)
    return [
        product,
        replace(product, operands=(scaled.name, shift), result=result, settings={"op": "Add"}, epilogue=NO_EPILOGUE),
    ]
