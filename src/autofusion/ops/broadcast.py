"""Broadcasting of symbolic shapes.

Two extents which may differ give `max(a, b)`: broadcasting is legal only where they are
equal or one of them is 1, and then the greater one is the result.  (The one exception, 0
against a symbol that turns out to be 1, is left to whoever binds the symbols: it has to
check that each operand's extent is 1 or equals the result's.)
"""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.ir import Dim, Node, Shape
from autofusion.ir.dims import Call, Expr, Monomial, maximum
from autofusion.ops.faults import SHAPES_CONTRADICT, describe, fault
from autofusion.ops.table import Scope

Cut = tuple[Dim, Dim]
"""An extent, and what it is held back at."""

_MOST_CHOICES = 8
"""Of an extent with more minima than give so many choices none is looked at."""


def broadcast_extents(left: Dim, right: Dim) -> Dim:
    """The common extent; raises ValueError where two numbers cannot be broadcast."""
    if right in (left, 1):
        return left
    if left == 1:
        return right
    if isinstance(left, int) and isinstance(right, int):
        raise ValueError(f"{left} against {right}")
    if isinstance(left, int):
        return left
    if isinstance(right, int):
        return right
    if _is_limited_by(left, right):
        return right
    if _is_limited_by(right, left):
        return left
    return maximum(left, right)


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """The common shape; raises ValueError where two extents are numbers that cannot be broadcast."""
    rank = max((len(shape) for shape in shapes), default=0)
    total: list[Dim] = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, start=rank - len(shape)):
            total[axis] = broadcast_extents(total[axis], extent)
    return tuple(total)


def broadcast_operands(node: Node, names: Sequence[str], scope: Scope) -> Shape | None:
    """The common shape of values `names`, None where a rank is unknown; raises ModelError on a contradiction."""
    known = [(name, shape) for name in names if (shape := scope.value(name).shape) is not None]
    total: Shape = ()
    for index, (name, shape) in enumerate(known):
        try:
            total = broadcast_shapes([total, shape])
        except ValueError as error:
            others = " and ".join(describe(scope.value(other)) for other, _ in known[:index])
            problem = f"input {describe(scope.value(name))} cannot be broadcast with {others}: {error}"
            raise fault(SHAPES_CONTRADICT, node, problem) from error
    return total if len(known) == len(names) else None


def lift_cuts(dim: Dim) -> tuple[tuple[Dim, tuple[Cut, ...]], ...]:
    """What `dim` is where its minima cut nothing off, and those cuts: one entry for each choice of what they hold back.

    Of a table of 512 rows that is cut from `past` to `past + n` there are `max(0, min(512, past + n) - past)` rows
    left, which lifted is `n`, and the cut `past + n` at 512.
    """
    if isinstance(dim, int):
        return ((dim, ()),)
    found: list[tuple[Dim, tuple[Cut, ...]]] = [(0, ())]
    for monomial, factor in dim.terms:
        choices = _lift_atom(monomial)
        if len(found) * len(choices) > _MOST_CHOICES:
            return ((dim, ()),)
        found = [(total + factor * part, (*cuts, *more)) for total, cuts in found for part, more in choices]
    return tuple(found)


def _lift_atom(monomial: Monomial) -> Sequence[tuple[Dim, tuple[Cut, ...]]]:
    call = monomial[0] if len(monomial) == 1 else None
    if isinstance(call, Call) and call.function == "max" and 0 in (call.left, call.right):
        return lift_cuts(call.left if call.right == 0 else call.right)
    if isinstance(call, Call) and call.function == "min":
        sides = ((call.left, call.right), (call.right, call.left))
        return [(held, ((held, end),)) for held, end in sides if isinstance(held, Expr)]
    return [(Expr(((monomial, 1),)) if monomial else 1, ())]


def _is_limited_by(small: Dim, great: Dim) -> bool:
    """True for `min(great, ...)` below `great`, for `great` = `max(small, ...)`, and where minima make `small` less."""
    return great in _members("min", small) or small in _members("max", great) or _is_cut(small, great)


def _is_cut(small: Dim, great: Dim) -> bool:
    return any(cuts and lifted == great for lifted, cuts in lift_cuts(small))


def _members(function: str, dim: Dim) -> tuple[Dim, ...]:
    """The operands of nested calls of `function`, or `dim` alone."""
    if isinstance(dim, Expr) and len(dim.terms) == 1:
        monomial, factor = dim.terms[0]
        call = monomial[0] if len(monomial) == 1 and factor == 1 else None
        if isinstance(call, Call) and call.function == function:
            return (*_members(function, call.left), *_members(function, call.right))
    return (dim,)
