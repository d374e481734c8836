"""Choices, comparisons, truth values, integer arithmetic and conversions, element by element."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autofusion.ir import DType, Node, Value
from autofusion.lowering.constants import read_integer
from autofusion.lowering.data_types import COMPARED, INTEGERS, MOVED, refuse_shapes, refuse_types
from autofusion.lowering.pointwise import (
    BINARY_OPERATORS,
    activation_call,
    open_activation,
    open_binary,
    open_function,
)
from autofusion.lowering.products import MAX_RANK, refuse_operands
from autofusion.lowering.records import NO_EPILOGUE, Call, Epilogue
from autofusion.lowering.workspace import Workspace
from autofusion.plan.dtypes import ARRAY_NAMES

COMPARISONS = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")

BITWISE = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"}
LOGIC = {"And": "And", "Or": "Or", "Xor": "Xor"}

_TOO_LONG = f"more than {MAX_RANK} axes"


def open_arithmetic(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of an arithmetic operator on two tensors or more, of integers or of floating numbers."""
    if len(node.inputs) > 2:
        return _open_chain(node, workspace)
    dtype = workspace.scope.dtype(node.input(0))
    if dtype not in INTEGERS:
        return open_binary(node, workspace)
    return _combine(node, BINARY_OPERATORS[node.op], INTEGERS, workspace)


def _open_chain(node: Node, workspace: Workspace) -> list[Call] | str:
    """Sum, Max or Min of many tensors of one shape, two at a time."""
    result = workspace.scope.value(node.outputs[0])
    if any(workspace.scope.shape(name) != result.shape for name in node.inputs) or result.shape is None:
        return f"{len(node.inputs)} operands that are broadcast"
    calls: list[Call] = []
    total = node.input(0)
    for index, name in enumerate(node.inputs[1:], start=1):
        is_last = index == len(node.inputs) - 1
        part = result if is_last else workspace.add_value(f"{result.name}:part", result)
        single = Node(node.name, node.op, (total, name), (part.name,), node.attributes, origin=node.origin)
        opened = open_arithmetic(single, workspace)
        if isinstance(opened, str):
            return opened
        calls += opened
        total = part.name
    return calls


