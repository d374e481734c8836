"""Steps with sliding windows as records: convolutions and pools."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence

from autofusion.plan import ACTIVATIONS
from autofusion.runtime.bound import BoundStep, Shape
from autofusion.runtime.encode_excite import has_means, measure_gate, measure_totals, read_excitation
from autofusion.runtime.records import (
    DEPTH_BLOCK,
    DOUBLE_BLOCK,
    GATHER_CHANNELS,
    PANEL,
    PANEL_BLOCK,
    ROW_BLOCK,
    WINOGRAD_FILTERS,
    WINOGRAD_TILES,
)

Fields = tuple[list[int], list[float]]

GROUP = 2 * PANEL
"""Channels that `conv_depthwise` works on at a time (GROUP of `conv_depthwise.c`)."""

STRIPE_PIXELS = 96
"""Pixels between its convolutions that it computes at a time (STRIPE_PIXELS there)."""

REREAD_BYTES = 384 << 10
"""Bytes of an image that it reads anew for every group (REREAD_BYTES there)."""


CLASS_BYTES = 56
"""Bytes of what `conv_transpose` knows of the phases of an axis (af_axis_class of `transposed.h`)."""

JOINED_FILTERS = 8
"""Filters whose phases it computes side by side (AF_JOINED_FILTERS there)."""

BAND_BYTES = 192 << 10
"""Bytes of lines that `conv_pool` keeps, unless it needs more (BAND_BYTES of `conv_pool.c`)."""


def read_floats(bound: BoundStep, scale: float = 1.0) -> list[float]:
    """The numbers of a record with one epilogue."""
    return [scale, bound.number("alpha"), bound.number("beta"), 0.0]


def _encode_conv(bound: BoundStep) -> Fields:
    bound.expect_floats(others=(1,))
    x, weight, residual, y = bound.operand(0), bound.operand(1), bound.operand(3), bound.result
    x_shape, y_shape = bound.shape(x), bound.shape(y)
    _expect_packed(bound, 1)
    if x_shape[0] != y_shape[0] or (residual and bound.shape(residual) != y_shape):
        raise ValueError("its operands and its result do not fit")
    ints = [
        *(x_shape[0], bound.integer("group"), x_shape[1], y_shape[1]),
        *_window(bound, x_shape[2:], y_shape[2:]),
        *(bound.pitch(x), bound.pitch(y), bound.pitch(residual) if residual else 0),
        bound.code("activation", ACTIVATIONS),
        _read_winograd(bound),
        *read_excitation(bound),
        *(bound.weight_type(weight), int(bound.flag("narrow"))),
    ]
    return ints, read_floats(bound)


def _encode_conv_depthwise(bound: BoundStep) -> Fields:
    """Both convolutions, what lies between them without gaps, and the numbers of the first one's activation."""
    bound.expect_floats(others=(1, 3))
    x, y = bound.operand(0), bound.result
    _expect_packed(bound, 1)
    _expect_packed(bound, 3)
    batch, channels = bound.shape(x)[:2]
    filters = bound.shape(bound.operand(1))[0]
    if bound.shape(y)[:2] != (batch, filters):
        raise ValueError("its operands and its result do not fit")
    inner = _inner_extents(bound)
    first = [batch, 1, channels, filters, *_window(bound, bound.shape(x)[2:], inner), bound.pitch(x), filters]
    second = [batch, filters, filters, filters, *_window(bound, inner, bound.shape(y)[2:], "depth_"), filters]
    numbers = (bound.number("inner_alpha"), bound.number("inner_beta"))
    ints = [
        *(*first, 0, bound.code("inner_activation", ACTIVATIONS), 0, 0, 0, bound.weight_type(bound.operand(1)), 0),
        *(*second, bound.pitch(y), 0, bound.code("activation", ACTIVATIONS), 0, 0, has_means(bound)),
        *(bound.weight_type(bound.operand(3)), 0),
        *struct.unpack("<2q", struct.pack("<2d", *numbers)),
    ]
    return ints, read_floats(bound)


def _encode_conv_transpose(bound: BoundStep) -> Fields:
    x, y = bound.operand(0), bound.result
    _expect_packed(bound, 1)
    spatial, out = bound.shape(x)[2:], bound.shape(y)[2:]
    weight = bound.shape(bound.operand(1))
    if bound.shape(x)[0] != bound.shape(y)[0] or weight[1] * bound.integer("group") != bound.shape(y)[1]:
        raise ValueError("its operands and its result do not fit")
    axes = len(spatial)
    kernel, strides, pads, dilations = (
        bound.integers(name, axes) for name in ("kernel", "strides", "pads", "dilations")
    )
    window = [_three(spatial, 1), _three(out, 1), _three(kernel, 1), _three(strides, 1), _three(pads, 0), [0, 0, 0]]
    ints = [
        *(bound.shape(x)[0], bound.integer("group"), bound.shape(x)[1], bound.shape(y)[1]),
        *(number for numbers in (*window, _three(dilations, 1)) for number in numbers),
        *(bound.pitch(x), bound.pitch(y), 0, bound.code("activation", ACTIVATIONS), 0, 0, 0),
        bound.weight_type(bound.operand(1)),
    ]
    return ints, read_floats(bound)


