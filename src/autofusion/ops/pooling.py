"""Rows of pooling over windows and over the whole image."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from autofusion.ir import Node, Shape, Value
from autofusion.ops.conversion import with_attributes
from autofusion.ops.faults import BAD_ATTRIBUTE, WRONG_RANK, describe, fault
from autofusion.ops.operands import integer, integers, require_rank, result, shape_of, text
from autofusion.ops.precision import required, widen_halves
from autofusion.ops.table import Evaluate, Operator, Scope
from autofusion.ops.windows import Windows, extract_windows, make_pads_explicit, read_windows, slide


def _read(node: Node) -> Windows:
    kernel = integers(node, "kernel_shape") or ()
    return read_windows(node, kernel, ceil_mode=integer(node, "ceil_mode") != 0)


def _convert_pool(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    windows = _read(node)
    filled = with_attributes(node, strides=windows.strides, dilations=windows.dilations)
    image = shape_of(node, 0, scope)
    if image is not None and len(image) != len(windows.kernel) + 2:
        return [filled]
    return [make_pads_explicit(filled, image[2:] if image else None, windows)]


def _infer_pool(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    require_rank(node, x.name, scope, 3)
    windows = _read(node)
    if x.shape is None:
        return []
    if len(x.shape) != len(windows.kernel) + 2:
        problem = f"kernel_shape {list(windows.kernel)} does not fit the rank of {describe(x)}"
        raise fault(WRONG_RANK, node, problem)
    if any(pad >= span for axis, span in enumerate(windows.spans) for pad in windows.padding(axis)):
        problem = f"pads {list(windows.pads)} must be smaller than the window {list(windows.spans)}"
        raise fault(BAD_ATTRIBUTE, node, problem)
    shape = (*x.shape[:2], *_pool_extents(node, x.shape[2:]))
    return [result(shape)] * len(node.outputs)


def _pool_extents(node: Node, image: Shape) -> Shape:
    explicit = make_pads_explicit(node, image, _read(node))
    windows = _read(explicit)
    if text(explicit, "auto_pad", "NOTSET") == "NOTSET":
        return slide(node, image, windows)
    return tuple((extent + (stride - 1)) // stride for extent, stride in zip(image, windows.strides, strict=True))


def _prepare(node: Node, x: np.ndarray) -> tuple[Windows, tuple[int, ...]]:
    """Explicit windows and their numbers for an image of concrete extents."""
    windows = _read(make_pads_explicit(node, x.shape[2:], _read(node)))
    return windows, tuple(int(str(count)) for count in slide(node, x.shape[2:], windows))


def _window_axes(windows: Windows) -> tuple[int, ...]:
    return tuple(range(-len(windows.kernel), 0))


def _evaluate_max(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x = required(operands, 0)
    windows, counts = _prepare(node, x)
    least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    views = extract_windows(widen_halves(x), windows, counts, least)
    greatest = views.max(_window_axes(windows)).astype(x.dtype, copy=False)
    if len(node.outputs) == 1:
        return [greatest]
    return [greatest, _find_greatest(node, views, x.shape, windows)]


def _find_greatest(node: Node, views: np.ndarray, shape: tuple[int, ...], windows: Windows) -> np.ndarray:
    """Where in the flattened image the greatest element of each window in `views` [N, C, *counts, *kernel] is."""
    rank = len(windows.kernel)
    outer = views.shape[: 2 + rank]
    greatest = views.reshape(*outer, math.prod(windows.kernel)).argmax(-1)
    places = np.indices(outer)
    found = places[0] * outer[1] + places[1]
    for axis in range(rank) if integer(node, "storage_order") == 0 else reversed(range(rank)):
        cell = greatest // math.prod(windows.kernel[axis + 1 :]) % windows.kernel[axis]
        start = places[2 + axis] * windows.strides[axis] - windows.pads[axis]
        found = found * shape[2 + axis] + start + cell * windows.dilations[axis]
    return np.asarray(found, np.int64)


def _evaluate_average(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x = required(operands, 0)
    windows, counts = _prepare(node, x)
    totals = extract_windows(widen_halves(x), windows, counts, 0).sum(_window_axes(windows))
    counted = np.ones((1, 1, *x.shape[2:]), totals.dtype)
    cells = windows
    if integer(node, "count_include_pad"):
        rank = len(windows.kernel)
        counted = np.pad(counted, [(0, 0), (0, 0), *map(windows.padding, range(rank))], constant_values=1)
        cells = Windows(windows.kernel, windows.strides, windows.dilations, (0,) * (2 * rank), windows.ceil_mode)
    shares = extract_windows(counted, cells, counts, 0).sum(_window_axes(windows))
    return [(totals / shares).astype(x.dtype, copy=False)]


def _evaluate_norm(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x = required(operands, 0)
    windows, counts = _prepare(node, x)
    order = integer(node, "p", 2)
    powers = np.abs(extract_windows(widen_halves(x), windows, counts, 0)) ** order
    return [(powers.sum(_window_axes(windows)) ** (1 / order)).astype(x.dtype, copy=False)]


def _infer_global(node: Node, scope: Scope) -> Sequence[Value]:
    require_rank(node, node.input(0), scope, 2)
    shape = shape_of(node, 0, scope)
    return [] if shape is None else [result((*shape[:2], *[1] * (len(shape) - 2)))]


def _evaluate_global(function: Callable[[Node, np.ndarray, tuple[int, ...]], np.ndarray]) -> Evaluate:
    def evaluate(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        x = required(operands, 0)
        return [function(node, widen_halves(x), tuple(range(2, x.ndim))).astype(x.dtype, copy=False)]

    return evaluate


def _global_norm(node: Node, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    order = integer(node, "p", 2)
    return (np.abs(x) ** order).sum(axes, keepdims=True) ** (1 / order)


def _global_row(name: str, version: int, function: Callable[[Node, np.ndarray, tuple[int, ...]], np.ndarray]):
    return Operator(name, version, infer=_infer_global, evaluate=_evaluate_global(function))


ROWS = (
    Operator("MaxPool", 10, convert=_convert_pool, infer=_infer_pool, evaluate=_evaluate_max),
    Operator("AveragePool", 19, convert=_convert_pool, infer=_infer_pool, evaluate=_evaluate_average),
    Operator("LpPool", 18, convert=_convert_pool, infer=_infer_pool, evaluate=_evaluate_norm),
    _global_row("GlobalAveragePool", 7, lambda node, x, axes: x.mean(axes, keepdims=True)),
    _global_row("GlobalMaxPool", 7, lambda node, x, axes: x.max(axes, keepdims=True)),
    _global_row("GlobalLpPool", 7, _global_norm),
)