def open_power(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of a Pow, whose exponent may be of another type: that is converted first."""
    base, exponent = (workspace.scope.value(name) for name in node.inputs)
    if base.dtype == exponent.dtype or base.dtype not in (DType.FLOAT, DType.DOUBLE):
        return open_arithmetic(node, workspace)
    if reason := refuse_types(workspace, MOVED, exponent.name):
        return reason
    alike = Value(exponent.name, base.dtype, exponent.shape)
    converted = workspace.add_value(f"{node.outputs[0]}:exponent", alike)
    single = replace(node, inputs=(base.name, converted.name))
    opened = open_arithmetic(single, workspace)
    return opened if isinstance(opened, str) else [_convert(exponent.name, converted, node), *opened]


def open_mean(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of a Mean of many tensors of one shape: their sum, and a quotient."""
    result = workspace.scope.value(node.outputs[0])
    if reason := refuse_operands(workspace, *node.inputs, result.name):
        return reason
    total = workspace.add_value(f"{result.name}:sum", result)
    summed = open_arithmetic(replace(node, op="Sum", outputs=(total.name,)), workspace)
    dtype = (result.dtype or DType.FLOAT).numpy
    count = workspace.add_constant(f"{node.name}:count", np.array(len(node.inputs), dtype))
    if isinstance(summed, str):
        return summed
    quotient = Call("binary", (total.name, count), result, {"op": "Div"}, NO_EPILOGUE, absorbed=node.origin)
    return [*summed, quotient]


def open_limits(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Clip; of integers, and where limits are computed, the larger and then the smaller of two."""
    activation = open_activation(node, workspace)
    if not isinstance(activation, str):
        return activation
    result = workspace.scope.value(node.outputs[0])
    given = [(op, name) for op, name in (("Max", node.input(1)), ("Min", node.input(2))) if name]
    if not given or any(workspace.scope.shape(name) not in ((), (1,)) for _, name in given):
        return activation
    calls: list[Call] = []
    x = node.input(0)
    for op, name in given:
        is_last = op == given[-1][0]
        part = result if is_last else workspace.add_value(f"{result.name}:part", result)
        opened = open_arithmetic(replace(node, op=op, inputs=(x, name), outputs=(part.name,)), workspace)
        if isinstance(opened, str):
            return activation
        calls += opened
        x = part.name
    return calls


def open_modulo(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Mod."""
    op = "FMod" if read_integer(node, "fmod", 0) else "Mod"
    return _combine(node, op, INTEGERS | {DType.FLOAT, DType.DOUBLE}, workspace)


def open_bitwise(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a bitwise operator on two tensors."""
    return _combine(node, BITWISE[node.op], INTEGERS, workspace)


def open_logic(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of And, Or or Xor."""
    return _combine(node, LOGIC[node.op], frozenset({DType.BOOL}), workspace)


def _combine(node: Node, op: str, types: frozenset[DType], workspace: Workspace) -> list[Call] | str:
    result = workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, types, *node.inputs, result.name):
        return reason
    if len(result.shape or ()) > MAX_RANK:
        return _TOO_LONG
    return [Call("arithmetic", node.inputs, result, {"op": op}, absorbed=node.origin)]


def open_comparison(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a comparison of two tensors."""
    return _compare(node, node.inputs, node.op, workspace)


def open_not(node: Node, workspace: Workspace) -> list[Call] | str:
    """Not: a comparison with false."""
    if workspace.scope.dtype(node.input(0)) != DType.BOOL:
        return "element type is not bool"
    false = workspace.add_constant(f"{node.name}:false", np.zeros((), np.bool_))
    return _compare(node, (node.input(0), false), "Equal", workspace)


def open_is_nan(node: Node, workspace: Workspace) -> list[Call] | str:
    """IsNaN: what does not equal itself."""
    return _compare(node, (node.input(0), node.input(0)), "NotEqual", workspace)


def open_is_infinite(node: Node, workspace: Workspace) -> list[Call] | str:
    """IsInf of either sign: what has an infinite magnitude."""
    x = workspace.scope.value(node.input(0))
    signs = [read_integer(node, name, 1) for name in ("detect_negative", "detect_positive")]
    if signs != [1, 1] or x.dtype not in (DType.FLOAT, DType.DOUBLE):
        return "one sign alone, or an element type other than float and double"
    magnitude = workspace.add_value(f"{node.outputs[0]}:magnitude", x)
    infinity = workspace.add_constant(f"{node.name}:infinity", np.array(np.inf, x.dtype.numpy))
    compared = _compare(node, (magnitude.name, infinity), "Equal", workspace)
    if isinstance(compared, str):
        return compared
    return [activation_call(x.name, magnitude, Epilogue("Abs"), node.origin), *compared]


def _compare(node: Node, operands: tuple[str, ...], op: str, workspace: Workspace) -> list[Call] | str:
    result = workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, COMPARED, *operands) or refuse_shapes(workspace, result.name):
        return reason
    if len(result.shape or ()) > MAX_RANK:
        return _TOO_LONG
    return [Call("compare", operands, result, {"op": op}, absorbed=node.origin)]


def open_select(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Where."""
    result = workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, MOVED, *node.inputs[1:], result.name):
        return reason
    if reason := refuse_types(workspace, frozenset({DType.BOOL}), node.input(0)):
        return reason
    if len(result.shape or ()) > MAX_RANK:
        return _TOO_LONG
    return [Call("select", node.inputs, result, {}, absorbed=node.origin)]


def open_cast(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Cast or CastLike; an alias where the type stays."""
    x, result = workspace.scope.value(node.input(0)), workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, MOVED, x.name) or refuse_types(workspace, MOVED, result.name):
        return reason
    if x.dtype == result.dtype or result.dtype is None:
        return [Call("alias", (x.name,), result, {}, absorbed=node.origin)]
    return [_convert(x.name, result, node)]


def _convert(x: str, result: Value, node: Node) -> Call:
    to = ARRAY_NAMES[(result.dtype or DType.FLOAT).value]
    return Call("convert", (x,), result, {"to": to}, absorbed=node.origin)


def open_sign_change(node: Node, workspace: Workspace) -> list[Call] | str:
    """Neg and Abs: of integers a difference from 0, and the larger of the two."""
    x = workspace.scope.value(node.input(0))
    if x.dtype not in INTEGERS:
        return open_function(node, workspace)
    result = workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, INTEGERS, x.name, result.name):
        return reason
    zero = workspace.add_constant(f"{node.name}:zero", np.zeros((), x.dtype.numpy))
    negated = result if node.op == "Neg" else workspace.add_value(f"{result.name}:negated", result)
    calls = [Call("arithmetic", (zero, x.name), negated, {"op": "Sub"}, absorbed=node.origin)]
    if node.op == "Abs":
        calls.append(Call("arithmetic", (x.name, negated.name), result, {"op": "Max"}, absorbed=node.origin))
    return calls
