"""One plan step, with its shapes and places bound, as the fixed-size record that the C executor walks.

The fields of each kernel are those of `csrc/record.h`, in the same order.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Container, Mapping
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from autofusion.plan import ACTIVATIONS, Buffer, Plan, Step
from autofusion.runtime.bound import BoundStep, Shape, broadcast_strides, merge_axes, row_major_strides
from autofusion.runtime.encode_conv import measure_double_block, measure_sums, read_floats
from autofusion.runtime.record_layout import write_record
from autofusion.runtime.records import (
    BINARY_OPERATORS,
    DEPTH_BLOCK,
    DOUBLE_KERNELS,
    ELEMENT_TYPES,
    KERNEL_CODES,
    MAX_AXES,
    MAX_BATCH_AXES,
    NOWHERE,
    PANEL,
    RECORD,
    ROW_BLOCK,
    UNARY_OPERATORS,
    Place,
    record_kernel,
)
from autofusion.runtime.refusals import artifact_error

if TYPE_CHECKING:
    from autofusion.errors import ArtifactError

_Fields = tuple[list[int], list[float]]
_Encoder = Callable[[BoundStep], _Fields]
_Measure = Callable[[BoundStep], int]


def encode_plan(
    plan: Plan,
    shapes: Mapping[str, Shape],
    places: Mapping[str, Place],
    scratch: Place = NOWHERE,
    *,
    earlier: np.ndarray | None = None,
    same: Container[int] = (),
) -> np.ndarray:
    """The records of all steps in order: an array of `RECORD`, one element per step.

    Args:
        plan: A native plan.
        shapes: The shape of every buffer of a native step, in the model's order of axes.
        places: The place of every such buffer; an alias has the place of the buffer that it names.
        scratch: Memory in the arena that no buffer uses, of at least `scratch_bytes(plan, shapes, threads)`.
        earlier: Records of this plan at other dims.
        same: Numbers of steps whose records are those of `earlier`.

    Raises:
        ArtifactError: A step is not one that the kernel table allows.
    """
    records = np.zeros(len(plan.steps), RECORD) if earlier is None else earlier.copy()
    data = records.view(np.uint8).data
    empty = bytes(RECORD.itemsize)
    for index, step in enumerate(plan.steps):
        if index not in same:
            at = index * RECORD.itemsize
            if earlier is not None:
                data[at : at + RECORD.itemsize] = empty
            _encode_at(data, at, step, plan.buffers, shapes, places, scratch)
    return records


def encode_step(
    step: Step,
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Shape],
    places: Mapping[str, Place],
    scratch: Place = NOWHERE,
) -> np.ndarray:
    """The record of one step, an array of `RECORD` and rank 0; empty for `extents` and `host` steps.

    Raises ArtifactError where the step is not one that the kernel table allows.
    """
    record = np.zeros(1, RECORD)
    _encode_at(record.view(np.uint8).data, 0, step, buffers, shapes, places, scratch)
    return record[0]


def _encode_at(
    data: memoryview,
    at: int,
    step: Step,
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Shape],
    places: Mapping[str, Place],
    scratch: Place,
) -> None:
    """Put the record of `step` to byte `at` of `data`, zeros; a step that the session runs itself has none."""
    kernel = record_kernel(step)
    code = KERNEL_CODES.get(kernel)
    if code is None:
        return
    encode, measure = _find_family(kernel)
    try:
        bound = BoundStep(step, buffers, shapes)
        ints, floats = encode(bound)
        dtype = ELEMENT_TYPES.index(bound.floating) if kernel in DOUBLE_KERNELS else 0
        operands = [places[name] if name else NOWHERE for name in step.inputs]
        results = [places[name] if name else NOWHERE for name in step.outputs]
        write_record(data, at, code, dtype, operands, results, scratch if measure else NOWHERE, ints, floats)
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise _refuse(step, error) from error


def scratch_bytes(plan: Plan, shapes: Mapping[str, Shape], threads: int) -> int:
    """Bytes of scratch memory that the plan's steps need, which run one at a time; 0 where none needs any.

    The memory holds one slice per thread and lies in the arena, at a multiple of 64 bytes.
    Raises ArtifactError like `encode_plan`.
    """
    largest = 0
    for step in plan.steps:
        kernel = record_kernel(step)
        measure = _find_family(kernel)[1] if kernel in KERNEL_CODES else None
        if measure is None:
            continue
        try:
            largest = max(largest, measure(BoundStep(step, plan.buffers, shapes)))
        except (ValueError, IndexError, KeyError, OverflowError) as error:
            raise _refuse(step, error) from error
    return largest * threads


def _refuse(step: Step, error: Exception) -> ArtifactError:
    reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    return artifact_error(
        "AF524",
        f"step {step.node!r} is no valid {step.kernel} step: {reason}",
        help="compile the model again with this version",
    )


@cache
def _find_family(kernel: str) -> tuple[_Encoder, _Measure | None]:
    """What gives the fields of a kernel's record, and the scratch memory of one thread.

    A model has kernels of few families, and does not wait for the others.
    """
    home = _HOMES.get(kernel)
    if home is None:
        return _ENCODERS[kernel], _SCRATCH.get(kernel)
    family = importlib.import_module(f"autofusion.runtime.{home}")
    encoders = cast(Mapping[str, _Encoder], family.ENCODERS)
    return encoders[kernel], cast(Mapping[str, _Measure], family.SCRATCH).get(kernel)


def _encode_matmul(bound: BoundStep) -> _Fields:
    bound.expect_floats()
    a, b, y = bound.operand(0), bound.operand(1), bound.result
    trans_a, trans_b = bound.integer("trans_a"), bound.integer("trans_b")
    batch_a, rows, depth = _split_matrix(bound.shape(a), trans_a)
    extents, height, columns = _split_matrix(bound.shape(y), 0)
    batch_b, *inner = _split_matrix(bound.shape(b), trans_b)
    if height != rows or inner != [depth, columns]:
        raise ValueError(f"its shapes {bound.shape(a)}, {bound.shape(b)} and {bound.shape(y)} do not fit")
    strides_a = broadcast_strides(batch_a, row_major_strides(batch_a, rows * depth), extents)
    strides_b = broadcast_strides(batch_b, row_major_strides(batch_b, depth * columns), extents)
    batch = merge_axes(zip(extents, strides_a, strides_b, strict=True))
    # Matrices of a that lie one after the other and share b are one tall matrix.
    if not trans_a and batch and batch[-1][1:] == (rows * depth, 0):
        rows *= batch.pop()[0]
    ints = [*_fill_axes(batch, MAX_BATCH_AXES, 2), rows, depth, columns, trans_a, trans_b]
    return [*ints, bound.code("activation", ACTIVATIONS)], read_floats(bound, bound.number("scale"))


def _split_matrix(shape: Shape, transposed: int) -> tuple[Shape, int, int]:
    """Batch axes, rows and columns of a stack of matrices."""
    if len(shape) < 2:
        raise ValueError(f"a matrix has shape {list(shape)}")
    rows, columns = shape[-2:]
    return (shape[:-2], columns, rows) if transposed else (shape[:-2], rows, columns)


def _fill_axes(axes: list[tuple[int, ...]], count: int, operands: int) -> list[int]:
    """Extents and then the strides of each operand along `count` axes, the leading ones of extent 1."""
    if len(axes) > count:
        raise ValueError(f"it iterates over {len(axes)} axes, more than {count}")
    filled = [(1, *[0] * operands)] * (count - len(axes)) + axes
    return [value for column in zip(*filled, strict=True) for value in column]


def _encode_affine(bound: BoundStep) -> _Fields:
    bound.expect_floats()
    return [*_read_rows(bound), bound.code("activation", ACTIVATIONS)], read_floats(bound)


def _encode_unary(bound: BoundStep) -> _Fields:
    bound.expect_floats()
    x, y = bound.operand(0), bound.result
    if bound.buffers[x].layout == "plain" == bound.buffers[y].layout:
        total = math.prod(bound.shape(x))
        rows = [1, total, total, total]
    else:
        rows = _read_rows(bound)
    return [*rows, bound.code("op", UNARY_OPERATORS)], read_floats(bound)


def _read_rows(bound: BoundStep) -> list[int]:
    """Number of pixels, channels, and the pitches of operand and result, which have one shape and layout."""
    x, y = bound.operand(0), bound.result
    shape = bound.shape(x)
    if shape != bound.shape(y) or bound.buffers[x].layout != bound.buffers[y].layout:
        raise ValueError("its operand and its result differ in shape or layout")
    return [math.prod(shape[:1] + shape[2:]), shape[1], bound.pitch(x), bound.pitch(y)]


def _encode_binary(bound: BoundStep) -> _Fields:
    bound.expect_floats()
    names = (bound.operand(0), bound.operand(1), bound.result)
    extents = bound.shape(names[2])
    rank = len(extents)
    order = list(range(rank))
    if bound.buffers[names[2]].layout == "nhwc":
        order = [0, *range(2, rank), 1]
    strides = [broadcast_strides(bound.shape(name), bound.strides(name), extents) for name in names]
    axes = merge_axes((extents[axis], *(stride[axis] for stride in strides)) for axis in order)
    return [
        *_fill_axes(axes, MAX_AXES, 3),
        bound.code("op", BINARY_OPERATORS),
        bound.code("activation", ACTIVATIONS),
    ], read_floats(bound)


def _encode_relayout(bound: BoundStep) -> _Fields:
    bound.expect_floats()
    x, y = bound.operand(0), bound.result
    shape = bound.shape(x)
    if shape != bound.shape(y) or len(shape) < 3:
        raise ValueError(f"it takes shape {list(shape)} to {list(bound.shape(y))}; both must be one of at least 3 axes")
    strides = [bound.strides(name) for name in (x, y)]
    ints = [shape[0], shape[1], math.prod(shape[2:])]
    for stride in strides:
        ints += [stride[0], stride[1], stride[-1]]
    return ints, read_floats(bound)


def _encode_copy(bound: BoundStep) -> _Fields:
    types = {bound.buffers[name].dtype for name in (*bound.step.inputs, *bound.step.outputs) if name}
    if len(types) != 1:
        raise ValueError(f"it works on elements of type {', '.join(sorted(types))}")
    return [], read_floats(bound)


def _measure_matmul(bound: BoundStep) -> int:
    """Row pointers, packed panels, transposed rows and sums of one thread (`af_matmul_scratch`)."""
    a = bound.shape(bound.operand(0))
    depth = a[-2] if bound.integer("trans_a") else a[-1]
    if bound.floating == "double":
        return measure_double_block(depth if bound.integer("trans_a") else 0) + 8 * PANEL * depth
    return 8 * ROW_BLOCK + 2 * 4 * DEPTH_BLOCK * PANEL + 4 * ROW_BLOCK * DEPTH_BLOCK + measure_sums(depth)


_ENCODERS: Mapping[str, _Encoder] = {
    "matmul": _encode_matmul,
    "affine": _encode_affine,
    "unary": _encode_unary,
    "binary": _encode_binary,
    "relayout": _encode_relayout,
    "copy": _encode_copy,
}

_SCRATCH: Mapping[str, _Measure] = {"matmul": _measure_matmul}

_HOMES: Mapping[str, str] = {
    **dict.fromkeys(("conv", "conv_depthwise", "conv_pool", "conv_transpose", "pool"), "encode_conv"),
    "excite": "encode_excite",
    **dict.fromkeys(("strided", "concat", "select", "compare", "arithmetic", "convert", "pad"), "encode_data"),
    **dict.fromkeys(("resize", "range", "triangle", "filter"), "encode_data"),
    **dict.fromkeys(("softmax", "reduce", "argument", "cumulate", "rank", "gather"), "encode_lines"),
    **dict.fromkeys(("gather_elements", "gather_blocks", "scatter_elements", "scatter_blocks"), "encode_lines"),
    **dict.fromkeys(("product", "attention", "norm", "group_norm", "rotary", "embedding"), "encode_transformer"),
    "pointwise": "encode_pointwise",
}
"""The modules that have `ENCODERS` and `SCRATCH` of all other kernels."""
