"""Convolutions and matrix products: how a node becomes a kernel call that can take in what follows it."""

from __future__ import annotations

import numpy as np

from autofusion.ir import DType, Node, Shape, Value
from autofusion.lowering.constants import read_channels, read_float, read_integer, read_integers
from autofusion.lowering.folds import gemm_addend
from autofusion.lowering.geometry import find_pads
from autofusion.lowering.records import NO_EPILOGUE, Call, Product
from autofusion.lowering.workspace import Workspace
from autofusion.plan import Setting

MAX_RANK = 8
"""Axes that kernels can walk over."""


def open_conv(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Conv, or why no kernel can compute it."""
    scope = workspace.scope
    x, weight = scope.value(node.input(0)), scope.value(node.input(1))
    result = scope.value(node.outputs[0])
    if reason := refuse_operands(workspace, *node.operands, *node.results):
        return reason
    if x.shape is None or result.shape is None or weight.shape is None:
        return "shapes are not known before the model runs"
    if not 3 <= len(x.shape) <= 5 or len(weight.shape) != len(x.shape):
        return f"convolution of rank {len(x.shape)}"
    extents = [dim for dim in weight.shape if isinstance(dim, int)]
    is_constant = scope.constant(weight.name) is not None
    if len(extents) != len(weight.shape) or (workspace.backend == "native" and not is_constant):
        return "the weight is no constant"
    kernel = extents[2:]
    pads = find_pads(node, x.shape, result.shape, kernel)
    if pads is None:
        return "padding is not known before the model runs"
    ones = [1] * len(kernel)
    settings: dict[str, Setting] = {
        "kernel": [*kernel],
        "strides": [*read_integers(node, "strides", ones)],
        "pads": [*pads],
        "dilations": [*read_integers(node, "dilations", ones)],
        "group": read_integer(node, "group", 1),
    }
    bias = node.input(2)
    can_shift = not bias or scope.constant(bias) is not None
    product = Product(0, len(kernel) + 1, extents[0], is_constant, can_shift)
    return [Call("conv", (x.name, weight.name, bias, ""), result, settings, NO_EPILOGUE, product, node.origin)]


def open_matmul(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a MatMul, with the attributes of Gemm that `lowering.prologue` may give it, or why there is none."""
    if reason := refuse_operands(workspace, *node.operands, *node.results):
        return reason
    scope = workspace.scope
    shapes = [scope.shape(name) for name in (*node.inputs, node.outputs[0])]
    if any(shape is None or not 2 <= len(shape) <= MAX_RANK for shape in shapes):
        return "matrix product of vectors, or of more than 8 axes"
    result = scope.value(node.outputs[0])
    return [_product_call(node, workspace, ("", ""), result)]


def open_gemm(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of a Gemm: the product, and an addition where C is neither a bias nor a whole addend."""
    if reason := refuse_operands(workspace, *node.operands, *node.results):
        return reason
    scope = workspace.scope
    result = scope.value(node.outputs[0])
    if result.shape is None or len(result.shape) != 2:
        return "shapes are not known before the model runs"
    beta = read_float(node, "beta", 1.0)
    addends = _gemm_addends(node, workspace, result.shape, beta)
    direct = result if addends is not None else workspace.add_value(f"{result.name}:product", result)
    product = _product_call(node, workspace, addends or ("", ""), direct)
    if addends is not None:
        return [product]
    return [product, *_add_later(node, workspace, direct, result, beta)]


def refuse_operands(workspace: Workspace, *names: str) -> str:
    """Why no kernel takes these values, "" where one may: the element type, or an unknown shape."""
    types = {workspace.scope.dtype(name) for name in names}
    if None in types or len(types) != 1 or not types <= set(workspace.kernel_types):
        return "element type " + ", ".join(sorted(dtype.value if dtype else "unknown" for dtype in types))
    if any(workspace.scope.shape(name) is None for name in names):
        return "shapes are not known before the model runs"
    return ""


def _product_call(node: Node, workspace: Workspace, addends: tuple[str, str], result: Value) -> Call:
    trans_b = bool(read_integer(node, "transB", 0))
    settings: dict[str, Setting] = {
        "trans_a": bool(read_integer(node, "transA", 0)),
        "trans_b": trans_b,
        "scale": read_float(node, "alpha", 1.0),
        "packed": False,
    }
    bias, residual = addends
    operands = (node.input(0), node.input(1), bias, residual)
    weight = workspace.scope.constant(node.input(1))
    channels = result.shape[-1] if result.shape else None
    product = None
    if isinstance(channels, int) and not residual:
        can_scale = weight is not None and weight.ndim == 2
        can_shift = not bias or workspace.scope.constant(bias) is not None
        product = Product(0 if trans_b else 1, 1, channels, can_scale, can_shift)
    return Call("matmul", operands, result, settings, NO_EPILOGUE, product, node.origin)


def _gemm_addends(node: Node, workspace: Workspace, shape: Shape, beta: float) -> tuple[str, str] | None:
    """Bias and residual that hold `beta * C`, None where C must be added afterwards."""
    scope = workspace.scope
    addend = node.input(2)
    if not addend:
        return "", ""
    rows, columns = shape
    array = scope.constant(addend)
    if array is None:
        if beta == 1 and scope.shape(addend) == (columns,):
            return addend, ""
        return ("", addend) if beta == 1 and scope.shape(addend) == shape else None
    if isinstance(columns, int) and read_channels(scope, addend, 2, 1, columns) is not None:
        if beta == 1 and array.shape == (columns,):
            return addend, ""
        extent: tuple[int, ...] = (columns,)
    elif isinstance(columns, int) and isinstance(rows, int):
        if beta == 1 and array.shape == shape:
            return "", addend
        extent = (rows, columns)
    else:
        return None
    wide = array.astype(np.float64)
    folded = gemm_addend.fold_gemm_addend(wide.reshape(-1) if len(extent) == 1 else wide, beta, extent)
    name = workspace.add_constant(f"{addend}:folded", folded.astype(array.dtype))
    return (name, "") if len(extent) == 1 else ("", name)


def _add_later(node: Node, workspace: Workspace, product: Value, result: Value, beta: float) -> list[Call]:
    addend = workspace.scope.value(node.input(2))
    calls: list[Call] = []
    if beta != 1:
        dtype = addend.dtype or DType.FLOAT
        factor = workspace.add_constant(f"{node.name}:beta", np.array(beta, dtype.numpy))
        scaled = workspace.add_value(f"{addend.name}:scaled", addend)
        calls.append(Call("binary", (addend.name, factor), scaled, {"op": "Mul"}, NO_EPILOGUE, None, node.origin))
        addend = scaled
    operands = (product.name, addend.name)
    return [*calls, Call("binary", operands, result, {"op": "Add"}, NO_EPILOGUE, None, node.origin)]
