"""The numbers that the symbols of a model may be: those that its inputs declare, less those that its tables forbid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.ir import Dim, Expr, Graph, Node
from autofusion.ir.dims import Symbol, symbols
from autofusion.ir.scope import GraphScope
from autofusion.ops.bounds import bounds
from autofusion.ops.broadcast import lift_cuts
from autofusion.ops.operands import integer
from autofusion.passes.affine import read_affine
from autofusion.plan import Limits, evaluate_size

UNLIMITED: Limits = (0, None)

_BROADCASTING = frozenset(
    {
        *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Min", "Max", "Sum", "Mean", "PRelu", "Where"),
        *("And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
    }
)
"""Operators whose operands have one extent along each axis, or 1."""

_Demand = tuple[Dim, int]
"""An extent, and the greatest number that it may be."""


def find_limits(graph: Graph, gears: Sequence[Mapping[str, int]] = ()) -> dict[str, Limits]:
    """The limits of the symbols of the inputs, of those that have any, and of sums and products of them.

    A model that cuts its position table to the length `n` of a text, and adds it to the text's embeddings, has
    extents `min(512, n)` and `n` there, which fit up to 512 only, and one that looks up the rows `past` to `past + n`
    of that table has `past + n` limited.  Where it adds the whole table, `n` is 512, or 1.
    Raises UsageError AF132 where nothing is left of a range, or a gear lies outside.
    """
    limits = _read_declared(graph)
    known = frozenset(limits)
    demands = (demand for demand in _find_demands(graph) if symbols(demand[0]) <= known)
    for extent, most in (told for demand in demands for told in _spell_out(*demand)):
        name = str(extent)
        low, high = limits.get(name, (bounds(extent)[0] or 0, bounds(extent)[1]))
        if high is not None and high <= most:
            continue
        limits[name] = low, most
        beyond = [asked for gear in gears if (asked := evaluate_size(name, gear)) > most]
        if low > most or beyond:
            asked = f"from {low} up" if low > most else str(max(beyond))
            remedy = f"give {name!r} smaller extents: a table of the model ends there"
            message = f"extent {name!r} cannot be {asked}: the model takes {most} at most"
            raise UsageError(Diagnostic("AF132", message, help=remedy))
    return {name: found for name, found in sorted(limits.items()) if found != UNLIMITED}


def _read_declared(graph: Graph) -> dict[str, Limits]:
    extents = (extent for name in graph.inputs for extent in graph.value(name).shape or ())
    alone = (symbol for extent in extents if (symbol := _read_symbol(extent)) is not None)
    return {str(symbol): (symbol.low, symbol.high) for symbol in alone}


def _spell_out(extent: Dim, most: int) -> Iterator[_Demand]:
    """A demand on a sum, without its number, where it has several terms; and what follows for each of its symbols."""
    if not isinstance(extent, Expr):
        return
    added = dict(extent.terms).get((), 0)
    rest = extent - added
    if not isinstance(rest, Expr) or len(rest.terms) > 1:
        yield rest, most - added
    for monomial, factor in extent.terms:
        others = bounds(extent - Expr(((monomial, factor),)))[0] if monomial else None
        if others is not None and len(monomial) == 1 and isinstance(monomial[0], Symbol) and factor > 0:
            yield Expr(((monomial, 1),)), max((most - others) // factor, 0)


def _find_demands(graph: Graph, outer: GraphScope | None = None) -> Iterator[_Demand]:
    """What the nodes of `graph`, those inside of fused ones included, demand of extents."""
    scope = GraphScope(graph, outer)
    for node in graph:
        if node.body is not None:
            yield from _find_demands(node.body, scope)
        if node.domain or node.opaque:
            continue
        if node.op in _BROADCASTING:
            shapes = [scope.value(name).shape or () for name in node.inputs if name]
            for place in range(1, max(map(len, shapes), default=0) + 1):
                yield from _compare_extents([shape[-place] for shape in shapes if len(shape) >= place])
        elif node.op == "Gather":
            yield from _read_lookup(node, scope)


def _compare_extents(extents: Sequence[Dim]) -> Iterator[_Demand]:
    """Demands where operands have these extents along one axis: all are equal, or 1."""
    for extent in extents:
        if isinstance(extent, int) and extent > 1:
            yield from ((other, extent) for other in extents if _read_symbol(other) is not None)
        for lifted, cuts in lift_cuts(extent):
            if cuts and lifted in extents:
                yield from ((held, end) for held, end in cuts if isinstance(end, int) and end > 1)


def _read_lookup(node: Node, scope: GraphScope) -> Iterator[_Demand]:
    """What a Gather whose indices grow along their axes demands, so that the last of them names an element."""
    shape = scope.value(node.inputs[0]).shape
    # Inside of a fused node its operands are inputs; outside they are computed.
    while scope.outer is not None and node.inputs[1] in scope.graph.inputs:
        scope = scope.outer
    indices = read_affine(node.inputs[1], scope)
    if not shape or indices is None or not indices.is_at_least(0):
        return
    end, last = shape[integer(node, "axis") % len(shape)], indices.base + 1
    for extent, step in zip(indices.shape, indices.steps, strict=True):
        last = last + (extent - 1) * step
    high = bounds(last)[1]
    if isinstance(end, int) and isinstance(last, Expr) and (high is None or high > end):
        yield last, end


def _read_symbol(extent: Dim) -> Symbol | None:
    """The symbol that an extent is, if it is nothing else."""
    match extent:
        case Expr(terms=(((Symbol() as symbol,), 1),)):
            return symbol
        case _:
            return None
