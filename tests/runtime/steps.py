"""Single steps through the real library, beside their numpy definitions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autofusion.lowering.packing import pack_conv_weight, pack_matmul_weight
from autofusion.lowering.phases import pack_transposed_weight
from autofusion.ops.definitions import DEFINITIONS
from autofusion.plan import Buffer, Plan, Step
from autofusion.plan.dtypes import element_type
from autofusion.runtime.encode import encode_plan, scratch_bytes
from autofusion.runtime.native import Context, Native
from autofusion.runtime.records import DOUBLE_KERNELS, Place, Space

PLAIN_EPILOGUE: dict[str, Any] = {"activation": "", "alpha": 0.0, "beta": 0.0}
FLOATS = ("float32", "float16", "bfloat16")
DOUBLE_TOLERANCE = 1e-13
UNWRITTEN = np.float32(-12345.678)
GUARD = 64
"""Elements before and after a result that nothing may write."""


@dataclass
class Case:
    """A step with its operands in the model's order of axes; `pitches` by operand, "y" for the result.

    `dtype` is the element type of the result where it is not float32; `further` has the shapes of row-major results
    after the first one.
    """

    kernel: str
    operands: Sequence[np.ndarray | None]
    attributes: Mapping[str, Any]
    shape: tuple[int, ...]
    layouts: Sequence[str] = ()
    pitches: Mapping[int, int] = field(default_factory=dict)
    result_layout: str = ""
    result_pitch: int | None = None
    dtype: str = "float32"
    further: Sequence[tuple[int, ...]] = ()


def has_doubles(case: Case) -> bool:
    """True where the library computes the step with doubles as well."""
    if case.kernel not in DOUBLE_KERNELS or case.dtype != "float32":
        return False
    if case.attributes.get("winograd") or case.attributes.get("narrow"):
        return False
    if case.kernel == "conv" and (len(case.operands) > 4 or case.further):
        return False
    functions = [case.attributes.get("op"), *(entry[0] for entry in case.attributes.get("program", ()))]
    if {"ToFloat16", "ToBfloat16"} & {*functions}:
        return False
    return not any(array is not None and str(array.dtype) in ("float16", "bfloat16") for array in case.operands)


def widen(array: np.ndarray | None) -> np.ndarray | None:
    """Doubles in the place of floats, most of which no float holds."""
    if array is None or array.dtype != np.float32:
        return array
    wide = array.astype(np.float64)
    return wide + np.where(np.abs(wide) > 1e-3, wide * 2.0**-40, 0.0)


def widen_case(case: Case) -> Case:
    """The step on doubles."""
    return replace(case, operands=[widen(array) for array in case.operands], dtype="float64")


def element_name(dtype: np.dtype[Any]) -> str:
    """The plan's name of an element type."""
    return element_type(str(dtype))


def aligned(size: int) -> np.ndarray:
    """Bytes at a multiple of 64."""
    memory = np.zeros(size + 64, np.uint8)
    skip = -memory.ctypes.data % 64
    return memory[skip : skip + size]


def store_pixels(array: np.ndarray, pitch: int | None) -> np.ndarray:
    """The elements in layout nhwc, with NaN between the pixels."""
    channels_last = np.moveaxis(array, 1, -1)
    pitch = channels_last.shape[-1] if pitch is None else pitch
    stored = np.full((*channels_last.shape[:-1], pitch), np.nan, array.dtype)
    stored[..., : channels_last.shape[-1]] = channels_last
    return stored


def pack_operand(case: Case, index: int, array: np.ndarray) -> np.ndarray | None:
    """The panels of an operand that is stored in such, else None."""
    if case.kernel in ("conv", "conv_pool") and index == 1:
        attributes = case.attributes
        return pack_conv_weight(
            array, attributes["group"], attributes.get("winograd", 0), narrow=attributes.get("narrow", False)
        )
    if case.kernel == "conv_depthwise" and index in (1, 3):
        return pack_conv_weight(array, 1 if index == 1 else len(array))
    if case.kernel == "conv_transpose" and index == 1:
        settings = case.attributes
        return pack_transposed_weight(array, settings["group"], settings["strides"], settings["dilations"])
    if index == 1 and case.attributes.get("packed"):
        return pack_matmul_weight(array)
    return None


