"""GraphProto -> Graph: constants, then the nodes in topological order, each in canonical form and inferred."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from onnx import GraphProto, ValueInfoProto

from autofusion.frontend.attributes import read_attributes
from autofusion.frontend.constants import read_constant
from autofusion.frontend.declarations import check_default, check_output, read_body_input, read_input_dtype
from autofusion.frontend.dimensions import Dimensions
from autofusion.frontend.faults import UNDEFINED_OUTPUT, fault
from autofusion.frontend.frames import Frame, RawNode, normalize_domain
from autofusion.frontend.functions import Inliner
from autofusion.frontend.operators import find_version, foreign_operator
from autofusion.frontend.opsets import newest_opset
from autofusion.frontend.order import sort_nodes
from autofusion.frontend.storage import Storage
from autofusion.frontend.tensors import read_sparse, read_tensor
from autofusion.frontend.walk import defined_names, require_unique_names
from autofusion.ir import DType, Graph, Node, Value
from autofusion.ir.scope import GraphScope, Names
from autofusion.ops import canonicalize, find_operator, infer
from autofusion.ops.custom import Operators, complete_node
from autofusion.ops.custom_function import build_function
from autofusion.ops.element_types import DTYPES
from autofusion.ops.inference import require_possible
from autofusion.ops.reference import has_reference


class GraphReader:
    """Reads the graphs of one model; `names` hands out names that the file does not use.

    A node of one of the declared `operators` becomes one node with the nodes that it means as its body.
    """

    def __init__(
        self, storage: Storage, inliner: Inliner, dimensions: Dimensions, names: Names, operators: Operators
    ) -> None:
        self.operator_count = 0
        self._operators = operators
        self._functions = {key: build_function(operator) for key, operator in operators.items()}
        self._storage = storage
        self._inliner = inliner
        self._dimensions = dimensions
        self._names = names
        self._node_names: set[str] = set()
        self._domains: dict[str, int] = {}

    def read_main(self, proto: GraphProto, frame: Frame, inputs: Sequence[ValueInfoProto]) -> Graph:
        """The graph of the model with `inputs`, those that initialisers only give a default included."""
        graph = Graph(proto.name, [value.name for value in inputs], _output_names(proto, frame))
        for value in inputs:
            graph.set_value(Value(value.name, read_input_dtype(value), self._dimensions.shape(value.name)))
        scope = GraphScope(graph, names=self._names)
        self._fill(proto, frame, scope)
        for value in proto.output:
            check_output(value, graph.value(value.name))
        graph.opsets = {"": newest_opset(), **self._domains}
        return graph

    def _read_nested(self, outer: GraphScope, raw: RawNode, proto: GraphProto, frame: Frame, where: str) -> Graph:
        """The control-flow graph `proto` of `raw`; what it defines is renamed where it would hide an outer value."""
        require_unique_names(proto, where, overridable=False)
        inner = frame.nest()
        for name in defined_names(proto):
            renamed = frame.stem or name in frame.names
            stem = f"{frame.stem}/{name}" if frame.stem else name
            inner.names[name] = self._names.fresh(stem) if renamed else name
        graph = Graph(proto.name, [inner.names[value.name] for value in proto.input], _output_names(proto, inner))
        given = _body_operands(raw, outer)
        for index, value in enumerate(proto.input):
            known = given[index] if index < len(given) else Value("")
            graph.set_value(read_body_input(inner.names[value.name], value, known))
        self._fill(proto, inner, outer.nest(graph))
        return graph

    def _fill(self, proto: GraphProto, frame: Frame, scope: GraphScope) -> None:
        for name, array in self._read_initializers(proto):
            self._add_initializer(frame.names[name], array, scope.graph)
        nodes = sort_nodes(list(self._inliner.expand(proto.node, frame)), scope.graph.outputs)
        declared = {frame.names.get(value.name, ""): value for value in (*proto.value_info, *proto.output)}
        position = 0
        for raw in nodes:
            if self._add_constant(raw, scope):
                continue
            self.operator_count += 1
            self._add_node(raw, (raw.name or f"{raw.proto.op_type}_{position}",), scope, declared)
            position += 1

    def _add_constant(self, raw: RawNode, scope: GraphScope) -> bool:
        """Add the value of a Constant node; False for any other node."""
        if raw.proto.op_type != "Constant" or normalize_domain(raw.proto.domain):
            return False
        scope.graph.add_constant(raw.outputs[0], read_constant(raw, self._storage))
        return True

    def _read_initializers(self, proto: GraphProto) -> Iterator[tuple[str, np.ndarray]]:
        for tensor in proto.initializer:
            yield tensor.name, read_tensor(tensor, tensor.name, self._storage)
        for tensor in proto.sparse_initializer:
            yield tensor.values.name, read_sparse(tensor, tensor.values.name, self._storage)

    def _add_initializer(self, name: str, array: np.ndarray, graph: Graph) -> None:
        if name not in graph.inputs:
            graph.add_constant(name, array)
            return
        check_default(graph.value(name), Value(name, DType.of(array), array.shape))
        graph.defaults[name] = array

    def _add_node(
        self, raw: RawNode, origin: tuple[str, ...], scope: GraphScope, declared: Mapping[str, ValueInfoProto]
    ) -> None:
        domain, op = normalize_domain(raw.proto.domain), raw.proto.op_type
        version = self._find_version(raw, domain)
        node = Node(
            self._claim_node_name(raw.name, origin[0]),
            op,
            _strip(raw.inputs),
            _strip(raw.outputs),
            read_attributes(raw, self._storage, partial(self._read_nested, scope, raw)),
            domain,
            opset=version,
            origin=origin,
        )
        if (domain, op) in self._operators:
            self._add_declared(raw, node, scope)
            return
        if domain and find_operator(op, domain) is None and not has_reference(node):
            raise foreign_operator(raw.proto, raw.label, version)
        for part in canonicalize(node, version, scope):
            values = [self._complete(value, part, declared) for value in infer(part, scope)]
            for value in values:
                require_possible(value, part)
            scope.graph.add(part, values)

    def _add_declared(self, raw: RawNode, written: Node, scope: GraphScope) -> None:
        """Add the node `written` of a declared operator, with its meaning as its body."""
        key = written.domain, written.op
        node = complete_node(written, self._operators[key], scope)
        body = Graph(node.op, node.operands, node.outputs)
        for name in node.operands:
            body.set_value(replace(scope.value(name), content=None))
        inner, counted = scope.nest(body), self.operator_count
        for part in self._inliner.inline(self._functions[key], replace(raw, outputs=node.outputs)):
            if not self._add_constant(part, inner):
                self._add_node(part, node.origin, inner, {})
        # The model has one operator here, whatever graphs stand in its body.
        self.operator_count = counted
        body.opsets = {"": newest_opset()}
        scope.graph.add(replace(node, body=body), [body.value(name) for name in node.outputs])

    def _find_version(self, raw: RawNode, domain: str) -> int:
        version = find_version(raw.proto, raw.label, raw.frame.opsets)
        if domain:
            self._domains[domain] = version
        return version

    def _claim_node_name(self, wanted: str, stem: str) -> str:
        name = wanted if wanted and wanted not in self._node_names else self._names.fresh(stem)
        self._node_names.add(name)
        self._names.reserve(name)
        return name

    def _complete(self, value: Value, node: Node, declared: Mapping[str, ValueInfoProto]) -> Value:
        """`value`, where inference says nothing, as the file declares it.

        A declared shape counts for operators of other domains only: ours may depend on the operands' elements.
        """
        proto = declared.get(value.name)
        if proto is None:
            return value
        dtype = value.dtype or DTYPES.get(proto.type.tensor_type.elem_type)
        shape = value.shape
        if shape is None and node.opaque and node.domain:
            shape = self._dimensions.read_declared(proto)
        return replace(value, dtype=dtype, shape=shape)


def _output_names(proto: GraphProto, frame: Frame) -> list[str]:
    for value in proto.output:
        if value.name not in frame.names:
            raise fault(
                UNDEFINED_OUTPUT,
                f"output {value.name!r} of graph {proto.name!r} is not produced",
                "the model was cut or edited wrongly; export it again",
            )
    return [frame.names[value.name] for value in proto.output]


def _body_operands(raw: RawNode, outer: GraphScope) -> list[Value]:
    """What a Loop or Scan node hands to the inputs of its body."""
    values = [outer.value(name) if name else Value("") for name in raw.inputs]
    if raw.proto.op_type == "Loop":
        return [Value("", DType.INT64, ()), Value("", DType.BOOL, ()), *values[2:]]
    return values if raw.proto.op_type == "Scan" else []


def _strip(names: tuple[str, ...]) -> tuple[str, ...]:
    """`names` without empty places at the end."""
    count = max((index + 1 for index, name in enumerate(names) if name), default=0)
    return names[:count]
