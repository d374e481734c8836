"""The numbers that the symbols of a model may be: those that its inputs declare, less those that its tables forbid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.ir import Dim, Expr, Graph
from autofusion.ir.dims import Call, Symbol
from autofusion.plan import Limits

UNLIMITED: Limits = (0, None)

_BROADCASTING = frozenset(
    {
        *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Min", "Max", "Sum", "Mean", "PRelu", "Where"),
        *("And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
    }
)
"""Operators whose operands have one extent along each axis, or 1."""


def find_limits(graph: Graph, gears: Sequence[Mapping[str, int]] = ()) -> dict[str, Limits]:
    """The limits of the symbols of the inputs, of those that have any.

    A model that cuts its position table to the length `n` of a text, and adds it to the text's embeddings, has
    extents `min(512, n)` and `n` there, which fit up to 512 only.  Where it adds the whole table, `n` is 512, or 1.
    Raises UsageError AF132 where nothing is left of
    a range, or a gear lies outside.
    """
    limits = _read_declared(graph)
    for name, most in _find_greatest(graph):
        if name not in limits:
            continue
        low, high = limits[name]
        limits[name] = low, most if high is None else min(high, most)
        if low > most or any(gear[name] > most for gear in gears):
            asked = f"from {low} up" if low > most else str(max(gear[name] for gear in gears))
            remedy = f"give {name!r} smaller extents: a table of the model ends there"
            message = f"extent {name!r} cannot be {asked}: the model takes {most} at most"
            raise UsageError(Diagnostic("AF132", message, help=remedy))
    return {name: found for name, found in sorted(limits.items()) if found != UNLIMITED}


def _read_declared(graph: Graph) -> dict[str, Limits]:
    extents = (extent for name in graph.inputs for extent in graph.value(name).shape or ())
    symbols = (symbol for extent in extents if (symbol := _read_symbol(extent)) is not None)
    return {str(symbol): (symbol.low, symbol.high) for symbol in symbols}


def _find_greatest(graph: Graph) -> Iterator[tuple[str, int]]:
    """Symbols that operands of one node limit, with the greatest number that they may be."""
    for node in graph:
        if node.body is not None:
            yield from _find_greatest(node.body)
        if node.domain or node.op not in _BROADCASTING:
            continue
        shapes = [graph.value(name).shape or () for name in node.inputs if name]
        for place in range(1, max(map(len, shapes), default=0) + 1):
            yield from _compare_extents([shape[-place] for shape in shapes if len(shape) >= place])


def _compare_extents(extents: Sequence[Dim]) -> Iterator[tuple[str, int]]:
    """Limits of symbols among the extents that operands have along one axis: all are equal, or 1."""
    alone = [symbol for extent in extents if (symbol := _read_symbol(extent)) is not None]
    for extent in extents:
        if isinstance(extent, int) and extent > 1:
            yield from ((symbol, extent) for symbol in alone)
        cut = _read_cut(extent)
        if cut is not None and cut[0] in alone:
            yield cut


def _read_symbol(extent: Dim) -> Symbol | None:
    """The symbol that an extent is, if it is nothing else."""
    match extent:
        case Expr(terms=(((Symbol() as symbol,), 1),)):
            return symbol
        case _:
            return None


def _read_cut(extent: Dim) -> tuple[Symbol, int] | None:
    """The symbol and the number of an extent `min(number, symbol)`, for a number that does not broadcast."""
    match extent:
        case Expr(terms=(((Call(function="min", left=left, right=right),), 1),)):
            number, other = (left, right) if isinstance(left, int) else (right, left)
            symbol = _read_symbol(other)
            return (symbol, number) if symbol is not None and isinstance(number, int) and number > 1 else None
        case _:
            return None
