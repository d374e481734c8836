"""Operator attributes of host steps as plain JSON, and back."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from autofusion.plan.dtypes import EXTENSIONS, STORAGE, STRING, decode_strings, encode_strings, storage_type
from autofusion.plan.fields import Fields
from autofusion.plan.nested import NestedGraph, NestedNode, NestedValue
from autofusion.plan.records import Setting

_EXTENSION_NAMES = {
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e5m2": "float8e5m2",
    "int4": "int4",
    "uint4": "uint4",
}
_GRAPH = ("name", "inputs", "outputs", "values", "nodes")
_VALUE = ("dtype", "shape")
_NODE = ("name", "op", "domain", "opset", "inputs", "outputs", "attributes")


def encode_attribute(value: object) -> Setting:
    """A number, text, tuple of either, array or graph as a `Setting`.

    An array becomes `{"tensor": {"dtype", "shape", "data"}}` with its bytes, little-endian and in
    row-major order, in base64; a graph `{"graph": {...}}` with the fields of its records.
    Raises ValueError for anything else.
    """
    if isinstance(value, np.ndarray):
        return {"tensor": _encode_array(cast("np.ndarray[Any, Any]", value))}
    if isinstance(value, NestedGraph):
        return {"graph": _encode_graph(value)}
    if isinstance(value, tuple | list):
        return [encode_attribute(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, str | int | float):
        return value
    raise ValueError(f"{value!r} is no attribute of a host step")


def decode_attribute(value: Setting) -> Any:
    """The inverse of `encode_attribute`; lists come back as tuples.

    An array of a type that numpy lacks needs the package ml_dtypes imported, which names it.
    Raises ValueError for what `encode_attribute` never writes.
    """
    if isinstance(value, list):
        return tuple(decode_attribute(item) for item in value)
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or not value.keys() <= {"tensor", "graph"}:
        raise ValueError(f"{value!r:.80} is no attribute of a host step")
    if "graph" in value:
        return _decode_graph(Fields("graph", value["graph"], _GRAPH))
    return _decode_array(cast(Mapping[str, Any], value["tensor"]))


def _encode_graph(graph: NestedGraph) -> dict[str, Setting]:
    return {
        "name": graph.name,
        "inputs": [*graph.inputs],
        "outputs": [*graph.outputs],
        "values": [
            {"dtype": value.dtype, "shape": None if value.shape is None else [*value.shape]} for value in graph.values
        ],
        "nodes": [_encode_node(node) for node in graph.nodes],
    }


def _encode_node(node: NestedNode) -> dict[str, Setting]:
    return {
        "name": node.name,
        "op": node.op,
        "domain": node.domain,
        "opset": node.opset,
        "inputs": [*node.inputs],
        "outputs": [*node.outputs],
        "attributes": {name: encode_attribute(value) for name, value in node.attributes.items()},
    }


def _decode_graph(fields: Fields) -> NestedGraph:
    return NestedGraph(
        name=fields.text("name"),
        inputs=fields.texts("inputs"),
        outputs=fields.texts("outputs"),
        values=tuple(_decode_value(value) for value in fields.records("values", _VALUE)),
        nodes=tuple(_decode_node(node) for node in fields.records("nodes", _NODE)),
    )


def _decode_value(fields: Fields) -> NestedValue:
    dtype = fields.optional_text("dtype")
    shape = None if fields.fields["shape"] is None else fields.numbers("shape")
    if dtype is not None:
        storage_type(dtype)
    if any(extent < 0 for extent in shape or ()):
        raise ValueError(f"{fields.place}.shape is {list(shape or ())}, which is no shape")
    return NestedValue(dtype, shape)


def _decode_node(fields: Fields) -> NestedNode:
    attributes = cast(Mapping[str, Setting], fields.object("attributes"))
    return NestedNode(
        name=fields.text("name"),
        op=fields.text("op"),
        domain=fields.text("domain"),
        opset=fields.number("opset"),
        inputs=fields.texts("inputs"),
        outputs=fields.texts("outputs"),
        attributes={name: decode_attribute(value) for name, value in attributes.items()},
    )


def _encode_array(array: np.ndarray) -> dict[str, Setting]:
    dtype = _type_name(array.dtype)
    data = encode_strings(array) if dtype == STRING else np.ascontiguousarray(array).tobytes()
    return {"dtype": dtype, "shape": [*array.shape], "data": base64.b64encode(data).decode("ascii")}


def _decode_array(record: Mapping[str, Any]) -> np.ndarray:
    dtype, shape = str(record["dtype"]), tuple(record["shape"])
    data = base64.b64decode(record["data"])
    if dtype == STRING:
        return decode_strings(data, shape)
    array = np.frombuffer(data, STORAGE[dtype]).reshape(shape)
    if dtype not in EXTENSIONS:
        return array
    return array.view(next(name for name, known in _EXTENSION_NAMES.items() if known == dtype))


def _type_name(dtype: np.dtype[Any]) -> str:
    if dtype.name in _EXTENSION_NAMES:
        return _EXTENSION_NAMES[dtype.name]
    if dtype.kind in "OSU":
        return STRING
    return next(name for name, storage in STORAGE.items() if storage == dtype)
