"""Local functions: every call is replaced by the nodes of the function, attributes and nesting included.

Nodes keep the opset that the function imports, so functions of several opsets may meet in one model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

from autofusion.frontend.attributes import kind_of
from autofusion.frontend.faults import (
    FUNCTION,
    NAME_TWICE,
    RECURSION,
    TOO_LARGE,
    UNDEFINED_OUTPUT,
    UNDEFINED_VALUE,
    fault,
)
from autofusion.frontend.frames import Frame, FunctionKey, RawNode, normalize_domain
from autofusion.frontend.opsets import read_opsets
from autofusion.frontend.walk import defined_names
from autofusion.ir.scope import Names

MAX_NODES = 1_000_000
"""More nodes than this come of no exporter, but soon of functions that call each other twice."""

_MAX_DEPTH = 100


class Inliner:
    """The local functions of a model; `names` is where values inside calls get their names from."""

    def __init__(self, functions: Iterable[FunctionProto], names: Names) -> None:
        self._names = names
        self._sizes: dict[FunctionKey, int] = {}
        self._functions: dict[FunctionKey, FunctionProto] = {}
        for function in functions:
            key = _key(function)
            if key in self._functions:
                raise fault(NAME_TWICE, f"local function {_describe(key)} is defined twice")
            self._functions[key] = function

    def check_size(self, graph: GraphProto) -> None:
        """Raise ModelError where expansion of all calls would not end, or give too many nodes."""
        if self._count_nodes(graph.node, ()) > MAX_NODES:
            raise fault(TOO_LARGE, f"local functions expand graph {graph.name!r} to more than {MAX_NODES} nodes")

    def expand(self, nodes: Iterable[NodeProto], frame: Frame) -> Iterator[RawNode]:
        """`nodes` without calls of local functions, in file order; raises ModelError where a value is undefined."""
        for index, proto in enumerate(nodes):
            own_name = proto.name or (f"{proto.op_type}_{index}" if frame.stem else "")
            name = f"{frame.label}{own_name}" if own_name else ""
            label = name or next(iter(proto.output), proto.op_type)
            inputs = tuple(_find_value(value, frame, f"node {label!r} ({proto.op_type})") for value in proto.input)
            outputs = tuple(frame.names[value] if value else "" for value in proto.output)
            key = (normalize_domain(proto.domain), proto.op_type, proto.overload)
            if key in self._functions:
                yield from self.inline(self._functions[key], RawNode(proto, frame, name, inputs, outputs))
                continue
            captured = dict.fromkeys(
                value
                for attribute in proto.attribute
                for graph, scope in _find_graphs(attribute, frame)
                for value in captured_values(graph, scope)
            )
            yield RawNode(proto, frame, name, inputs, outputs, tuple(captured))

    def inline(self, function: FunctionProto, call: RawNode) -> Iterator[RawNode]:
        """The nodes of `function` in the place of the node `call`, calls of local functions among them expanded."""
        key = _key(function)
        given = f"node {call.label!r} gives local function {_describe(key)}"
        if len(call.inputs) > len(function.input) or len(call.outputs) > len(function.output):
            taken = f"{len(function.input)} inputs and {len(function.output)} outputs"
            raise fault(FUNCTION, f"{given} more operands than its {taken}")
        stem = next((value for value in call.outputs if value), call.label)
        names = dict.fromkeys(function.input, "") | dict(zip(function.input, call.inputs, strict=False))
        passed = [formal for formal in function.output if formal in names]
        results = dict(zip(function.output, call.outputs, strict=False))
        self._name_values(function, names, results, stem)
        frame = Frame(
            names,
            {**call.frame.opsets, **read_opsets(function.opset_import, f"local function {_describe(key)}")},
            _bind_attributes(function, call),
            f"{call.name or stem}/",
            stem,
        )
        yield from self.expand(function.node, frame)
        for formal in passed:
            if results.get(formal) and names[formal]:
                yield RawNode(NodeProto(op_type="Identity"), frame, "", (names[formal],), (results[formal],))

    def _count_nodes(self, nodes: Iterable[NodeProto], calls: tuple[FunctionKey, ...]) -> int:
        total = 0
        for node in nodes:
            key = (normalize_domain(node.domain), node.op_type, node.overload)
            total += self._count_function(key, calls) if key in self._functions else 1
            total += sum(self._count_nodes(attribute.g.node, calls) for attribute in node.attribute)
        return total

    def _count_function(self, key: FunctionKey, calls: tuple[FunctionKey, ...]) -> int:
        if key in calls:
            raise fault(
                RECURSION,
                f"local function {_describe(key)} calls itself",
                "ONNX functions may not recurse; export the model again",
            )
        if len(calls) == _MAX_DEPTH:
            raise fault(RECURSION, f"local function {_describe(key)} is called through more than {_MAX_DEPTH} others")
        if key not in self._sizes:
            self._sizes[key] = self._count_nodes(self._functions[key].node, (*calls, key))
        return self._sizes[key]

    def _name_values(
        self, function: FunctionProto, names: dict[str, str], results: Mapping[str, str], stem: str
    ) -> None:
        """Add the results of the function's nodes to `names`."""
        key = _key(function)
        for value in (value for node in function.node for value in node.output if value):
            if value in names:
                raise fault(NAME_TWICE, f"value {value!r} of local function {_describe(key)} is assigned twice")
            names[value] = results.get(value) or self._names.fresh(f"{stem}/{value}")
        for formal in function.output:
            if formal not in names:
                raise fault(UNDEFINED_OUTPUT, f"output {formal!r} of local function {_describe(key)} is not produced")


