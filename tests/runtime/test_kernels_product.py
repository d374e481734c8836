"""Native products with a constant matrix: odd extents, normalized rows, several results, gates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autofusion.errors import ArtifactError
from autofusion.lowering.packing import pack_matmul_weight
from autofusion.ops.definitions import DEFINITIONS
from autofusion.plan import Buffer, Plan, Step
from autofusion.runtime.encode import encode_plan, scratch_bytes
from autofusion.runtime.native import Context, Native
from autofusion.runtime.records import Place, Space
from runtime.steps import DOUBLE_TOLERANCE, PLAIN_EPILOGUE, aligned, element_name, widen


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def run_product(
    native: Native, operands: list[np.ndarray | None], attributes: dict[str, Any], threads: int = 1
) -> list[np.ndarray]:
    """The results of a product with a packed matrix, the second of `operands`."""
    a, b = operands[:2]
    assert a is not None
    assert b is not None
    columns = b.shape[1]
    widths = [columns // 2] * 2 if attributes.get("gated") else attributes.get("widths", [])
    outputs = [columns // 2] if attributes.get("gated") else widths or [columns]
    packed, dtype = pack_matmul_weight(b, widths), element_name(b.dtype)
    weights = aligned(packed.nbytes)
    weights[:] = packed.view(np.uint8)
    buffers = {"b": Buffer("b", dtype, b.shape, "constant")}
    places = {"b": Place(Space.WEIGHTS, 0, packed.nbytes)}
    memory: list[np.ndarray] = []
    inputs: list[str] = []
    arrays = {f"x{place}": array for place, array in enumerate(operands)}
    arrays |= {f"y{part}": np.full((*a.shape[:-1], width), -7, a.dtype) for part, width in enumerate(outputs)}
    for name, array in arrays.items():
        if array is None or name == "x1":
            inputs.append("" if array is None else "b")
            continue
        buffers[name] = Buffer(name, dtype, array.shape)
        places[name] = Place(Space.BINDING, 0, array.nbytes, len(memory))
        memory.append(array)
        if name.startswith("x"):
            inputs.append(name)
    results = tuple(f"y{part}" for part in range(len(outputs)))
    settings = {"trans_a": False, "trans_b": False, "scale": 1.0, "packed": True, **PLAIN_EPILOGUE, **attributes}
    plan = Plan("native", (), (), (), buffers, (), (Step("matmul", "node", "Op", tuple(inputs), results, settings),))
    shapes = {name: tuple(int(size) for size in buffer.shape or ()) for name, buffer in buffers.items()}
    scratch = scratch_bytes(plan, shapes, threads)
    records = encode_plan(plan, shapes, places, Place(Space.ARENA, 0, scratch))
    context = Context(records, aligned(scratch), weights, memory, threads)
    native.check(context)
    native.run(context, 0, 1)
    return memory[len(memory) - len(outputs) :]


def check(native: Native, operands: list[np.ndarray | None], attributes: dict[str, Any]) -> None:
    """The native results are those of the definition in double precision, with one thread and with two.

    Those of doubles are closer.
    """
    check_within(native, operands, attributes, 5e-6)
    check_within(native, [widen(array) for array in operands], attributes, DOUBLE_TOLERANCE)


def check_within(
    native: Native, operands: list[np.ndarray | None], attributes: dict[str, Any], tolerance: float
) -> None:
    a, b = operands[:2]
    assert a is not None
    assert b is not None
    wide = [None if array is None else array.astype(np.float64) for array in operands]
    settings = {"trans_a": False, "trans_b": False, "scale": 1.0, **PLAIN_EPILOGUE, **attributes}
    width = b.shape[1] // (2 if attributes.get("gated") else 1)
    defined = DEFINITIONS["matmul"](wide, settings, (*a.shape[:-1], width))
    expected = defined if isinstance(defined, tuple) else (defined,)
    for threads in (1, 2):
        for want, got in zip(expected, run_product(native, operands, attributes, threads), strict=True):
            np.testing.assert_allclose(
                got, want, rtol=0, atol=tolerance * max(1.0, float(np.abs(want).max(initial=0.0)))
            )


SIZES = [(1, 1, 2), (5, 7, 18), (12, 256, 64), (13, 257, 50), (97, 768, 33), (241, 33, 34), (3, 6000, 66), (0, 5, 4)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("activation", ["", "Relu", "Gelu"])
def test_epilogue(native: Native, size: tuple[int, int, int], activation: str) -> None:
    rows, depth, columns = size
    operands = [draw(rows, depth), draw(depth, columns) / depth**0.5, draw(columns), draw(rows, columns)]
    check(native, operands, {"activation": activation, "scale": 0.5})
    check(native, operands[:2], {"activation": activation})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_normalized_rows(native: Native, size: tuple[int, int, int], norm: str) -> None:
    rows, depth, columns = size
    weight = draw(depth, columns) / depth**0.5
    attributes = {"norm": norm, "epsilon": 1e-3}
    check(native, [draw(rows, depth) + 2, weight], attributes)
    check(native, [draw(rows, depth) + 2, weight, None, None, draw(depth), draw(depth) + 1], attributes)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("parts", [2, 3, 4])
def test_several_results(native: Native, size: tuple[int, int, int], parts: int) -> None:
    rows, depth, _ = size
    widths = [7, 16, 33, 1][:parts]
    operands = [draw(rows, depth), draw(depth, sum(widths)) / depth**0.5, draw(sum(widths)), None, draw(depth)]
    check(native, operands, {"widths": widths, "norm": "rms", "epsilon": 1e-3})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("activation", ["", "SiLU", "Clip"])
def test_gate(native: Native, size: tuple[int, int, int], activation: str) -> None:
    rows, depth = size[:2]
    columns = size[2] // 2 * 2
    operands: list[np.ndarray | None] = [draw(rows, depth), draw(depth, columns) / depth**0.5, draw(columns)]
    check(native, operands, {"gated": True, "activation": activation, "alpha": 0.5, "beta": 0.7})


def test_rows_of_several_axes(native: Native) -> None:
    check(native, [draw(2, 3, 5), draw(5, 20), None, draw(2, 3, 20)], {})


@pytest.mark.parametrize(
    ("operands", "attributes"),
    [
        ([draw(3, 4), draw(5, 6)], {}),
        ([draw(3, 4), draw(4, 6), draw(5)], {}),
        ([draw(3, 4), draw(4, 6), None, draw(3, 5)], {}),
        ([draw(3, 4), draw(4, 6), None, None, draw(3)], {"norm": "rms", "epsilon": 0.0}),
        ([draw(3, 4), draw(4, 6)], {"widths": [3, 2]}),
        ([draw(4, 3), draw(4, 6)], {"trans_a": True}),
    ],
)
def test_operands_that_do_not_fit_are_refused(
    native: Native, operands: list[np.ndarray | None], attributes: dict[str, Any]
) -> None:
    with pytest.raises(ArtifactError) as caught:
        run_product(native, operands, attributes)
    assert caught.value.diagnostic.code == "AF524"