def _inner_extents(bound: BoundStep) -> Shape:
    """Extents of the image between the two parts of a `conv_depthwise` or `conv_pool`."""
    spatial = bound.shape(bound.operand(0))[2:]
    axes = len(spatial)
    kernel, strides, dilations = (bound.integers(name, axes) for name in ("kernel", "strides", "dilations"))
    pads = bound.integers("pads", 2 * axes)
    if min(strides, default=0) < 1:
        raise ValueError(f"its strides are {list(strides)}")
    rooms = (
        extent + begin + end - (size - 1) * dilation - 1
        for extent, begin, end, size, dilation in zip(spatial, pads[:axes], pads[axes:], kernel, dilations, strict=True)
    )
    return tuple(room // stride + 1 if room >= 0 else 0 for room, stride in zip(rooms, strides, strict=True))


def _expect_packed(bound: BoundStep, place: int) -> None:
    # A step before it may have made the filters of Winograd's tiles.
    if bound.buffers[bound.operand(place)].role != "constant" and not _read_winograd(bound):
        raise ValueError("its weight is no constant, which alone can be packed")


def _read_winograd(bound: BoundStep) -> int:
    return bound.integer("winograd") if "winograd" in bound.step.attributes else 0


def _encode_pool(bound: BoundStep) -> Fields:
    bound.expect_floats()
    x, y = bound.operand(0), bound.result
    if bound.shape(x)[:2] != bound.shape(y)[:2]:
        raise ValueError("its operand and its result do not fit")
    return _pool_fields(bound, bound.shape(x), bound.pitch(x)), read_floats(bound)


def _pool_fields(bound: BoundStep, shape: Shape, pitch: int, prefix: str = "") -> list[int]:
    """The fields of a pool of an image of `shape`, whose pixels lie `pitch` elements apart."""
    is_global = bound.integer(f"{prefix}is_global")
    if is_global:
        spatial = _three(shape[2:], 1)
        # A window has a cell: of an axis without any, one of padding, which does not count.
        kernel, ends = [max(extent, 1) for extent in spatial], [int(extent == 0) for extent in spatial]
        window = [*spatial, 1, 1, 1, *kernel, 1, 1, 1, 0, 0, 0, *ends, 1, 1, 1]
    else:
        window = _window(bound, shape[2:], bound.shape(bound.result)[2:], prefix)
    kind = bound.code(f"{prefix}kind", ("max", "average"))
    include_pad = 0 if is_global else bound.integer(f"{prefix}include_pad")
    return [shape[0], shape[1], *window, pitch, bound.pitch(bound.result), kind, include_pad]


def _encode_conv_pool(bound: BoundStep) -> Fields:
    """The convolution, the pool of its result, which has no gaps, and whether that is of whole images."""
    bound.expect_floats(others=(1,))
    x, y, residual = bound.operand(0), bound.result, bound.operand(3)
    _expect_packed(bound, 1)
    batch, channels = bound.shape(x)[:2]
    filters, inner = bound.shape(y)[1], _inner_extents(bound)
    shape = (batch, filters, *inner)
    if bound.shape(y)[0] != batch or (residual and bound.shape(residual) != shape):
        raise ValueError("its operands and its result do not fit")
    ints = [
        *(batch, bound.integer("group"), channels, filters, *_window(bound, bound.shape(x)[2:], inner)),
        *(bound.pitch(x), filters, bound.pitch(residual) if residual else 0),
        *(bound.code("activation", ACTIVATIONS), _read_winograd(bound), 0, 0, bound.weight_type(bound.operand(1)), 0),
        *(*_pool_fields(bound, shape, filters, "pool_"), bound.integer("pool_is_global")),
    ]
    return ints, read_floats(bound)


def _window(bound: BoundStep, x: Shape, y: Shape, prefix: str = "") -> list[int]:
    """Image, result, kernel, strides, pads and dilations, with 1 for the axes that are not there."""
    axes = len(x)
    if not 1 <= axes <= 3 or len(y) != axes:
        raise ValueError(f"it has {axes} spatial axes, not 1 to 3, and its result {len(y)}")
    pads = bound.integers(f"{prefix}pads", 2 * axes)
    ones, zeros = (1,) * (3 - axes), (0,) * (3 - axes)
    return [
        *(*ones, *x, *ones, *y),
        *(*ones, *bound.integers(f"{prefix}kernel", axes), *ones, *bound.integers(f"{prefix}strides", axes)),
        *(*zeros, *pads[:axes], *zeros, *pads[axes:]),
        *(*ones, *bound.integers(f"{prefix}dilations", axes)),
    ]


def _three(extents: Sequence[int], filler: int) -> list[int]:
    if not 1 <= len(extents) <= 3:
        raise ValueError(f"it has {len(extents)} spatial axes, not 1 to 3")
    return [filler] * (3 - len(extents)) + list(extents)


def _measure_conv(bound: BoundStep) -> int:
    """Windows, sums, widened panels and what a gate scales, of one thread (`af_conv_scratch`)."""
    channels = bound.shape(bound.operand(0))[1]
    if winograd := _read_winograd(bound):
        return _measure_winograd(bound, channels, winograd)
    filters, group = bound.shape(bound.result)[1], bound.integer("group")
    kernel = bound.integers("kernel", len(bound.shape(bound.operand(0))) - 2)
    if group < 1:
        return 0
    if bound.floating == "double":
        return _measure_double_conv(bound, channels, filters, kernel)
    depth, taps = channels // group, math.prod(kernel)
    if bound.flag("narrow") or _is_depthwise(channels, group, filters):
        # Pointers to lines, totals and widened weights (`af_depthwise_scratch`).
        weights = _measure_widened(bound, 1, -(-filters // PANEL), taps * depth)
        return _round_up(8 * math.prod(kernel[:-1])) + measure_totals(bound) + weights
    return _measure_windows(channels, depth, taps) + _measure_panels(bound, depth * taps) + measure_gate(bound)


def _is_depthwise(channels: int, group: int, filters: int) -> bool:
    """True where every group has one input channel (`is_depthwise`)."""
    return channels == group and (group > 1 or filters == 1)


def _measure_panels(bound: BoundStep, depth: int) -> int:
    """Sums and widened panels of a product of this depth."""
    return measure_sums(depth) + _measure_widened(bound, 1, 2, min(depth, 2 * DEPTH_BLOCK))


def _measure_widened(bound: BoundStep, place: int, panels: int, rows: int) -> int:
    """That many panels of a weight as float32, if they are of another type (`widened_bytes`)."""
    return _round_up(4 * panels * rows * PANEL) if bound.weight_type(bound.operand(place)) else 0


def _measure_double_conv(bound: BoundStep, channels: int, filters: int, kernel: Sequence[int]) -> int:
    """Row pointers and copied windows of one thread (`af_conv_double_scratch`)."""
    group, taps = bound.integer("group"), math.prod(kernel)
    if _is_depthwise(channels, group, filters):
        return 0
    is_in_place = taps == 1 and not any(bound.integers("pads", 2 * len(kernel)))
    return measure_double_block(0 if is_in_place else channels // group * taps)


def measure_double_block(depth: int) -> int:
    """Pointers to the rows of a block of doubles, and `depth` numbers of each."""
    return 8 * DOUBLE_BLOCK * (1 + depth)


def _measure_conv_pool(bound: BoundStep) -> int:
    """What the convolution needs, and rows and sums, or lines between it and the pool (`af_conv_pool_scratch`)."""
    channels, filters = bound.shape(bound.operand(0))[1], bound.shape(bound.result)[1]
    winograd = _read_winograd(bound)
    if winograd:
        conv = _measure_winograd(bound, channels, winograd)
    else:
        depth = channels // max(bound.integer("group"), 1)
        taps = math.prod(bound.integers("kernel", len(bound.shape(bound.operand(0))) - 2))
        conv = _measure_windows(channels, depth, taps) + _measure_panels(bound, depth * taps)
    height, width = [1, *_inner_extents(bound)][-2:]
    if bound.integer("pool_is_global"):
        rows = winograd * width if winograd else ROW_BLOCK
        return conv + 4 * (rows + 1) * PANEL_BLOCK * PANEL
    axes = len(bound.shape(bound.result)) - 2
    size, stride, dilation = (
        [1, *bound.integers(f"pool_{name}", axes)][-2] for name in ("kernel", "strides", "dilations")
    )
    line, least = width * filters, (size - 1) * dilation + 1 + 2 * (max(winograd, 1) - 1)
    fitting = BAND_BYTES // 4 // max(line, 1)
    rows = min((fitting - least) // max(stride, 1) + 1 if fitting > least else 1, max(bound.shape(bound.result)[-2], 1))
    return conv + _round_up(4 * min(least + (rows - 1) * stride, height) * line)


def _measure_conv_transpose(bound: BoundStep) -> int:
    """Classes of phases, pointers to lines or windows and sums, a block and a bias (`af_conv_transpose_scratch`)."""
    x, filters = bound.shape(bound.operand(0)), bound.shape(bound.result)[1]
    axes, group = len(x) - 2, bound.integer("group")
    strides, kernel = _three(bound.integers("strides", axes), 1), bound.integers("kernel", axes)
    if group < 1 or min(strides) < 1:
        return 0
    classes = _round_up(CLASS_BYTES * sum(strides))
    if bound.floating == "double":
        return classes
    if _is_depthwise(x[1], group, filters):
        weights = _measure_widened(bound, 1, -(-filters // PANEL), math.prod(kernel))
        return classes + _round_up(8 * math.prod(kernel[:-1])) + weights
    depth, taps = x[1] // group, math.prod(kernel)
    is_dense = group == 1 and not any(dilation > 1 for dilation in bound.integers("dilations", axes))
    overlaps = any(size > stride for size, stride in zip(_three(kernel, 1), strides, strict=True))
    joins = is_dense and (filters <= JOINED_FILTERS or not overlaps)
    block, bias = 4 * ROW_BLOCK * PANEL_BLOCK * PANEL, _round_up(4 * math.prod(strides) * filters) if joins else 0
    return classes + _measure_windows(x[1], depth, taps) + _measure_panels(bound, depth * taps) + block + bias


def _measure_windows(channels: int, depth: int, taps: int) -> int:
    """Row pointers, reaches, a row of zeros and gathered rows (`af_windows_bytes`)."""
    gathers = depth < GATHER_CHANNELS and taps > 1
    copies = _round_up(4 * ROW_BLOCK * depth * taps) if gathers else 0
    return _round_up(8 * ROW_BLOCK * taps) + 16 * ROW_BLOCK + _round_up(4 * channels) + copies


def _measure_conv_depthwise(bound: BoundStep) -> int:
    """Pointers to lines, rings, windows, totals and widened weights of one thread (`af_conv_depthwise_scratch`)."""
    x, y = bound.shape(bound.operand(0)), bound.shape(bound.result)
    axes = len(x) - 2
    taps = math.prod(bound.integers("kernel", axes))
    kernel = bound.integers("depth_kernel", axes)
    height, width = [1, *_inner_extents(bound)][-2:]
    size, stride, dilation = (
        [1, *bound.integers(f"depth_{name}", axes)][-2] for name in ("kernel", "strides", "dilations")
    )
    rows = [1, *y[2:]][-2]
    stripe = min(-(-STRIPE_PIXELS // max(width * stride, 1)), max(rows, 1))
    lines = min((stripe - 1) * stride + (size - 1) * dilation + 1, height)
    groups = -(-y[1] // GROUP)
    rereads = 4 * math.prod(x[2:]) * bound.pitch(bound.operand(0)) <= REREAD_BYTES
    rings = _round_up(4 * (min(groups, 1) if rereads else groups) * lines * width * GROUP)
    panels = -(-y[1] // PANEL)
    weights = _measure_widened(bound, 1, panels, x[1] * taps) + _measure_widened(bound, 3, panels, math.prod(kernel))
    pointers = _round_up(8 * math.prod(kernel[:-1]))
    return pointers + rings + _measure_windows(x[1], x[1], taps) + measure_totals(bound) + weights


def _measure_winograd(bound: BoundStep, channels: int, tile: int) -> int:
    """Row pointers, a row of zeros, tiles and products at every position, widened panels (`af_winograd_scratch`)."""
    steps = [-(-WINOGRAD_TILES * columns // PANEL) | 1 for columns in (channels, WINOGRAD_FILTERS)]
    positions = (tile + 2) ** 2
    tiles = _round_up(8 * WINOGRAD_TILES) + _round_up(4 * channels) + 4 * PANEL * positions * sum(steps)
    return tiles + _measure_widened(bound, 1, 2, channels)


def measure_sums(depth: int) -> int:
    """Sums of the panels under way, if a product of this depth takes several blocks (`af_sums_bytes`)."""
    return 4 * PANEL_BLOCK * ROW_BLOCK * PANEL if depth > DEPTH_BLOCK else 0


def _round_up(size: int) -> int:
    return -(-size // 64) * 64


ENCODERS: Mapping[str, Callable[[BoundStep], Fields]] = {
    "conv": _encode_conv,
    "conv_depthwise": _encode_conv_depthwise,
    "conv_pool": _encode_conv_pool,
    "conv_transpose": _encode_conv_transpose,
    "pool": _encode_pool,
}

SCRATCH: Mapping[str, Callable[[BoundStep], int]] = {
    "conv": _measure_conv,
    "conv_depthwise": _measure_conv_depthwise,
    "conv_pool": _measure_conv_pool,
    "conv_transpose": _measure_conv_transpose,
}
