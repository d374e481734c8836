"""The extents of a plan's symbols, read from the shapes of the inputs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from autofusion.plan import Plan, Size, evaluate_size, size_symbols
from autofusion.runtime.refusals import artifact_error, input_error
from autofusion.runtime.shapes import Shape, show_shape

if TYPE_CHECKING:
    from autofusion.errors import InputError

_SAMPLE = 1009
"""An extent at which no factor of a sensible expression is zero."""


def check_symbols(plan: Plan) -> None:
    """Raise ArtifactError (AF518) unless the inputs tell the extent of every symbol that a run depends on."""
    declared = [size for name in plan.inputs for size in plan.buffers[name].shape or ()]
    known: dict[str, int] = {}
    while found := {name for size in declared if (name := _last_unknown(size, known)) and _factor(size, name, known)}:
        known |= dict.fromkeys(found, _SAMPLE)
    unknown = frozenset[str]().union(*(size_symbols(size) for size in _list_sizes(plan))) - known.keys()
    if unknown:
        raise artifact_error(
            "AF518",
            f"no input's shape tells the extent {min(unknown)!r}",
            help="give that extent a number when the model is compiled",
        )


def _list_sizes(plan: Plan) -> set[Size]:
    """Every expression that a run evaluates."""
    sizes: set[Size] = {
        size for buffer in plan.buffers.values() for size in buffer.shape or () if isinstance(size, str)
    }
    for step in plan.steps:
        if step.kernel == "extents":
            sizes |= {size for size in cast(list[Size], step.attributes["values"]) if isinstance(size, str)}
    return sizes


def read_dims(plan: Plan, shapes: Mapping[str, Shape]) -> dict[str, int]:
    """The extent of every symbol in the inputs' shapes, for given shapes of all inputs.

    A symbol that occurs in expressions alone is solved for where one is linear in it.
    Raises InputError (AF532) where ranks, extents or equal symbols do not fit.
    """
    extents: list[tuple[str, Size, int]] = []
    for name in plan.inputs:
        declared, given = plan.buffers[name].shape or (), shapes[name]
        if len(declared) != len(given):
            raise _misfit(plan, shapes, name)
        extents += [(name, size, extent) for size, extent in zip(declared, given, strict=True)]
    dims, sources = _solve(plan, extents)
    for name, size, extent in extents:
        if isinstance(size, int):
            if size != extent:
                raise _misfit(plan, shapes, name)
        elif dims.get(size) != extent and _evaluate(size, dims) != extent:
            raise _misfit(plan, shapes, name, {symbol: sources[symbol] for symbol in size_symbols(size) & dims.keys()})
    return dims


def _solve(plan: Plan, extents: list[tuple[str, Size, int]]) -> tuple[dict[str, int], dict[str, str]]:
    """What symbols are, and the input that says so: those that stand alone first, then those in expressions."""
    dims: dict[str, int] = {}
    sources: dict[str, str] = {}
    for name, size, extent in extents:
        if size in plan.symbols and size not in dims:
            dims[str(size)], sources[str(size)] = extent, name
    solved = len(dims) < len(plan.symbols)
    while solved:
        solved = False
        for name, size, extent in extents:
            symbol = _last_unknown(size, dims)
            factor = _factor(size, symbol, dims) if symbol else 0
            if symbol is None or not factor:
                continue
            rest = extent - evaluate_size(size, {**dims, symbol: 0})
            if rest % factor == 0 and rest // factor >= 0:
                dims[symbol], sources[symbol], solved = rest // factor, name, True
    return dims, sources


def _last_unknown(size: Size, known: Mapping[str, int]) -> str | None:
    """The symbol of `size` that is not known, if it is the only one."""
    unknown = size_symbols(size) - known.keys()
    return next(iter(unknown)) if len(unknown) == 1 else None


def _factor(size: Size, symbol: str, known: Mapping[str, int]) -> int:
    """What a linear `size` multiplies `symbol` by; 0 where it is not linear in it."""
    try:
        return _linear_factor(ast.parse(str(size), mode="eval").body, symbol, known) or 0
    except ZeroDivisionError:
        return 0


def _linear_factor(node: ast.expr, symbol: str, known: Mapping[str, int]) -> int | None:
    match node:
        case ast.Name(id=name):
            return int(name == symbol)
        case ast.UnaryOp(operand=operand):
            factor = _linear_factor(operand, symbol, known)
            return None if factor is None else -factor
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as operator, right=right):
            factors = _linear_factor(left, symbol, known), _linear_factor(right, symbol, known)
            return _combine_factors(operator, (left, right), factors, known)
        case _:
            return None if symbol in size_symbols(ast.unparse(node)) else 0


def _combine_factors(
    operator: ast.operator,
    operands: tuple[ast.expr, ast.expr],
    factors: tuple[int | None, int | None],
    known: Mapping[str, int],
) -> int | None:
    left, right = factors
    if left is None or right is None:
        return None
    if not isinstance(operator, ast.Mult):
        return left - right if isinstance(operator, ast.Sub) else left + right
    if left and right:
        return None
    if not left and not right:
        return 0
    constant = operands[0] if right else operands[1]
    return (left or right) * evaluate_size(ast.unparse(constant), known)


def _evaluate(size: str, dims: Mapping[str, int]) -> int | None:
    """The extent, or None where the inputs leave a symbol open or divide by zero."""
    try:
        return evaluate_size(size, dims)
    except (KeyError, ZeroDivisionError):
        return None


def _misfit(plan: Plan, shapes: Mapping[str, Shape], name: str, sources: Mapping[str, str] | None = None) -> InputError:
    declared = show_shape(plan.buffers[name].shape or ())
    notes = tuple(
        f"input {source!r} of shape {show_shape(shapes[source])} gives {symbol!r}"
        for symbol, source in sorted((sources or {}).items())
        if source != name
    )
    text = f"input {name!r} has shape {show_shape(shapes[name])}, the model takes {declared}"
    if notes:
        text += f"; {'; '.join(notes)}"
    return input_error("AF532", text, help="give arrays of shapes that fit the model's and one another")
