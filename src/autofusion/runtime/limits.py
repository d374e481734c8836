"""Whether a model takes certain extents: the limits of its symbols, and its gears."""

from __future__ import annotations

from collections.abc import Mapping

from autofusion.diagnostics import Diagnostic
from autofusion.errors import InputError
from autofusion.plan import Plan
from autofusion.runtime.shapes import Shape, show_dims, show_shape


def check_dims(plan: Plan, shapes: Mapping[str, Shape], dims: Mapping[str, int]) -> None:
    """Raise InputError where the plan does not take `dims`, which the `shapes` of its inputs gave.

    AF538: it has gears, and none of them has these extents. AF537: an extent lies outside of its limits.
    """
    if plan.gears:
        if all(any(dims.get(name) != extent for name, extent in gear.items()) for gear in plan.gears):
            raise _no_gear(plan, shapes)
        return
    for symbol, (low, high) in plan.limits.items():
        if symbol in dims and not low <= dims[symbol] <= (dims[symbol] if high is None else high):
            raise _outside(plan, symbol, dims[symbol])


def show_limits(low: int, high: int | None) -> str:
    """Limits as messages write them: `1 to 512`, `1 or more`, `512 at most`."""
    if high is None:
        return f"{low} or more"
    return f"{low} to {high}" if low else f"{high} at most"


def _outside(plan: Plan, symbol: str, extent: int) -> InputError:
    places = (
        f"extent {axis} of input {name!r}"
        for name in plan.inputs
        for axis, size in enumerate(plan.buffers[name].shape or ())
        if size == symbol
    )
    place = next(places, f"the extent {symbol!r}")
    text = f"{place} is {extent}, the model takes {show_limits(*plan.limits[symbol])}"
    return InputError(Diagnostic("AF537", text, help="give inputs of other extents"))


def _no_gear(plan: Plan, shapes: Mapping[str, Shape]) -> InputError:
    opened = [name for name in plan.inputs if any(isinstance(size, str) for size in plan.buffers[name].shape or ())]
    given = " and ".join(f"{name!r} of shape {show_shape(shapes[name])}" for name in opened)
    known = "; ".join(show_dims(gear) for gear in plan.gears)
    text = f"no gear of the model fits input {given}"
    return InputError(Diagnostic("AF538", text, help=f"its gears: {known}"))
