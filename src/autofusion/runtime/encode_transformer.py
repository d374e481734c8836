"""Attention, norms, rotary embeddings and embeddings as the records of `csrc/record_transformer.h`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from autofusion.plan import ACTIVATIONS, MAX_RESULTS, NORMS
from autofusion.runtime.bound import BoundStep, Shape, broadcast_strides, merge_axes, row_major_strides
from autofusion.runtime.encode_conv import measure_double_block
from autofusion.runtime.records import ELEMENT_TYPES, HALVES, PANEL

Fields = tuple[list[int], list[float]]

KEEP_MODES = ("", "first", "add", "last")

KEY_BLOCK = 512
"""Keys that attention works on at a time (AF_KEY_BLOCK)."""

TILE_MOST = 16
"""Rows that scores are kept for at a time (AF_TILE_MOST)."""

ROWS_MOST = 240
"""Rows that a product packs at a time (ROWS_MOST of `product.c`)."""

PACKED_MOST = ROWS_MOST * 768
"""Elements that it packs at a time (PACKED_MOST there)."""

TABLES = 3
LEADING_AXES = 4

IDS = {"int32": 4, "int64": 8}


def encode_product(bound: BoundStep) -> Fields:
    """The record of a `matmul` step with a packed b."""
    _expect_types(bound, {1: "weight"})
    a, b = bound.shape(bound.operand(0)), bound.shape(bound.operand(1))
    if bound.integer("trans_a") or len(a) < 2 or len(b) != 2 or a[-1] != b[0]:
        raise ValueError(f"its shapes {list(a)} and {list(b)} do not fit")
    widths, gated = list(_part_widths(bound, b[1])), bound.flag("gated")
    results = bound.step.outputs[:1] if gated else bound.step.outputs
    if len(results) != (1 if gated else len(widths)) or sum(widths) != b[1]:
        raise ValueError(f"its widths {widths} do not make {b[1]} columns")
    for name, width in zip(results, widths, strict=False):
        if bound.shape(name) != (*a[:-1], width):
            raise ValueError(f"a result has shape {list(bound.shape(name))}, not {[*a[:-1], width]}")
    _expect_shape(bound, 2, (b[1],))
    _expect_shape(bound, 3, bound.shape(bound.result))
    for place in (4, 5):
        _expect_shape(bound, place, b[:1])
    filled = [*widths, *[0] * (MAX_RESULTS - len(widths))]
    ints = [math.prod(a[:-1]), a[-1], len(widths), *filled, bound.code("activation", ACTIVATIONS)]
    numbers = [bound.number(name) for name in ("scale", "alpha", "beta", "epsilon")]
    return [*ints, bound.code("norm", NORMS), int(gated), bound.weight_type(bound.operand(1))], numbers


def measure_product(bound: BoundStep) -> int:
    """Packed rows, their moments and the second half of a gated block of one thread (`af_product_scratch`)."""
    if bound.floating == "double":
        has_norm = bound.code("norm", NORMS) > 0
        return measure_double_block(bound.shape(bound.operand(1))[0] if has_norm else 0)
    right = 4 * ROWS_MOST * (bound.shape(bound.operand(1))[1] // 2) if bound.flag("gated") else 0
    return 4 * PACKED_MOST + 8 * ROWS_MOST + right


def _part_widths(bound: BoundStep, columns: int) -> tuple[int, ...]:
    if bound.flag("gated"):
        return (columns // 2, columns // 2)
    widths = bound.step.attributes.get("widths")
    return bound.integers("widths", len(widths)) if isinstance(widths, list) and widths else (columns,)


def encode_attention(bound: BoundStep) -> Fields:
    """The record of an `attention` step; raises ValueError where its operands do not fit its extents."""
    _expect_types(bound, {5: "bool"})
    batch, heads, key_heads, queries, keys, size, value_size, past = extents = bound.integers("extents", 8)
    views = [number for name in ("q_view", "k_view", "v_view", "y_view") for number in bound.integers(name, 5)]
    if math.prod(bound.shape(bound.result)) != batch * heads * queries * value_size:
        raise ValueError(f"its result has shape {list(bound.shape(bound.result))}, which its heads do not fill")
    scores = (batch, heads, queries, past + keys)
    terms = [number for place in (3, 4, 5) for number in _encode_term(bound, bound.operand(place), scores)]
    for place, width in ((6, size), (7, value_size)):
        name = bound.operand(place)
        if name and math.prod(bound.shape(name)) != batch * key_heads * past * width:
            raise ValueError(f"its past has shape {list(bound.shape(name))}")
    flags = [bound.code("keep_mode", KEEP_MODES), *(bound.integer(name) for name in ("keep_drops", "causal", "guard"))]
    return [*extents, *views, *terms, *flags], [bound.number("scale"), bound.number("fill"), 0.0, 0.0]


def measure_attention(bound: BoundStep) -> int:
    """Panels, scores and sums of one thread (`af_attention_scratch`)."""
    _, _, _, queries, keys, size, value_size, past = bound.integers("extents", 8)
    if bound.floating == "double":
        padded = _panel_up(past + keys)
        return measure_double_block(padded + size) + 8 * padded * (size + _panel_up(value_size))
    block = _panel_up(min(past + keys, KEY_BLOCK))
    copies, sums = TILE_MOST * _panel_up(size), queries * _panel_up(value_size)
    packed = block * (_panel_up(size) + _panel_up(value_size) + TILE_MOST) + copies + sums + 2 * _panel_up(queries)
    rows = _panel_up(past + keys) + copies + sums + PANEL
    return -(-(4 * max(packed, rows) + 8 * PANEL) // 64) * 64


def encode_norm(bound: BoundStep) -> Fields:
    """The record of a `norm` step."""
    _expect_types(bound, {})
    shape, axes = bound.shape(bound.operand(0)), bound.integer("axes")
    if not 1 <= axes <= len(shape) or bound.shape(bound.result) != shape:
        raise ValueError(f"it takes shape {list(shape)} to {list(bound.shape(bound.result))} over {axes} axes")
    block = shape[len(shape) - axes :]
    for place in (1, 2):
        _expect_shape(bound, place, block)
    _expect_shape(bound, 3, shape)
    rows = [math.prod(shape[: len(shape) - axes]), math.prod(block)]
    return [*rows, bound.code("kind", NORMS)], [0.0, bound.number("epsilon"), 0.0, 0.0]


def encode_group_norm(bound: BoundStep) -> Fields:
    """The record of a `group_norm` step."""
    _expect_types(bound, {})
    x, y, groups = bound.operand(0), bound.result, bound.integer("groups")
    shape = bound.shape(x)
    if len(shape) < 3 or bound.shape(y) != shape or groups < 1 or shape[1] % groups:
        raise ValueError(f"it takes shape {list(shape)} to {list(bound.shape(y))} in {groups} groups")
    for place in (1, 2):
        _expect_shape(bound, place, shape[1:2])
    strides = [bound.strides(name) for name in (x, y)]
    places = [stride[axis] for stride in strides for axis in (0, 1, -1)]
    sizes = [shape[0], groups, shape[1] // groups, math.prod(shape[2:])]
    return [*sizes, *places], [0.0, bound.number("epsilon"), 0.0, 0.0]


def encode_rotary(bound: BoundStep) -> Fields:
    """The record of a `rotary` step."""
    _expect_types(bound, {})
    extents, width = bound.integers("extents", 4), bound.integer("width")
    if math.prod(bound.shape(bound.result)) != math.prod(extents):
        raise ValueError(f"its result has shape {list(bound.shape(bound.result))}, which its heads do not fill")
    tables = [bound.shape(bound.operand(place)) for place in (1, 2)]
    is_half = all(shape and shape[-1] == width // 2 != width for shape in tables)
    angles = (*extents[:3], width // 2 if is_half else width)
    strides = [number for shape in tables for number in broadcast_strides(shape, row_major_strides(shape, 1), angles)]
    views = [*bound.integers("x_view", 5), *bound.integers("y_view", 5)]
    return [*extents, width, bound.integer("interleaved"), int(is_half), *views, *strides], [0.0] * 4


def encode_embedding(bound: BoundStep) -> Fields:
    """The record of an `embedding` step."""
    shape = bound.shape(bound.result)
    *leading, columns = shape
    tables = [_read_table(bound, number, tuple(leading), columns) for number in range(TABLES)]
    tables_and_ids = {2 * number: "weight" for number in range(TABLES)}
    _expect_types(bound, tables_and_ids | {2 * number + 1: "ids" for number in range(TABLES)})
    axes = merge_axes((extent, *(table[2][axis] for table in tables)) for axis, extent in enumerate(leading))
    if len(axes) > LEADING_AXES:
        raise ValueError(f"its result has {len(axes)} leading axes, more than {LEADING_AXES}")
    filled = [(1, *[0] * TABLES)] * (LEADING_AXES - len(axes)) + axes
    ints = [axis[0] for axis in filled] + [columns, bound.code("norm", NORMS)]
    for number, (count, id_size, _, step) in enumerate(tables):
        code = bound.weight_type(bound.operand(2 * number)) if id_size else ELEMENT_TYPES.index(bound.floating)
        ints += [count, id_size, *(axis[1 + number] for axis in filled), step, code]
    for place in (6, 7):
        _expect_shape(bound, place, (columns,))
    return ints, [0.0, bound.number("epsilon"), 0.0, 0.0]


def _read_table(bound: BoundStep, number: int, leading: Shape, columns: int) -> tuple[int, int, list[int], int]:
    """Rows, bytes of an id, strides of the ids or the tensor along the leading axes, step from number to number."""
    table, ids = bound.operand(2 * number), bound.operand(2 * number + 1)
    if not table:
        return 0, 0, [0] * len(leading), 0
    shape = bound.shape(table)
    if not ids:
        strides = broadcast_strides(shape, row_major_strides(shape, 1), (*leading, columns))
        return 0, 0, strides[:-1], strides[-1]
    if len(shape) != 2 or shape[1] != columns:
        raise ValueError(f"its table has shape {list(shape)}, not [..., {columns}]")
    ids_shape = bound.shape(ids)
    strides = broadcast_strides(ids_shape, row_major_strides(ids_shape, 1), leading)
    return shape[0], IDS[bound.buffers[ids].dtype], strides, 1


def _encode_term(bound: BoundStep, name: str, scores: Shape) -> list[int]:
    """How many samples a term of the scores has, and its strides; it repeats from sample to sample."""
    if not name:
        return [1, 0, 0, 0, 0]
    shape = bound.shape(name)
    if len(shape) > 4:
        raise ValueError(f"a term of its scores has shape {list(shape)}")
    period, *rest = (1,) * (4 - len(shape)) + shape
    # Of no samples none is read, whatever comes after them.
    period = period or int(not scores[0])
    if period < 1 or scores[0] % period:
        raise ValueError(f"a term of its scores has {period} samples for {scores[0]}")
    strides = broadcast_strides((period, *rest), row_major_strides((period, *rest), 1), (period, *scores[1:]))
    return [period, *strides]


def _expect_shape(bound: BoundStep, place: int, shape: Shape) -> None:
    name = bound.operand(place)
    if name and bound.shape(name) != shape:
        raise ValueError(f"operand {place} has shape {list(bound.shape(name))}, not {list(shape)}")


def _expect_types(bound: BoundStep, others: Mapping[int, str]) -> None:
    """Everything has the step's floating type but the operands in `others`.

    These are "bool", "ids" for integers, "weight" for what steps on float32 read from halves as well.
    """
    floating = bound.floating
    widened = {floating, *HALVES} if floating == "float" else {floating}
    allowed = {"": {floating}, "bool": {"bool"}, "ids": {*IDS}, "weight": widened}
    for place, name in enumerate((*bound.step.inputs, *bound.step.outputs)):
        if not name:
            continue
        dtype = bound.buffers[name].dtype
        want = others.get(place, "") if place < len(bound.step.inputs) else ""
        if dtype not in allowed[want]:
            raise ValueError(f"it works on elements of type {dtype}")


def _panel_up(count: int) -> int:
    return -(-count // PANEL) * PANEL


ENCODERS: Mapping[str, Callable[[BoundStep], Fields]] = {
    "product": encode_product,
    "attention": encode_attention,
    "norm": encode_norm,
    "group_norm": encode_group_norm,
    "rotary": encode_rotary,
    "embedding": encode_embedding,
}

SCRATCH: Mapping[str, Callable[[BoundStep], int]] = {
    "product": measure_product,
    "attention": measure_attention,
}
