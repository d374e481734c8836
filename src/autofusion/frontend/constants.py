"""Constant nodes -> arrays, for all eight ways of giving the value."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto

from autofusion.frontend.attributes import read_attributes
from autofusion.frontend.faults import CONSTANT_NODE, fault
from autofusion.frontend.frames import Frame, RawNode
from autofusion.frontend.storage import Storage
from autofusion.ir import Attribute, Graph

_DTYPES = {
    "value_float": np.dtype(np.float32),
    "value_floats": np.dtype(np.float32),
    "value_int": np.dtype(np.int64),
    "value_ints": np.dtype(np.int64),
    "value_string": np.dtype(np.object_),
    "value_strings": np.dtype(np.object_),
}


def read_constant(raw: RawNode, storage: Storage) -> np.ndarray:
    """The value of a Constant node; raises ModelError unless exactly one attribute gives it and there is one result."""
    attributes = read_attributes(raw, storage, _refuse_graph)
    if len(raw.outputs) != 1 or not raw.outputs[0] or raw.inputs:
        raise fault(CONSTANT_NODE, f"Constant node {raw.label!r} must have one output and no input")
    if len(attributes) != 1:
        names = ", ".join(sorted(attributes)) or "none"
        raise fault(CONSTANT_NODE, f"Constant node {raw.label!r} must have one value, but its attributes are: {names}")
    ((name, value),) = attributes.items()
    array = _read_value(name, value)
    if array is None:
        raise fault(CONSTANT_NODE, f"Constant node {raw.label!r} has no value that can be read in attribute {name!r}")
    array.flags.writeable = False
    return array


def _read_value(name: str, value: Attribute) -> np.ndarray | None:
    if name in ("value", "sparse_value"):
        return value if isinstance(value, np.ndarray) else None
    dtype = _DTYPES.get(name)
    if dtype is None or isinstance(value, np.ndarray | Graph) or isinstance(value, tuple) != name.endswith("s"):
        return None
    items = value if isinstance(value, tuple) else (value,)
    wanted: type | tuple[type, ...] = {"f": (int, float), "i": int, "O": str}[dtype.kind]
    if not all(isinstance(item, wanted) for item in items):
        return None
    array = np.empty(len(items), dtype)
    array[:] = items
    return array if isinstance(value, tuple) else array.reshape(())


def _refuse_graph(proto: GraphProto, frame: Frame, where: str) -> Graph:
    raise fault(CONSTANT_NODE, f"{where} is a graph {proto.name!r}, which is no value")
