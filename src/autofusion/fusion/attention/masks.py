"""Masks in the shape in which kernel `attention` takes them."""

from __future__ import annotations

from autofusion.fusion.attention.core import Term
from autofusion.ir import Dim, Shape
from autofusion.ir.dims import multiply
from autofusion.ops.broadcast import broadcast_extents
from autofusion.ops.table import Known


def fit_term(term: Term, scores: Shape, scope: Known) -> Shape | None:
    """The shape, of four extents at most, with which `term` broadcasts to `scores`, [batch, heads, queries, keys].

    An extent of axis 0 that divides the batch repeats.  None where the term widens the scores that it meets, or
    depends on the axes in a way that the kernel cannot say.
    """
    shape = scope.value(term.value).shape
    if shape is None or len(shape) > len(term.scores) or term.scores[-2:] != scores[-2:]:
        return None
    padded = (*(1,) * (len(term.scores) - len(shape)), *shape)
    if not all(map(fits_extent, padded, term.scores)):
        return None
    if term.scores == scores:
        return shape
    leading = _fit_leading(padded[:-2], term.scores[:-2], scores[:2])
    return None if leading is None else (*leading, *padded[-2:])


def fits_extent(extent: Dim, wanted: Dim) -> bool:
    """True where an operand of `extent` cannot widen a result of `wanted` in any run that ONNX allows."""
    if extent in (1, wanted):
        return True
    return not isinstance(extent, int) and broadcast_extents(extent, wanted) == wanted


def _fit_leading(extents: Shape, met: Shape, wanted: Shape) -> tuple[Dim, Dim] | None:
    """`extents`, which broadcast to other axes, `met`, over batch and heads as the kernel has them, `wanted`."""
    batch, heads = wanted
    if len(met) == 1:
        return _deal_one(extents[0], met[0], wanted)
    if len(met) == 3 and met[2] == heads:
        # Axis 0 was split, windows of images for instance: one mask a window repeats for every image.
        first = _join(extents[:2], met[:2], batch)
        return None if first is None else (first, extents[2])
    if len(met) == 2 and heads == 1:
        first = _join(extents, met, batch)
        return None if first is None else (first, 1)
    return None


def _deal_one(extent: Dim, met: Dim, wanted: Shape) -> tuple[Dim, Dim] | None:
    """The extent of an axis that is batch and heads in one."""
    batch, heads = wanted
    if extent == 1:
        return 1, 1
    # An open extent may turn out to be 1, which is no batch of heads.
    return (batch, heads) if extent == met == multiply(batch, heads) else None


def _join(extents: Shape, met: Shape, batch: Dim) -> Dim | None:
    """The extent of the axis that the two of `met` are together."""
    if multiply(met[0], met[1]) != batch:
        return None
    if extents[0] == 1:
        return extents[1]
    return multiply(extents[0], extents[1]) if extents == met else None
