"""Leaves of an ONNX file: types, tensors and attributes of the IR -> protobuf."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import AttributeProto, GraphProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto, numpy_helper

from autofusion.ir import Attribute, Graph, Value
from autofusion.ops.element_types import CODES


def write_value(name: str, value: Value) -> ValueInfoProto:
    """Name, element type and shape as far as they are known; symbolic extents as their text."""
    proto = ValueInfoProto(name=name)
    proto.type.CopyFrom(write_type(value))
    return proto


def write_type(value: Value) -> TypeProto:
    """The tensor type of `value`."""
    proto = TypeProto()
    proto.tensor_type.elem_type = TensorProto.UNDEFINED if value.dtype is None else CODES[value.dtype]
    if value.shape is not None:
        extents = [
            TensorShapeProto.Dimension(dim_value=extent)
            if isinstance(extent, int)
            else TensorShapeProto.Dimension(dim_param=str(extent))
            for extent in value.shape
        ]
        proto.tensor_type.shape.CopyFrom(TensorShapeProto(dim=extents))
    return proto


def write_tensor(name: str, array: np.ndarray) -> TensorProto:
    """`array` as a tensor that carries its bytes."""
    return numpy_helper.from_array(np.ascontiguousarray(array) if array.ndim else array, name)


def write_attribute(name: str, value: Attribute, write_graph: Callable[[Graph], GraphProto]) -> AttributeProto:
    """One attribute; `write_graph` writes a control-flow graph."""
    proto = AttributeProto(name=name)
    match value:
        case Graph():
            proto.type = AttributeProto.GRAPH
            proto.g.CopyFrom(write_graph(value))
        case np.ndarray():
            proto.type = AttributeProto.TENSOR
            proto.t.CopyFrom(write_tensor("", value))
        case int():
            proto.type, proto.i = AttributeProto.INT, int(value)
        case float():
            proto.type, proto.f = AttributeProto.FLOAT, value
        case str():
            proto.type, proto.s = AttributeProto.STRING, value.encode()
        case _:
            _write_list(proto, value)
    return proto


def _write_list(proto: AttributeProto, items: tuple[int, ...] | tuple[float, ...] | tuple[str, ...]) -> None:
    # An empty list is one of integers: axes, pads and their like.
    if all(isinstance(item, int) for item in items):
        proto.type = AttributeProto.INTS
        proto.ints.extend(int(item) for item in items)
    elif all(isinstance(item, str) for item in items):
        proto.type = AttributeProto.STRINGS
        proto.strings.extend(str(item).encode() for item in items)
    else:
        proto.type = AttributeProto.FLOATS
        proto.floats.extend(float(item) for item in items)