class Bench:
    """The plan, places and memory of one case."""

    def __init__(self, case: Case, threads: int = 1) -> None:
        self.case = case
        self.threads = threads
        self.buffers: dict[str, Buffer] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.places: dict[str, Place] = {}
        self.bindings: list[np.ndarray] = []
        self.weights = aligned(0)
        names = tuple(self._add_operand(index, array) for index, array in enumerate(case.operands))
        self.further = [self._add_further(f"y{number}", shape) for number, shape in enumerate(case.further)]
        self._add_result()
        results = ("y", *(f"y{number}" for number in range(len(case.further))))
        step = Step(case.kernel, "node", "Op", names, results, case.attributes)
        self.plan = Plan("native", (), ("y",), (), self.buffers, (), (step,))
        scratch = scratch_bytes(self.plan, self.shapes, threads)
        self.arena = aligned(scratch)
        self.records = encode_plan(self.plan, self.shapes, self.places, Place(Space.ARENA, 0, scratch))

    def _layout(self, index: int) -> str:
        return self.case.layouts[index] if index < len(self.case.layouts) else "plain"

    def _add_operand(self, index: int, array: np.ndarray | None) -> str:
        if array is None:
            return ""
        name, pitch = f"x{index}", self.case.pitches.get(index)
        layout = self._layout(index)
        packed = pack_operand(self.case, index, array)
        role = "inner" if packed is None else "constant"
        self.buffers[name] = Buffer(name, element_name(array.dtype), array.shape, role, layout, pitch)
        self.shapes[name] = array.shape
        array = array if packed is None else packed.astype(array.dtype)
        if packed is not None and index == 1:
            self.weights = aligned(array.nbytes)
            self.weights[:] = array.view(np.uint8)
            self.places[name] = Place(Space.WEIGHTS, 0, array.nbytes)
            return name
        stored = np.array(store_pixels(array, pitch) if layout == "nhwc" else array, order="C")
        stored.flags.writeable = False
        self.places[name] = Place(Space.BINDING, 0, stored.nbytes, len(self.bindings))
        self.bindings.append(stored)
        return name

    def _add_further(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        kind = np.dtype(self.case.dtype if self.case.dtype == "float64" else "float32")
        array = np.full(shape, UNWRITTEN, kind)
        self.buffers[name] = Buffer(name, element_name(kind), shape, "output")
        self.shapes[name] = shape
        self.places[name] = Place(Space.BINDING, 0, array.nbytes, len(self.bindings))
        self.bindings.append(array)
        return array

    def _add_result(self) -> None:
        case = self.case
        kind = np.dtype(case.dtype)
        layout = case.result_layout or "plain"
        self.buffers["y"] = Buffer("y", element_name(kind), case.shape, "output", layout, case.result_pitch)
        self.shapes["y"] = case.shape
        self.stored_shape = case.shape
        if case.result_layout == "nhwc":
            pitch = case.shape[1] if case.result_pitch is None else case.result_pitch
            self.stored_shape = (case.shape[0], *case.shape[2:], pitch)
        count = math.prod(self.stored_shape)
        self.unwritten = UNWRITTEN if kind.kind == "f" else kind.type(99 if kind.kind in "iu" else True)
        self.guarded = np.full(count + 2 * GUARD, self.unwritten, kind)
        self.places["y"] = Place(Space.BINDING, 0, kind.itemsize * count, len(self.bindings))
        self.bindings.append(self.guarded[GUARD : GUARD + count])

    def context(self) -> Context:
        """A fresh context on this memory."""
        return Context(self.records, self.arena, self.weights, self.bindings, self.threads)

    def run(self, native: Native) -> np.ndarray:
        """The result in the model's order of axes, after a check that nothing beside it was written."""
        context = self.context()
        native.check(context)
        self.fault = native.run(context, 0, 1)
        unwritten = self.guarded.dtype.type(self.unwritten)
        assert (self.guarded[:GUARD] == unwritten).all()
        assert (self.guarded[len(self.guarded) - GUARD :] == unwritten).all()
        stored = self.bindings[-1].reshape(self.stored_shape)
        if self.case.result_layout != "nhwc":
            return stored
        channels = self.case.shape[1]
        assert (stored[..., channels:] == unwritten).all()
        return np.moveaxis(stored[..., :channels], -1, 1)


def define(case: Case) -> np.ndarray:
    """The first result by the numpy definition, in double precision."""
    return define_all(case)[0]


def define_all(case: Case) -> tuple[np.ndarray, ...]:
    """The results by the numpy definition, in double precision."""
    wide = [
        array.astype(np.float64) if array is not None and str(array.dtype) in FLOATS else array
        for array in case.operands
    ]
    found = DEFINITIONS[case.kernel](wide, case.attributes, case.shape)
    return found if isinstance(found, tuple) else (found,)


def assert_equals(native: Native, case: Case, threads: int = 3) -> None:
    """The native result is the definition's, bit by bit but for those of NaN, and of the same type."""
    actual = Bench(case, threads).run(native)
    expected = DEFINITIONS[case.kernel](case.operands, case.attributes, case.shape)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    if actual.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual[numbers]), np.signbit(expected[numbers]))


def assert_agrees(native: Native, case: Case, threads: int = 3, tolerance: float = 2e-6) -> None:
    """The native result is the definition's, within `tolerance` of the largest element; on doubles it is closer."""
    _assert_within(native, case, threads, tolerance)
    if has_doubles(case):
        _assert_within(native, widen_case(case), threads, DOUBLE_TOLERANCE)


def _assert_within(native: Native, case: Case, threads: int, tolerance: float) -> None:
    bench = Bench(case, threads)
    actual, (expected, *further) = bench.run(native), define_all(case)
    for got, wanted in zip(bench.further, further, strict=False):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * max(1.0, float(np.abs(wanted).max(initial=0))))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(expected), np.isnan(actual))
    np.testing.assert_array_equal(expected[np.isinf(expected)], actual[np.isinf(expected)])
    scale = max(1.0, float(np.abs(expected[finite]).max(initial=0.0)))
    np.testing.assert_allclose(actual[finite], expected[finite], rtol=0, atol=tolerance * scale)
