"""Evaluation of the size expressions of a plan."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from autofusion.plan.records import Size


def evaluate_size(size: Size, dims: Mapping[str, int]) -> int:
    """The extent that `size` means under `dims`.

    Knows + - * // % min max over integers and symbols; raises ValueError for anything
    else and KeyError for a symbol that `dims` lacks.
    """
    if isinstance(size, int):
        return size
    try:
        return _evaluate(ast.parse(size, mode="eval").body, dims)
    except SyntaxError as error:
        raise ValueError(f"{size!r} is no size") from error


def evaluate_shape(shape: tuple[Size, ...], dims: Mapping[str, int]) -> tuple[int, ...]:
    """`evaluate_size` of every extent."""
    return tuple(evaluate_size(size, dims) for size in shape)


def size_symbols(size: Size) -> frozenset[str]:
    """Names of the symbols that `size` depends on; raises ValueError for a text that is no size."""
    if isinstance(size, int):
        return frozenset()
    try:
        tree = ast.parse(size, mode="eval").body
        return frozenset(_names(tree))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{size!r:.80} is no size") from error


def _names(node: ast.expr) -> set[str]:
    match node:
        case ast.Constant(value=int()):
            return set()
        case ast.Name(id=name):
            return {name}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _names(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod(), right=right):
            return _names(left) | _names(right)
        case ast.Call(func=ast.Name(id="min" | "max"), args=[left, right], keywords=[]):
            return _names(left) | _names(right)
        case _:
            raise ValueError(f"{ast.unparse(node)!r:.80} is no size")


def _evaluate(node: ast.expr, dims: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            return dims[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, dims)
        case ast.BinOp(left=left, op=operator, right=right):
            return _combine(operator, _evaluate(left, dims), _evaluate(right, dims))
        case ast.Call(func=ast.Name(id="min" | "max" as function), args=[left, right]):
            pair = _evaluate(left, dims), _evaluate(right, dims)
            return min(pair) if function == "min" else max(pair)
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is no size")


def _combine(operator: ast.operator, left: int, right: int) -> int:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv():
            return left // right
        case ast.Mod():
            return left % right
        case _:
            raise ValueError(f"{type(operator).__name__} is no operation on sizes")