def captured_values(graph: GraphProto, frame: Frame) -> Iterator[str]:
    """IR names of the values outside `graph` that it reads, its own control-flow graphs included."""
    inner = frame.nest()
    inner.names.update(dict.fromkeys(defined_names(graph), ""))
    for node in graph.node:
        where = f"node {node.name or next(iter(node.output), '')!r} ({node.op_type})"
        yield from filter(None, (_find_value(value, inner, where) for value in node.input))
        for attribute in node.attribute:
            for nested, scope in _find_graphs(attribute, inner):
                yield from captured_values(nested, scope)
    for value in graph.output:
        if value.name not in inner.names:
            raise fault(UNDEFINED_OUTPUT, f"output {value.name!r} of graph {graph.name!r} is not produced")
        yield from filter(None, [inner.names[value.name]])


def _find_graphs(attribute: AttributeProto, frame: Frame) -> Iterator[tuple[GraphProto, Frame]]:
    found = frame.find_attribute(attribute)
    if found is not None and kind_of(found[0]) == AttributeProto.GRAPH:
        yield found[0].g, found[1]


def _find_value(name: str, frame: Frame, reader: str) -> str:
    if not name:
        return ""
    if name not in frame.names:
        raise fault(
            UNDEFINED_VALUE,
            f"{reader} reads {name!r}, which is no input, no initialiser and no result",
            "the model was cut or edited wrongly; export it again",
        )
    return frame.names[name]


def _bind_attributes(function: FunctionProto, call: RawNode) -> dict[str, tuple[AttributeProto, Frame]]:
    known = {*function.attribute, *(default.name for default in function.attribute_proto)}
    bound = {default.name: (default, call.frame) for default in function.attribute_proto}
    for written in call.proto.attribute:
        found = call.frame.find_attribute(written)
        if found is not None and written.name in known:
            bound[written.name] = found
    return bound


def _key(function: FunctionProto) -> FunctionKey:
    return normalize_domain(function.domain), function.name, function.overload


def _describe(key: FunctionKey) -> str:
    domain, name, overload = key
    return repr("::".join(part for part in (domain, name) if part) + (f":{overload}" if overload else ""))
