"""Graph -> ONNX file: for viewers, and with the weights for any runtime."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, helper

from autofusion.frontend.faults import TOO_LARGE, fault
from autofusion.frontend.protos import fill_attribute, fill_tensor, write_value
from autofusion.ir import Attribute, DType, Graph, Node, Value
from autofusion.ir.scope import Names, tree_names

SMALL_BYTES = 1024
"""Constants up to this size are written even without weights: shapes, axes, limits."""

_MAX_FILE_BYTES = (1 << 31) - (1 << 24)
_MIN_OPSET = 17
# The first version that knows overloads, and metadata of nodes.
_MIN_IR_VERSION = 10


def write_graph(graph: Graph, *, weights: bool, producer_version: str) -> bytes:
    """`graph` as a serialized ONNX model; equal graphs give equal bytes.

    A fused node is a call of a local function of domain `autofusion`, one per operator and
    structure of body: further structures of one operator are its overloads "2", "3" and so on.
    A node of a declared operator is such a call too, in the domain of the operator and with its attributes.
    The function takes the node's operands and the constants inside the body.  A body that reads
    other outer values is written in place.

    With `weights` the model computes what the graph does.  Without, every constant of more than
    `SMALL_BYTES` bytes becomes an input after the graph's own, which the metadata entry
    `autofusion.weights` lists: checkers and viewers take that, and nothing is pretended.

    Raises ModelError where the weights are too large for one file.
    """
    return _Writer(graph, weights).write(producer_version).SerializeToString(deterministic=True)


@dataclass
class _Place:
    """Where nodes are written: a graph, or the body of a function, whose values are numbered.

    `initializers` are the constants written here; `promoted` those inside a function's body,
    which become its inputs.
    """

    in_function: bool = False
    names: MutableMapping[str, str] = field(default_factory=dict[str, str])
    initializers: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    promoted: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])

    def nest(self) -> _Place:
        """The place of a control-flow graph."""
        return self if self.in_function else _Place(names=ChainMap({}, self.names))

    def name(self, value: str) -> str:
        """What `value` is called here."""
        if not value:
            return ""
        return self.names.setdefault(value, f"v{len(self.names)}" if self.in_function else value)


class _Writer:
    def __init__(self, graph: Graph, weights: bool) -> None:
        self._graph = graph
        self._weights = weights
        self._names = Names(tree_names(graph))
        self._functions: dict[tuple[str, str, bytes], FunctionProto] = {}
        self._opset = _MIN_OPSET
        self._domains: dict[str, int] = {}
        self._outside: dict[str, Value] = {}
        self._bytes = 0

    def write(self, producer_version: str) -> ModelProto:
        model = ModelProto(producer_name="graph-autofusion", producer_version=producer_version)
        self._fill_graph(model.graph, self._graph, _Place())
        model.graph.input.extend(write_value(name, value) for name, value in self._outside.items())
        opsets = [helper.make_opsetid(*entry) for entry in sorted({**self._domains, "": self._opset}.items())]
        model.opset_import.extend(opsets)
        model.ir_version = max(_MIN_IR_VERSION, helper.find_min_ir_version_for(opsets, ignore_unknown=True))
        for function in self._functions.values():
            function.opset_import.extend(opsets)
        model.functions.extend(self._functions.values())
        if self._outside:
            model.metadata_props.add(key="autofusion.weights", value=json.dumps(list(self._outside)))
        return model

    def _fill_graph(self, proto: GraphProto, graph: Graph, place: _Place) -> None:
        self._place_constants(graph, place)
        for name, array in sorted(graph.defaults.items()):
            if self._weights or array.nbytes <= SMALL_BYTES:
                place.initializers[name] = array
        proto.name = graph.name or "graph"
        proto.node.extend(self._write_nodes(graph, place))
        proto.input.extend(write_value(place.name(name), graph.value(name)) for name in graph.inputs)
        proto.output.extend(write_value(place.name(name), graph.value(name)) for name in graph.outputs)
        if not place.in_function:
            proto.value_info.extend(_describe_results(graph, place))
            self._fill_initializers(proto, place)

    def _fill_initializers(self, proto: GraphProto, place: _Place) -> None:
        for name, array in place.initializers.items():
            self._bytes += array.nbytes
            if self._bytes > _MAX_FILE_BYTES:
                raise fault(
                    TOO_LARGE,
                    f"graph {self._graph.name!r} has more than 2 GiB of weights, which one ONNX file cannot hold",
                    "write it without weights",
                )
            fill_tensor(proto.initializer.add(), name, array)

    def _write_nodes(self, graph: Graph, place: _Place) -> list[NodeProto]:
        return [proto for node in graph.topological() for proto in self._write_node(node, place)]

    def _write_node(self, node: Node, place: _Place) -> list[NodeProto]:
        if node.body is not None and node.body.captures():
            self._place_constants(node.body, place)
            return self._write_nodes(node.body, place)
        if node.body is not None:
            return [self._write_call(node, node.body, place)]
        if node.domain:
            self._domains[node.domain] = max(self._domains.get(node.domain, 1), node.opset)
        elif not node.opaque:
            self._opset = max(self._opset, node.opset)
        proto = _start_node(node, place)
        proto.op_type, proto.domain = node.op, node.domain
        proto.input.extend(place.name(value) for value in node.inputs)
        proto.output.extend(place.name(value) for value in node.outputs)
        for key, value in sorted(node.attributes.items()):
            fill_attribute(
                proto.attribute.add(), key, value, lambda inner, graph: self._fill_graph(inner, graph, place.nest())
            )
        return [proto]

    def _write_call(self, node: Node, body: Graph, place: _Place) -> NodeProto:
        """A call of the function that `body` makes, with the constants inside as further operands."""
        inside = _Place(in_function=True)
        function = FunctionProto(domain=node.domain, name=node.op, input=[inside.name(name) for name in body.inputs])
        # Those of a declared operator are in its body already; they are kept for those who read the file.
        attributes: Mapping[str, Attribute] = {} if node.pattern else node.attributes
        function.attribute.extend(sorted(attributes))
        self._place_constants(body, inside)
        function.node.extend(self._write_nodes(body, inside))
        function.input.extend(inside.name(name) for name in inside.promoted)
        function.output.extend(inside.name(name) for name in body.outputs)
        overload = self._find_overload(function)
        proto = _start_node(node, place)
        proto.op_type, proto.domain, proto.overload = node.op, node.domain, overload
        proto.input.extend(place.name(name) for name in body.inputs)
        proto.input.extend(self._promote(name, array, place) for name, array in inside.promoted.items())
        proto.output.extend(place.name(name) for name in body.outputs)
        for key, value in sorted(attributes.items()):
            fill_attribute(proto.attribute.add(), key, value, _refuse_graph)
        if node.pattern:
            proto.metadata_props.add(key="pattern", value=node.display or node.pattern)
        return proto

    def _find_overload(self, function: FunctionProto) -> str:
        self._domains.setdefault(function.domain, 1)
        key = function.domain, function.name, function.SerializeToString(deterministic=True)
        if key not in self._functions:
            count = sum(known[:2] == key[:2] for known in self._functions)
            function.overload = str(count + 1) if count else ""
            self._functions[key] = function
        return self._functions[key].overload

    def _promote(self, name: str, array: np.ndarray, place: _Place) -> str:
        """Define the constant of a function's body where the function is called."""
        fresh = name if place.in_function else self._names.fresh(name)
        self._place_constant(fresh, array, place)
        return place.name(fresh)

    def _place_constants(self, graph: Graph, place: _Place) -> None:
        for name, array in sorted(graph.constants.items()):
            self._place_constant(name, array, place)

    def _place_constant(self, name: str, array: np.ndarray, place: _Place) -> None:
        if place.in_function:
            place.promoted[name] = array
        elif self._weights or array.nbytes <= SMALL_BYTES:
            place.initializers[place.name(name)] = array
        else:
            # Control-flow graphs beside each other may use one name for two constants.
            outside = name if name not in self._outside else self._names.fresh(name)
            place.names[name] = outside
            self._outside[outside] = Value(outside, DType.of(array), array.shape)


def _refuse_graph(proto: GraphProto, graph: Graph) -> None:
    raise ValueError("a declared operator has no graph as an attribute")


def _start_node(node: Node, place: _Place) -> NodeProto:
    """A node proto with name and origin; nodes of a function have neither, since calls share it."""
    proto = NodeProto()
    if not place.in_function:
        proto.name = node.name
        if node.origin:
            proto.metadata_props.add(key="origin", value=json.dumps(node.origin))
    return proto


def _describe_results(graph: Graph, place: _Place) -> Iterator[ValueInfoProto]:
    for node in graph.topological():
        for name in node.results:
            value = graph.value(name)
            if value.dtype is not None and value.shape is not None and name not in graph.outputs:
                yield write_value(place.name(name), value)
