"""Single steps with operands of any type and several results, natively and by their numpy definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions import DEFINITIONS
from autofusion.plan import Buffer, Plan, Step
from autofusion.runtime.encode import encode_plan, scratch_bytes
from autofusion.runtime.native import Context, Native
from autofusion.runtime.records import Place, Space
from runtime.steps import DOUBLE_TOLERANCE, aligned, widen

Shape = tuple[int, ...]
TYPES = {
    "float32": "float",
    "float64": "double",
    **{name: name for name in ("bool", "int32", "int64", "float16", "bfloat16")},
}
UNWRITTEN = -12345.0


def run_step(
    native: Native,
    kernel: str,
    operands: Sequence[np.ndarray | None],
    attributes: Mapping[str, Any],
    shapes: Sequence[Shape],
    threads: int = 1,
) -> list[np.ndarray]:
    """The results, of `shapes`, of one native step; raises IndexError where an operand holds an impossible index."""
    buffers: dict[str, Buffer] = {}
    places: dict[str, Place] = {}
    memory: list[np.ndarray] = []

    def add(name: str, array: np.ndarray) -> str:
        buffers[name] = Buffer(name, TYPES[array.dtype.name], array.shape)
        places[name] = Place(Space.BINDING, 0, array.nbytes, len(memory))
        memory.append(array)
        return name

    is_double = any(array is not None and array.dtype == np.float64 for array in operands)
    inputs = tuple(
        "" if array is None else add(f"x{number}", np.ascontiguousarray(array).copy())
        for number, array in enumerate(operands)
    )
    outputs = tuple(
        add(f"y{number}", np.full(shape, UNWRITTEN, np.float64 if is_double else np.float32))
        for number, shape in enumerate(shapes)
    )
    plan = Plan("native", (), (), (), buffers, (), (Step(kernel, "node", "Op", inputs, outputs, attributes),))
    known = {name: tuple(int(size) for size in buffer.shape or ()) for name, buffer in buffers.items()}
    scratch = scratch_bytes(plan, known, threads)
    records = encode_plan(plan, known, places, Place(Space.ARENA, 0, scratch))
    context = Context(records, aligned(scratch), aligned(64), memory, threads)
    native.check(context)
    if native.run(context, 0, 1) is not None:
        raise IndexError(f"an index of {kernel} is outside of its axis")
    return memory[len(memory) - len(shapes) :]


def assert_as_defined(
    native: Native,
    kernel: str,
    operands: Sequence[np.ndarray | None],
    attributes: Mapping[str, Any],
    shapes: Sequence[Shape],
    threads: int = 3,
) -> None:
    """The native results are the definition's in double precision, NaN and infinities in the same places.

    Steps on doubles, without weights of two bytes, are those as well, and closer.
    """
    _assert_within(native, kernel, operands, attributes, shapes, threads, 3e-6)
    if all(array is None or str(array.dtype) not in ("float16", "bfloat16") for array in operands):
        doubles = [widen(array) for array in operands]
        _assert_within(native, kernel, doubles, attributes, shapes, threads, DOUBLE_TOLERANCE)


def _assert_within(
    native: Native,
    kernel: str,
    operands: Sequence[np.ndarray | None],
    attributes: Mapping[str, Any],
    shapes: Sequence[Shape],
    threads: int,
    tolerance: float,
) -> None:
    wide = [
        array.astype(np.float64) if array is not None and array.dtype == np.float32 else array for array in operands
    ]
    defined = DEFINITIONS[kernel](wide, attributes, shapes[0])
    expected = defined if isinstance(defined, tuple) else (defined,)
    for defined_result, got in zip(
        expected, run_step(native, kernel, operands, attributes, shapes, threads), strict=False
    ):
        want = defined_result.reshape(got.shape)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        finite = np.isfinite(want)
        np.testing.assert_array_equal(got[np.isinf(want)], want[np.isinf(want)])
        scale = max(1.0, float(np.abs(want[finite]).max(initial=0.0)))
        np.testing.assert_allclose(got[finite], want[finite], rtol=0, atol=tolerance * scale)
