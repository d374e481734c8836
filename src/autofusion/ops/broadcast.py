"""Broadcasting of symbolic shapes.

Two extents which may differ give `max(a, b)`: broadcasting is legal only where they are
equal or one of them is 1, and then the greater one is the result.  (The one exception, 0
against a symbol that turns out to be 1, is left to whoever binds the symbols: it has to
check that each operand's extent is 1 or equals the result's.)
"""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.ir import Dim, Node, Shape
from autofusion.ir.dims import Call, Expr, maximum
from autofusion.ops.faults import SHAPES_CONTRADICT, describe, fault
from autofusion.ops.table import Scope


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


def _is_limited_by(small: Dim, great: Dim) -> bool:
    """True for `min(great, ...)` below `great`, and for `great` = `max(small, ...)`."""
    return great in _members("min", small) or small in _members("max", great)


def _members(function: str, dim: Dim) -> tuple[Dim, ...]:
    """The operands of nested calls of `function`, or `dim` alone."""
    if isinstance(dim, Expr) and len(dim.terms) == 1:
        monomial, factor = dim.terms[0]
        call = monomial[0] if len(monomial) == 1 and factor == 1 else None
        if isinstance(call, Call) and call.function == function:
            return (*_members(function, call.left), *_members(function, call.right))
    return (dim,)
