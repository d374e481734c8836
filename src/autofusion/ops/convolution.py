"""Rows of convolutions: Conv, ConvTranspose and their integer forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autofusion.ir import Dim, DType, Node, Shape, Value
from autofusion.ops.conversion import with_attributes
from autofusion.ops.faults import SHAPES_CONTRADICT, WRONG_RANK, describe, fault
from autofusion.ops.operands import integer, integers, require_rank, result, shape_of, text
from autofusion.ops.precision import optional, required, widen_halves
from autofusion.ops.table import Operator, Scope
from autofusion.ops.windows import Windows, extract_windows, make_pads_explicit, read_windows, slide

COLUMN_ELEMENTS = 1 << 22
"""How many elements of windows are laid out side by side at a time."""


def convolve(x: np.ndarray, weight: np.ndarray, windows: Windows, group: int) -> np.ndarray:
    """The convolution [N, M, *out] of x [N, C, *spatial] with weight [M, C/group, *kernel], without bias."""
    rank = len(windows.kernel)
    counts = _count_windows(x.shape[2:], windows)
    views = extract_windows(x, windows, counts, 0)
    if weight.shape[1] == 1 and weight.shape[0] == group:
        return _convolve_depthwise(views, weight, rank)
    result = np.empty((x.shape[0], weight.shape[0], *counts), x.dtype)
    matrices = weight.reshape(group, weight.shape[0] // group, math.prod(weight.shape[1:]))
    cells_first = (0, *range(1 + rank, 1 + 2 * rank), *range(1, 1 + rank))
    rows = max(1, COLUMN_ELEMENTS // max(1, math.prod(weight.shape[1:]) * group * math.prod(counts[1:])))
    for sample, view in enumerate(views):
        for start in range(0, counts[0], rows):
            block = view[:, start : start + rows]
            pixels = math.prod(block.shape[1 : 1 + rank])
            columns = block.transpose(cells_first).reshape(group, matrices.shape[2], pixels)
            products = np.matmul(matrices, columns).reshape(weight.shape[0], *block.shape[1 : 1 + rank])
            result[sample, :, start : start + rows] = products
    return result


def _convolve_depthwise(views: np.ndarray, weight: np.ndarray, rank: int) -> np.ndarray:
    """One filter per channel: the sum over the cells of a window of cell times weight."""
    result = np.zeros(views.shape[: 2 + rank], views.dtype)
    for cell in np.ndindex(*weight.shape[2:]):
        factors = weight[(slice(None), 0, *cell)].reshape(-1, *[1] * rank)
        result += views[(..., *cell)] * factors
    return result


def _count_windows(spatial: Sequence[int], windows: Windows) -> tuple[int, ...]:
    counts: list[int] = []
    for axis, extent in enumerate(spatial):
        room = extent + sum(windows.padding(axis)) - windows.spans[axis]
        counts.append(room // windows.strides[axis] + 1)
    return tuple(counts)


def _kernel_of(node: Node, scope: Scope, weight_index: int) -> tuple[int, ...] | None:
    """Extents of the filter, from the weight or else the attribute; raises ModelError where they differ."""
    declared = integers(node, "kernel_shape")
    weight = shape_of(node, weight_index, scope)
    if weight is None or not all(isinstance(extent, int) for extent in weight[2:]):
        return declared
    kernel = tuple(extent for extent in weight[2:] if isinstance(extent, int))
    if declared is not None and declared != kernel:
        name = describe(scope.value(node.input(weight_index)))
        raise fault(SHAPES_CONTRADICT, node, f"kernel_shape {list(declared)} differs from weight {name}")
    return kernel


def _convert_conv(weight_index: int):
    def convert(node: Node, version: int, scope: Scope) -> Sequence[Node]:
        kernel = _kernel_of(node, scope, weight_index)
        if kernel is None:
            return [node]
        windows = read_windows(node, kernel)
        filled = with_attributes(node, kernel_shape=kernel, strides=windows.strides, dilations=windows.dilations)
        image = shape_of(node, 0, scope)
        if image is not None and len(image) != len(kernel) + 2:
            return [node]
        return [make_pads_explicit(filled, image[2:] if image else None, windows)]

    return convert


def _infer_conv(weight_index: int, dtype: DType | None = None):
    """Inference with the image at place 0 and the filters at `weight_index`."""

    def infer(node: Node, scope: Scope) -> Sequence[Value]:
        image, weight = shape_of(node, 0, scope), shape_of(node, weight_index, scope)
        _check_conv(node, image, weight, weight_index, scope)
        kernel = _kernel_of(node, scope, weight_index)
        if image is None or weight is None or kernel is None:
            return [result(dtype=dtype)]
        return [result((image[0], weight[0], *_conv_extents(node, image[2:], kernel)), dtype)]

    return infer


def _conv_extents(node: Node, image: Shape, kernel: tuple[int, ...]) -> Shape:
    windows = read_windows(node, kernel)
    explicit = make_pads_explicit(node, image, windows)
    if text(explicit, "auto_pad", "NOTSET") == "NOTSET":
        return slide(node, image, read_windows(explicit, kernel))
    return tuple((extent + (stride - 1)) // stride for extent, stride in zip(image, windows.strides, strict=True))


def _check_conv(node: Node, image: Shape | None, weight: Shape | None, weight_index: int, scope: Scope) -> None:
    require_rank(node, node.input(0), scope, 3)
    if image is None or weight is None:
        return
    x, w = describe(scope.value(node.input(0))), describe(scope.value(node.input(weight_index)))
    if len(image) != len(weight):
        raise fault(WRONG_RANK, node, f"input {x} and weight {w} differ in rank")
    group = integer(node, "group", 1)
    if _differ(image[1], weight[1] * group):
        raise fault(SHAPES_CONTRADICT, node, f"input {x} has not the channels of weight {w} times group {group}")
    if isinstance(weight[0], int) and (group < 1 or weight[0] % group):
        raise fault(SHAPES_CONTRADICT, node, f"group {group} does not divide the filters of weight {w}")
    bias_name = node.input(2) if weight_index == 1 and node.op == "Conv" else ""
    _check_bias(node, bias_name, weight[0], scope)


def _check_bias(node: Node, name: str, channels: Dim, scope: Scope) -> None:
    bias = scope.value(name).shape if name else None
    if bias is None:
        return
    if len(bias) != 1 or _differ(bias[0], channels):
        raise fault(SHAPES_CONTRADICT, node, f"bias {describe(scope.value(name))} must have shape [{channels}]")


def _differ(left: Dim, right: Dim) -> bool:
    return isinstance(left, int) and isinstance(right, int) and left != right


def _evaluate_conv(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, weight, bias = required(operands, 0), required(operands, 1), optional(operands, 2)
    windows = _windows_for(node, x.shape[2:], weight.shape[2:])
    total = convolve(widen_halves(x), widen_halves(weight), windows, integer(node, "group", 1))
    if bias is not None:
        total += widen_halves(bias).reshape(-1, *[1] * len(windows.kernel))
    return [total.astype(x.dtype, copy=False)]


def _windows_for(node: Node, image: Shape, kernel: tuple[int, ...]) -> Windows:
    return read_windows(make_pads_explicit(node, image, read_windows(node, kernel)), kernel)


def _evaluate_integer_conv(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    """Products of eight-bit numbers are exact in float64, and so are their sums."""
    x, weight = required(operands, 0).astype(np.float64), required(operands, 1).astype(np.float64)
    x_zero, weight_zero = optional(operands, 2), optional(operands, 3)
    if x_zero is not None:
        x -= x_zero
    if weight_zero is not None:
        weight -= weight_zero.reshape(-1, *[1] * (weight.ndim - 1)) if weight_zero.ndim else weight_zero
    windows = _windows_for(node, x.shape[2:], weight.shape[2:])
    return [convolve(x, weight, windows, integer(node, "group", 1)).astype(np.int32)]


def _transposed_pads(node: Node, image: Shape | None, windows: Windows) -> Node:
    """`node` with `pads` in place of `auto_pad` and `output_shape`, where they do not depend on a symbol."""
    mode = text(node, "auto_pad", "NOTSET")
    wanted = integers(node, "output_shape")
    explicit = with_attributes(node, auto_pad="NOTSET")
    if wanted is None and mode in ("NOTSET", "VALID"):
        return with_attributes(explicit, pads=windows.pads if mode == "NOTSET" else (0,) * len(windows.pads))
    rank = len(windows.kernel)
    extra = integers(node, "output_padding") or (0,) * rank
    totals: list[int] = []
    missing: list[int] = []
    for axis in range(rank):
        total: Dim = extra[axis] + windows.spans[axis] - windows.strides[axis]
        if wanted is not None:
            if image is None:
                return node
            total = total + image[axis] * windows.strides[axis] - wanted[len(wanted) - rank + axis]
        if not isinstance(total, int):
            return node
        totals.append(max(total, 0))
        missing.append(max(-total, 0))
    small = [total // 2 for total in totals]
    great = [total - half for total, half in zip(totals, small, strict=True)]
    begins, ends = (small, great) if mode == "SAME_UPPER" else (great, small)
    attributes = {name: value for name, value in explicit.attributes.items() if name != "output_shape"}
    if any(missing):
        attributes["output_padding"] = tuple(a + b for a, b in zip(extra, missing, strict=True))
    return replace(explicit, attributes={**attributes, "pads": (*begins, *ends)})


def _convert_transposed(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    kernel = _kernel_of(node, scope, 1)
    if kernel is None:
        return [node]
    windows = read_windows(node, kernel)
    filled = with_attributes(
        node,
        kernel_shape=kernel,
        strides=windows.strides,
        dilations=windows.dilations,
        output_padding=integers(node, "output_padding") or (0,) * len(kernel),
    )
    image = shape_of(node, 0, scope)
    return [_transposed_pads(filled, image[2:] if image else None, windows)]


def _infer_transposed(node: Node, scope: Scope) -> Sequence[Value]:
    require_rank(node, node.input(0), scope, 3)
    image, weight = shape_of(node, 0, scope), shape_of(node, 1, scope)
    kernel = _kernel_of(node, scope, 1)
    if image is None or weight is None or kernel is None:
        return [result()]
    x, w = describe(scope.value(node.input(0))), describe(scope.value(node.input(1)))
    if len(image) != len(weight):
        raise fault(WRONG_RANK, node, f"input {x} and weight {w} differ in rank")
    if _differ(image[1], weight[0]):
        raise fault(SHAPES_CONTRADICT, node, f"input {x} has not the channels of weight {w}")
    group = integer(node, "group", 1)
    if isinstance(weight[0], int) and (group < 1 or weight[0] % group):
        raise fault(SHAPES_CONTRADICT, node, f"group {group} does not divide the channels of weight {w}")
    channels = weight[1] * group
    _check_bias(node, node.input(2), channels, scope)
    return [result((image[0], channels, *_transposed_extents(node, image[2:], kernel)))]


def _transposed_extents(node: Node, image: Shape, kernel: tuple[int, ...]) -> Shape:
    wanted = integers(node, "output_shape")
    if wanted is not None:
        return wanted[len(wanted) - len(kernel) :]
    windows = read_windows(node, kernel)
    explicit = _transposed_pads(node, image, windows)
    if text(explicit, "auto_pad", "NOTSET") != "NOTSET":
        return tuple(extent * stride for extent, stride in zip(image, windows.strides, strict=True))
    windows = read_windows(explicit, kernel)
    extra = integers(node, "output_padding") or (0,) * len(kernel)
    return tuple(
        (extent - 1) * windows.strides[axis] + (extra[axis] + windows.spans[axis] - sum(windows.padding(axis)))
        for axis, extent in enumerate(image)
    )


def _evaluate_transposed(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, weight, bias = required(operands, 0), required(operands, 1), optional(operands, 2)
    kernel = weight.shape[2:]
    windows = read_windows(_transposed_pads(node, x.shape[2:], read_windows(node, kernel)), kernel)
    extents = tuple(int(str(extent)) for extent in _transposed_extents(node, x.shape[2:], kernel))
    total = _scatter_products(widen_halves(x), widen_halves(weight), windows, integer(node, "group", 1), extents)
    if bias is not None:
        total += widen_halves(bias).reshape(-1, *[1] * len(kernel))
    return [total.astype(x.dtype, copy=False)]


def _scatter_products(
    x: np.ndarray, weight: np.ndarray, windows: Windows, group: int, extents: tuple[int, ...]
) -> np.ndarray:
    """Each cell of x [N, C, *spatial] adds its multiple of the filters [C, M/group, *kernel] to [N, M, *extents]."""
    rank, batch, spatial = len(extents), x.shape[0], x.shape[2:]
    channels = weight.shape[1] * group
    reach = [
        max((extent - 1) * stride + span, target + begin)
        for extent, stride, span, target, begin in zip(
            spatial, windows.strides, windows.spans, extents, windows.pads[:rank], strict=True
        )
    ]
    canvas = np.zeros((batch, channels, *reach), x.dtype)
    rows = x.reshape(batch, group, x.shape[1] // group, math.prod(spatial))
    filters = weight.reshape(group, weight.shape[0] // group, *weight.shape[1:])
    for cell in np.ndindex(*weight.shape[2:]):
        matrices = filters[(..., *cell)].swapaxes(1, 2)
        products = np.matmul(matrices, rows).reshape(batch, channels, *spatial)
        places = tuple(
            slice(at * step, at * step + (extent - 1) * stride + 1, stride)
            for at, step, extent, stride in zip(cell, windows.dilations, spatial, windows.strides, strict=True)
        )
        canvas[(slice(None), slice(None), *places)] += products
    begins = windows.pads[:rank]
    inner = tuple(slice(begin, begin + target) for begin, target in zip(begins, extents, strict=True))
    return canvas[(slice(None), slice(None), *inner)]


ROWS = (
    Operator("Conv", 11, convert=_convert_conv(1), infer=_infer_conv(1), evaluate=_evaluate_conv),
    Operator("ConvTranspose", 11, convert=_convert_transposed, infer=_infer_transposed, evaluate=_evaluate_transposed),
    Operator(
        "ConvInteger",
        10,
        convert=_convert_conv(1),
        infer=_infer_conv(1, DType.INT32),
        evaluate=_evaluate_integer_conv,
    ),
    Operator("QLinearConv", 10, convert=_convert_conv(3), infer=_infer_conv(3)),
)
