"""How a view says the shape that it gives: by the target of a Reshape, or by axes of extent 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autofusion.ir import Attribute, Dim, Shape
from autofusion.ops.bounds import is_at_least

VIEWS = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators that change the extents and leave the elements in order."""


@dataclass(frozen=True)
class View:
    """A view of a tensor as a node has it: the operator, its second operand, and what that is called."""

    op: str
    numbers: tuple[int, ...]
    attributes: Mapping[str, Attribute]

    @property
    def place(self) -> str:
        """What the second operand holds."""
        return "shape" if self.op == "Reshape" else "axes"


def spell_view(shape: Shape, given: Shape) -> View | None:
    """The view that gives `shape` to a tensor of shape `given`; None where none is certain to.

    That is a Reshape where one can say it, else an Unsqueeze or Squeeze.
    """
    target = spell_target(shape, given)
    if target is not None:
        return View("Reshape", tuple(target), {"allowzero": int(0 in shape)})
    added, removed = _find_units(shape, given), _find_units(given, shape)
    if added is not None:
        return View("Unsqueeze", added, {})
    return View("Squeeze", removed, {}) if removed is not None else None


def _find_units(wide: Shape, narrow: Shape) -> tuple[int, ...] | None:
    """The axes of extent 1 that `wide` has besides those of `narrow`, None where it has more than such."""
    axes: list[int] = []
    place = 0
    for axis, extent in enumerate(wide):
        if place < len(narrow) and extent == narrow[place]:
            place += 1
        elif extent == 1:
            axes.append(axis)
        else:
            return None
    return tuple(axes) if place == len(narrow) else None


def spell_target(shape: Shape, given: Shape) -> Sequence[int] | None:
    """The target by which Reshape gives `shape` to a tensor of shape `given`; None where none is certain to.

    Numbers stand for themselves.  Symbolic extents at the axis where the operand has them are copied (0); one other may
    stay open (-1), if no extent beside it can be 0: nothing would fit then.  A shape that holds a 0 itself
    is to be read with `allowzero`, and has neither.
    """
    spelt = [_spell(extent, axis, given) for axis, extent in enumerate(shape)]
    symbolic = [axis for axis, extent in enumerate(shape) if not isinstance(extent, int)]
    if not symbolic:
        return spelt
    if 0 in shape:
        return None
    if len(symbolic) == 1:
        return [-1 if axis in symbolic else extent for axis, extent in enumerate(spelt)]
    if spelt.count(-1) > 1:
        return None
    if -1 in spelt and not all(is_at_least(extent, 1) for axis, extent in enumerate(shape) if spelt[axis] != -1):
        return None
    return spelt


def _spell(extent: Dim, axis: int, given: Shape) -> int:
    if isinstance(extent, int):
        return extent
    return 0 if axis < len(given) and given[axis] == extent else -1
