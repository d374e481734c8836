"""Rows that make tensors out of shapes and numbers, and those that pass a tensor on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autofusion.ir import Dim, DType, Node, Value
from autofusion.ir.dims import floor_divide, product
from autofusion.ops.bounds import greater
from autofusion.ops.conversion import attribute_to_input, keep_opaque, trim_inputs, with_attributes, without
from autofusion.ops.element_types import DTYPES
from autofusion.ops.faults import BAD_ATTRIBUTE, NOT_EVALUABLE, SHAPES_CONTRADICT, fault
from autofusion.ops.operands import CONTENT_LIMIT, content_of, integer, result, shape_of
from autofusion.ops.precision import optional, required
from autofusion.ops.table import Operator, Scope


def _convert_shape(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """The window of axes counts from the front; an `end` behind the last axis is dropped."""
    rank = scope.value(node.input(0)).rank
    if rank is None:
        return [node]
    start, end, _ = slice(integer(node, "start"), _end(node)).indices(rank)
    kept = {**without(node.attributes, "end"), "start": start}
    return [replace(node, attributes=kept if end == rank else {**kept, "end": end})]


def _window(node: Node, rank: int) -> slice:
    start, end, _ = slice(integer(node, "start"), _end(node)).indices(rank)
    return slice(start, end)


def _end(node: Node) -> int | None:
    return integer(node, "end") if "end" in node.attributes else None


def _infer_shape(node: Node, scope: Scope) -> Sequence[Value]:
    shape = shape_of(node, 0, scope)
    if shape is None:
        return [result()]
    extents = shape[_window(node, len(shape))]
    return [result((len(extents),), content=extents)]


def _evaluate_shape(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    extents = required(operands, 0).shape
    return [np.array(extents[_window(node, len(extents))], np.int64)]


def _infer_size(node: Node, scope: Scope) -> Sequence[Value]:
    shape = shape_of(node, 0, scope)
    return [result((), content=None if shape is None else (product(shape),))]


def _evaluate_size(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    return [np.array(required(operands, 0).size, np.int64)]


def _convert_constant_of_shape(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    return [node if "value" in node.attributes else with_attributes(node, value=np.zeros(1, np.float32))]


def _fill_of(node: Node) -> np.ndarray:
    value = node.attributes.get("value")
    if not isinstance(value, np.ndarray) or value.size != 1:
        raise fault(BAD_ATTRIBUTE, node, "attribute 'value' must be a tensor of one element")
    return value.reshape(())


def _infer_constant_of_shape(node: Node, scope: Scope) -> Sequence[Value]:
    fill = _fill_of(node)
    dtype = DType.of(fill)
    extents = content_of(node.input(0), scope)
    if extents is None:
        return [result(dtype=dtype)]
    for extent in extents:
        if isinstance(extent, int) and extent < 0:
            raise fault(SHAPES_CONTRADICT, node, f"shape holds the extent {extent}")
    content: tuple[Dim, ...] | None = None
    if fill.dtype.kind in "iub" and len(extents) < 2:
        count = extents[0] if extents else 1
        if isinstance(count, int) and count <= CONTENT_LIMIT:
            content = (int(fill),) * count
    return [result(extents, dtype, content)]


def _evaluate_constant_of_shape(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    return [np.full(tuple(int(extent) for extent in required(operands, 0)), _fill_of(node))]


def _infer_range(node: Node, scope: Scope) -> Sequence[Value]:
    """Known bounds of integers give an exact number of elements; constants of any type do too."""
    dtype = scope.value(node.input(0)).dtype
    constants = [scope.constant(name) for name in node.inputs]
    arrays = [array for array in constants if array is not None]
    if len(arrays) == 3 and arrays[0].dtype.kind == "f":
        return [result((_count_steps(*(float(array.reshape(())) for array in arrays)),), dtype)]
    contents = [content_of(name, scope) for name in node.inputs]
    bounds = [content[0] for content in contents if content]
    if len(bounds) < 3:
        return []
    count = _range_extent(bounds[0], bounds[1], bounds[2])
    if count is None:
        return []
    if not isinstance(count, int) or count > CONTENT_LIMIT:
        return [result((count,), dtype)]
    return [result((count,), dtype, [bounds[0] + bounds[2] * step for step in range(count)])]


def _range_extent(start: Dim, limit: Dim, step: Dim) -> Dim | None:
    if not isinstance(step, int) or step == 0:
        return None
    distance = limit - start if step > 0 else start - limit
    count = floor_divide(distance + (abs(step) - 1), abs(step))
    return greater(count, 0)


def _count_steps(start: float, limit: float, step: float) -> int:
    return max(int(np.ceil((limit - start) / step)), 0)


def _evaluate_range(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    first = required(operands, 0)
    start, limit, step = (required(operands, index).reshape(()).item() for index in range(3))
    if first.dtype.kind in "iu":
        return [np.arange(start, limit, step, dtype=first.dtype)]
    count = _count_steps(float(start), float(limit), float(step))
    return [(float(start) + np.arange(count) * float(step)).astype(first.dtype)]


def _infer_identity(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    return [result(x.shape, x.dtype, content_of(x.name, scope))]


def _evaluate_identity(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    return [required(operands, 0)]


def _convert_dropout(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Opset 7 to 11 mean inference; what the mask holds then was not said."""
    if version >= 12:
        return [trim_inputs(node)]
    if any(node.outputs[1:]):
        return keep_opaque(node)
    return [attribute_to_input(node, "ratio", 1, scope, np.float32)]


def _infer_dropout(node: Node, scope: Scope) -> Sequence[Value]:
    shape = shape_of(node, 0, scope)
    return [result(shape), result(shape)]


def _evaluate_dropout(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    x, ratio, training = required(operands, 0), optional(operands, 1), optional(operands, 2)
    if training is not None and training.any() and (ratio is None or ratio.any()):
        raise fault(NOT_EVALUABLE, node, "drops elements at random in training mode", "export the model for inference")
    return [x, np.ones(x.shape, np.bool_)][: len(node.outputs)]


def _infer_eye(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    code = node.attributes.get("dtype")
    return [result(x.shape, DTYPES.get(code) if isinstance(code, int) else x.dtype)]


ROWS = (
    Operator("Shape", 15, convert=_convert_shape, infer=_infer_shape, evaluate=_evaluate_shape),
    Operator("Size", 7, infer=_infer_size, evaluate=_evaluate_size),
    Operator(
        "ConstantOfShape",
        9,
        convert=_convert_constant_of_shape,
        infer=_infer_constant_of_shape,
        evaluate=_evaluate_constant_of_shape,
    ),
    Operator("Range", 11, infer=_infer_range, evaluate=_evaluate_range),
    Operator("Identity", 7, pointwise=True, infer=_infer_identity, evaluate=_evaluate_identity),
    Operator("Dropout", 12, convert=_convert_dropout, infer=_infer_dropout, evaluate=_evaluate_dropout),
    Operator("EyeLike", 9, infer=_infer_eye),
)
