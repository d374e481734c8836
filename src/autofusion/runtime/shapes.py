"""Shapes of a plan's buffers at given dims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from autofusion.plan import Plan, Size, evaluate_size
from autofusion.runtime.refusals import input_error

if TYPE_CHECKING:
    from autofusion.errors import InputError

Shape = tuple[int, ...]


def show_shape(shape: Iterable[Size]) -> str:
    """A shape as messages write it: `[batch, 3]`."""
    return f"[{', '.join(map(str, shape))}]"


def show_dims(dims: Mapping[str, int]) -> str:
    """Extents as messages write them: `batch=1, seq=128`."""
    return ", ".join(f"{symbol}={extent}" for symbol, extent in dims.items())


def bind_shapes(plan: Plan, dims: Mapping[str, int]) -> dict[str, Shape]:
    """The shape of every buffer that has one; raises InputError (AF533) for an impossible extent."""
    known: dict[tuple[Size, ...], Shape] = {}
    shapes: dict[str, Shape] = {}
    for name, buffer in plan.buffers.items():
        declared = buffer.shape
        if declared is None:
            continue
        if declared not in known:
            known[declared] = tuple([_evaluate(size, dims) for size in declared])
            if min(known[declared], default=0) < 0:
                raise refuse_dims(name, declared, dims, "which is no shape")
        shapes[name] = known[declared]
    return shapes


def refuse_dims(name: str, shape: Iterable[Size], dims: Mapping[str, int], reason: str) -> InputError:
    """The error AF533 about value `name`, whose `shape` is impossible under `dims`."""
    given = show_dims(dims) or "any input"
    text = f"the model cannot run with {given}: value {name!r} would have shape {show_shape(shape)}, {reason}"
    return input_error("AF533", text, help="give inputs of other extents")


def _evaluate(size: Size, dims: Mapping[str, int]) -> int:
    """The extent; -1 where it divides by zero."""
    try:
        return evaluate_size(size, dims)
    except ZeroDivisionError:
        return -1
