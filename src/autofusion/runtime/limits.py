"""Whether a model takes certain extents: the limits of its symbols, and its gears."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from autofusion.plan import Plan, evaluate_size, size_symbols
from autofusion.runtime.refusals import input_error
from autofusion.runtime.shapes import Shape, show_dims, show_shape

if TYPE_CHECKING:
    from autofusion.errors import InputError


def check_dims(plan: Plan, shapes: Mapping[str, Shape], dims: Mapping[str, int]) -> None:
    """Raise InputError where the plan does not take `dims`, which the `shapes` of its inputs gave.

    AF538: it has gears, and none of them has these extents. AF537: an extent lies outside of its limits.
    """
    if plan.gears:
        if all(any(dims.get(name) != extent for name, extent in gear.items()) for gear in plan.gears):
            raise _no_gear(plan, shapes)
        return
    for size, (low, high) in plan.limits.items():
        extent = evaluate_size(size, dims) if size_symbols(size) <= dims.keys() else low
        if not low <= extent <= (extent if high is None else high):
            raise _outside(plan, size, extent)


def show_limits(low: int, high: int | None) -> str:
    """Limits as messages write them: `1 to 512`, `1 or more`, `512 at most`."""
    if high is None:
        return f"{low} or more"
    return f"{low} to {high}" if low else f"{high} at most"


def _outside(plan: Plan, limited: str, extent: int) -> InputError:
    place = _find_place(plan, limited)
    if not place:
        parts = [f"{name!r} is {found}" for name in sorted(size_symbols(limited)) if (found := _find_place(plan, name))]
        place = f"the extent {limited!r}, where {', '.join(parts)}," if parts else f"the extent {limited!r}"
    text = f"{place} is {extent}, the model takes {show_limits(*plan.limits[limited])}"
    return input_error("AF537", text, help="give inputs of other extents")


def _find_place(plan: Plan, size: str) -> str:
    """The extent of an input that is `size`, as messages name it, or ""."""
    places = (
        f"extent {axis} of input {name!r}"
        for name in plan.inputs
        for axis, extent in enumerate(plan.buffers[name].shape or ())
        if extent == size
    )
    return next(places, "")


def _no_gear(plan: Plan, shapes: Mapping[str, Shape]) -> InputError:
    opened = [name for name in plan.inputs if any(isinstance(size, str) for size in plan.buffers[name].shape or ())]
    given = " and ".join(f"{name!r} of shape {show_shape(shapes[name])}" for name in opened)
    known = "; ".join(show_dims(gear) for gear in plan.gears)
    text = f"no gear of the model fits input {given}"
    return input_error("AF538", text, help=f"its gears: {known}")
