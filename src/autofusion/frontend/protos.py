"""Leaves of an ONNX file: types, tensors and attributes of the IR -> protobuf."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import AttributeProto, GraphProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto, numpy_helper

from autofusion.ir import Attribute, DType, Graph, Value
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


def fill_tensor(proto: TensorProto, name: str, array: np.ndarray) -> None:
    """Write `array` into an empty `proto`."""
    dtype = DType.of(array)
    if dtype in (DType.STRING, DType.INT4, DType.UINT4):
        proto.CopyFrom(numpy_helper.from_array(array, name))
        return
    # In place: a weight would be copied thrice on its way through a proto of its own.
    proto.name, proto.data_type = name, CODES[dtype]
    proto.dims.extend(array.shape)
    proto.raw_data = array.tobytes()


def fill_attribute(
    proto: AttributeProto, name: str, value: Attribute, fill_graph: Callable[[GraphProto, Graph], None]
) -> None:
    """Write one attribute into an empty `proto`; `fill_graph` writes a control-flow graph."""
    proto.name = name
    match value:
        case Graph():
            proto.type = AttributeProto.GRAPH
            fill_graph(proto.g, value)
        case np.ndarray():
            proto.type = AttributeProto.TENSOR
            fill_tensor(proto.t, "", value)
        case int():
            proto.type, proto.i = AttributeProto.INT, int(value)
        case float():
            proto.type, proto.f = AttributeProto.FLOAT, value
        case str():
            proto.type, proto.s = AttributeProto.STRING, value.encode()
        case _:
            _write_list(proto, value)


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
