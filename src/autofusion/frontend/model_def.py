"""An ONNX model -> the fields of CANN's ModelDef: graphs of operators, values named by producer and place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from autofusion.ir import FUSED_DOMAIN

Json = dict[str, Any]
"""An object of JSON."""

_WEIGHTS = "autofusion.weights"
_UNKNOWN_EXTENT, _UNKNOWN_RANK = -1, -2
_TYPES = {
    "FLOAT": "DT_FLOAT",
    "FLOAT16": "DT_FLOAT16",
    "BFLOAT16": "DT_BF16",
    "DOUBLE": "DT_DOUBLE",
    "BOOL": "DT_BOOL",
    "STRING": "DT_STRING",
    **{f"{sign}INT{bits}": f"DT_{sign}INT{bits}" for sign in ("", "U") for bits in (4, 8, 16, 32, 64)},
    "COMPLEX64": "DT_COMPLEX64",
    "COMPLEX128": "DT_COMPLEX128",
}


def describe_model(data: bytes, attributes: Mapping[str, str], *, shapes: bool) -> Json:
    """The ModelDef of the serialised ONNX model `data` with `attributes`, control-flow graphs after its own.

    Constants whose bytes the model does not hold are Const operators without data.  With `shapes` inner
    values have theirs, else inputs and constants alone; an open extent is -1, an unknown rank -2.
    """
    model = ModelProto.FromString(data)
    weights = {name for entry in model.metadata_props if entry.key == _WEIGHTS for name in json.loads(entry.value)}
    writer = _Writer(shapes, weights)
    writer.add_graph(model.graph, {}, {})
    return {
        "name": model.graph.name,
        "version": 1,
        "graph": writer.graphs,
        "attr": [_attribute("framework_type", {"i": 5}), *(_text_attribute(*entry) for entry in attributes.items())],
    }


@dataclass
class _Writer:
    shapes: bool
    weights: set[str]
    graphs: list[Json] = field(default_factory=list[Json])

    def add_graph(self, graph: GraphProto, outer: Mapping[str, str], types: Mapping[str, ValueInfoProto]) -> str:
        """Append `graph`, and those nested in it; `outer` are the visible values, as `producer:index`."""
        places, known = dict(outer), dict(types)
        known.update((value.name, value) for value in (*graph.input, *graph.value_info, *graph.output))
        constants = {tensor.name: tensor for tensor in graph.initializer}
        known.update(
            (name, helper.make_tensor_value_info(name, tensor.data_type, tensor.dims))
            for name, tensor in constants.items()
        )
        self.weights.update(constants)
        places.update((name, f"{name}:0") for name in _source_names(graph))
        places.update(
            (value, f"{node.name}:{index}") for node in graph.node for index, value in enumerate(node.output) if value
        )
        name = (
            graph.name
            if all(graph.name != written["name"] for written in self.graphs)
            else f"{graph.name}_{len(self.graphs)}"
        )
        written: Json = {"name": name}
        self.graphs.append(written)
        inputs = [value.name for value in graph.input if value.name not in self.weights or value.name in constants]
        ops = list(self._sources(graph, known))
        ops += [self._operator(node, places, known) for node in graph.node]
        results = [places.get(value.name, f"{value.name}:0") for value in graph.output]
        ops.append({"name": "Node_Output", "type": "NetOutput", "input": results})
        written["input"] = [f"{name}:0" for name in inputs]
        written["output"] = results
        written["op"] = [{**op, "id": index} for index, op in enumerate(ops)]
        return name

    def _sources(self, graph: GraphProto, known: Mapping[str, ValueInfoProto]) -> Iterator[Json]:
        inputs = {value.name for value in graph.input}
        defaults = {tensor.name for tensor in graph.initializer}
        index = 0
        for value in graph.input:
            if value.name in self.weights and value.name not in defaults:
                yield {"name": value.name, "type": "Const", "output_desc": [_describe_value(value, shape=True)]}
                continue
            described = _describe_value(value, shape=True)
            yield {
                "name": value.name,
                "type": "Data",
                "output_desc": [described],
                "attr": [_attribute("index", {"i": index})],
            }
            index += 1
        for tensor in graph.initializer:
            if tensor.name not in inputs:
                content = _describe_tensor(tensor)
                output = {"name": tensor.name, **content["desc"]}
                value = _attribute("value", {"t": content})
                yield {"name": tensor.name, "type": "Const", "output_desc": [output], "attr": [value]}

    def _operator(self, node: NodeProto, places: Mapping[str, str], known: Mapping[str, ValueInfoProto]) -> Json:
        attributes: list[Json] = []
        nested: list[str] = []
        for item in node.attribute:
            if item.type == item.GRAPH:
                nested.append(self.add_graph(item.g, places, known))
            else:
                attributes.append(_attribute(item.name, _describe_attribute(item)))
        attributes += _describe_origin(node)
        operator: Json = {
            "name": node.name,
            "type": node.op_type,
            "input": [places.get(value, "") for value in node.input],
            "input_desc": [self._describe(value, known) for value in node.input if value],
            "output_desc": [self._describe(value, known) for value in node.output if value],
            "attr": attributes,
        }
        return {**operator, "subgraph_name": nested} if nested else operator

    def _describe(self, name: str, known: Mapping[str, ValueInfoProto]) -> Json:
        if name not in known:
            return {"name": name, "dtype": "DT_UNDEFINED", "layout": "ND"}
        return _describe_value(known[name], shape=self.shapes or name in self.weights)


def _source_names(graph: GraphProto) -> Iterator[str]:
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)


def _describe_value(value: ValueInfoProto, *, shape: bool) -> Json:
    tensor = value.type.tensor_type
    described: Json = {"name": value.name, "dtype": _type_name(tensor.elem_type), "layout": "ND"}
    if not shape:
        return described
    extents = [extent.dim_value if extent.HasField("dim_value") else _UNKNOWN_EXTENT for extent in tensor.shape.dim]
    return {**described, "shape": {"dim": extents if tensor.HasField("shape") else [_UNKNOWN_RANK]}}


def _type_name(number: int) -> str:
    return _TYPES.get(TensorProto.DataType.Name(number), "DT_UNDEFINED")


def _attribute(key: str, value: Json) -> Json:
    return {"key": key, "value": value}


def _text_attribute(key: str, text: str) -> Json:
    return _attribute(key, {"s": text})


def _describe_attribute(attribute: AttributeProto) -> Json:
    match attribute.type:
        case attribute.INT:
            return {"i": attribute.i}
        case attribute.FLOAT:
            return {"f": _spell_float(attribute.f)}
        case attribute.STRING:
            return {"s": _escape(attribute.s)}
        case attribute.TENSOR:
            return {"t": _describe_tensor(attribute.t)}
        case attribute.FLOATS:
            return {"list": {"f": [_spell_float(number) for number in attribute.floats], "val_type": "VT_LIST_FLOAT"}}
        case attribute.STRINGS:
            return {"list": {"s": [_escape(text) for text in attribute.strings], "val_type": "VT_LIST_STRING"}}
        case _:
            return {"list": {"i": list(attribute.ints), "val_type": "VT_LIST_INT"}}


def _describe_tensor(tensor: TensorProto) -> Json:
    desc = {"dtype": _type_name(tensor.data_type), "layout": "ND", "shape": {"dim": list(tensor.dims)}}
    if tensor.data_type == tensor.STRING:
        return {"desc": desc, "data": _escape(b"\0".join(tensor.string_data))}
    return {"desc": desc, "data": _escape(numpy_helper.to_array(tensor).tobytes())}


def _describe_origin(node: NodeProto) -> list[Json]:
    """What CANN records of a fused operator: the passes that made it and the operators that it was made of."""
    metadata = {entry.key: entry.value for entry in node.metadata_props}
    if node.domain != FUSED_DOMAIN:
        return [_text_attribute("domain", node.domain)] if node.domain else []
    names = json.loads(metadata.get("origin", "[]"))
    lists = {"pass_name": [metadata.get("pattern", "")], "_datadump_original_op_names": names}
    return [_attribute(key, {"list": {"s": texts, "val_type": "VT_LIST_STRING"}}) for key, texts in lists.items()]


def _spell_float(number: float) -> str:
    return f"{number:g}"


def _escape(data: bytes) -> str:
    """Bytes as text, those that do not print as octal numbers."""
    text = data.decode("latin-1").replace("\\", "\\\\")
    return re.sub(r"[^ -~]", lambda found: f"\\{ord(found.group()):03o}", text)
