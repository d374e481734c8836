"""When a constant of a model is the number that a pattern means."""

from __future__ import annotations

import math

import numpy as np

SHORTENED: tuple[tuple[float, tuple[float, ...]], ...] = (
    (math.sqrt(2.0), (1.41421, 1.4142)),
    (math.sqrt(0.5), (0.7071, 0.70711, 0.707107)),
    (math.sqrt(2.0 / math.pi), (0.7978846, 0.797885, 0.79788)),
    (0.044715, (0.044714998,)),
    (1.0 / 6.0, (0.16666667,)),
)
"""Numbers and the shortened spellings of them that exporters are known to write."""

_TOLERANCE = {"float64": 1e-14, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}


def is_number(array: np.ndarray, wanted: float) -> bool:
    """True where `array` has one element and it is `wanted`, up to its type's precision or a known shortened spelling.

    Integers must be equal; so must zero.  In float64 a shortened number is another one.
    """
    if array.size != 1 or array.dtype.kind in "OSUbc":
        return False
    found = float(array.reshape(()).astype(np.float64))
    tolerance = _TOLERANCE.get(array.dtype.name, 0.0)
    spellings = (_spell_out(wanted),) if array.dtype == np.float64 else _spellings(wanted)
    return any(math.isclose(found, number, rel_tol=tolerance, abs_tol=0.0) for number in spellings)


def equals(found: object, wanted: object, *, is_double: bool = False) -> bool:
    """True where an attribute has the value that is wanted.

    Numbers with fractions are compared up to float32's precision; those of a node on float64 (`is_double`) up to its.
    """
    if isinstance(found, float) and isinstance(wanted, int | float):
        if is_double:
            return math.isclose(found, _spell_out(wanted), rel_tol=_TOLERANCE["float64"], abs_tol=0.0)
        return math.isclose(found, wanted, rel_tol=1e-6, abs_tol=0.0)
    return found == wanted


def _spell_out(wanted: float) -> float:
    """The number in full that a pattern may have shortened."""
    return next((exact for exact, _ in SHORTENED if math.isclose(wanted, exact, rel_tol=1e-6)), wanted)


def _spellings(wanted: float) -> tuple[float, ...]:
    for exact, short in SHORTENED:
        if any(math.isclose(wanted, number, rel_tol=1e-9) for number in (exact, *short)) or math.isclose(
            wanted, exact, rel_tol=1e-6
        ):
            return (wanted, exact, *short)
    return (wanted,)
