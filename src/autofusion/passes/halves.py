"""Two-byte floats carried in float32: what a node computes is rounded to its type, or it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from autofusion.ir import DType, Graph, Node, Value
from autofusion.ops.element_types import CODES, DTYPES

HALVES = (DType.FLOAT16, DType.BFLOAT16)

ROUNDING_DOMAIN = "autofusion.rounding"
"""Domain of the nodes that round a float32 value to the type that is their operator, and keep it float32."""

Rounds = Callable[[Node], bool]
"""Whether the results of a node are rounded to their types."""

_EXACT = frozenset(
    {"Identity", "Dropout", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile", "Slice"}
    | {"Split", "Concat", "Gather", "GatherElements", "GatherND", "Pad", "Where", "Trilu", "DepthToSpace"}
    | {"SpaceToDepth", "TopK", "Relu", "Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Max", "Min", "Clip"}
    | {"MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin"}
)
"""Operators of which every result is an element of an operand, or a number of the same type anyway."""


def find_halves(graph: Graph) -> tuple[DType, ...]:
    """The types of two bytes that values of the graph have, those inside fused nodes and nested graphs included."""
    found = {value.dtype for value in graph.values.values()}
    for node in graph:
        for nested in (*(graph for _, graph in node.subgraphs()), *([node.body] if node.body else [])):
            found.update(find_halves(nested))
    return tuple(dtype for dtype in HALVES if dtype in found)


def can_carry(graph: Graph) -> bool:
    """False where control flow has two-byte floats: its graphs read values by name, which keep their types then."""
    for node in graph:
        names = (*node.operands, *node.results, *(name for _, nested in node.subgraphs() for name in nested.captures()))
        has_halves = any(graph.value(name).dtype in HALVES for name in names)
        if node.subgraphs() and (has_halves or any(find_halves(nested) for _, nested in node.subgraphs())):
            return False
    return True


def carry_halves(graph: Graph, rounds: Rounds) -> Graph:
    """`graph`, for which `can_carry` holds, with float32 in the place of two-byte floats.

    Inputs and outputs keep their types, and every value its name.  What a node computes, a fused one as a whole, is
    rounded to its type where `rounds` says so.  A node without canonical form, or that names a type, works on values
    of its own types, between conversions.
    """
    return _Carrier(graph, rounds).carry()


class _Carrier:
    def __init__(self, graph: Graph, rounds: Rounds) -> None:
        self._source = graph
        self._rounds = rounds
        self._graph = Graph(graph.name, graph.inputs, graph.outputs)
        self._graph.opsets, self._graph.defaults = dict(graph.opsets), dict(graph.defaults)
        self._taken = _collect_names(graph)
        # Where a value of two bytes keeps its type, the float32 value that readers find.
        self._names: dict[str, str] = {}

    def carry(self) -> Graph:
        source, graph = self._source, self._graph
        kept = {*source.inputs, *source.outputs}
        for name, value in source.values.items():
            graph.values[name] = value if name in kept else _widen_value(value)
        for name, array in source.constants.items():
            graph.constants[name] = array if name in kept else _widen_array(array)
        for name in (*source.inputs, *source.constants):
            if name in kept and self._is_half(name):
                self._widen(name)
        for node in source.topological():
            if self._is_foreign(node):
                self._carry_foreign(node)
            else:
                self._carry_node(node)
        return graph

    def _is_half(self, name: str) -> bool:
        return self._source.value(name).dtype in HALVES

    def _fresh(self, stem: str) -> str:
        name, number = stem, 0
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name

    def _is_foreign(self, node: Node) -> bool:
        """True for a node that means what it does in its own types alone."""
        if node.body is not None:
            return any(map(self._is_foreign, node.body))
        return node.opaque or bool(node.domain) or any(node.attributes.get(name) for name in ("dtype", "output_dtype"))

    def _carry_foreign(self, node: Node) -> None:
        renamed: dict[str, str] = {}
        for name in filter(self._is_half, node.operands):
            renamed[name] = name if name in (*self._source.inputs, *self._source.outputs) else self._narrow(name)
        results = [name for name in node.results if self._is_half(name)]
        for name in results:
            renamed[name] = name if name in self._source.outputs else self._fresh(f"{name}:half")
            self._graph.values[renamed[name]] = replace(self._source.value(name), name=renamed[name])
        self._graph.add(_rename(node, renamed))
        for name in results:
            if renamed[name] == name:
                self._widen(name)
            else:
                self._cast(renamed[name], name, DType.FLOAT)

    def _carry_node(self, node: Node) -> None:
        is_rounded = self._rounds(node) and not (node.body is None and node.op in _EXACT and not node.domain)
        renamed = {name: self._names[name] for name in node.operands if name in self._names}
        results = [
            name for name in node.results if self._is_half(name) and (is_rounded or name in self._source.outputs)
        ]
        for name in results:
            renamed[name] = self._fresh(f"{name}:wide")
            self._graph.values[renamed[name]] = replace(_widen_value(self._source.value(name)), name=renamed[name])
        self._graph.add(_widen_node(_rename(node, renamed)))
        for name in results:
            dtype = self._source.value(name).dtype or DType.FLOAT
            if name not in self._source.outputs:
                self._round(renamed[name], name, dtype, node.origin)
                continue
            self._cast(renamed[name], name, dtype)
            if is_rounded:
                self._widen(name)
            else:
                self._names[name] = renamed[name]

    def _round(self, name: str, result: str, dtype: DType, origin: tuple[str, ...]) -> None:
        node = Node(self._fresh(f"{result}:round"), dtype.value, (name,), (result,), domain=ROUNDING_DOMAIN)
        self._graph.add(replace(node, origin=origin))

    def _cast(self, name: str, result: str, dtype: DType) -> None:
        node = Node(self._fresh(f"{result}:cast"), "Cast", (name,), (result,), {"to": CODES[dtype]}, opset=13)
        self._graph.add(node, [Value(result, dtype, self._graph.value(name).shape)])

    def _widen(self, name: str) -> None:
        """A float32 value for the readers of one that keeps its type."""
        self._names[name] = self._fresh(f"{name}:float")
        self._cast(name, self._names[name], DType.FLOAT)

    def _narrow(self, name: str) -> str:
        """A value of the type that the model has there, which holds it as it is, or rounds what was not rounded yet."""
        half = self._fresh(f"{name}:half")
        self._cast(self._names.get(name, name), half, self._source.value(name).dtype or DType.FLOAT)
        return half


def _collect_names(graph: Graph) -> set[str]:
    """Every name of a value or a node, those inside fused nodes included."""
    found = {*graph.values, *graph.constants}
    for node in graph:
        found |= {node.name, *(_collect_names(node.body) if node.body is not None else ())}
    return found


def _widen_value(value: Value) -> Value:
    return replace(value, dtype=DType.FLOAT) if value.dtype in HALVES else value


def _widen_array(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype in (DType.FLOAT16.numpy, DType.BFLOAT16.numpy) else array


def _rename(node: Node, names: Mapping[str, str]) -> Node:
    """The node on values of other names, in its body as well."""
    inputs, outputs = (tuple(names.get(name, name) for name in place) for place in (node.inputs, node.outputs))
    if node.body is None or not names:
        return replace(node, inputs=inputs, outputs=outputs)
    source = node.body
    body = Graph(
        source.name,
        (names.get(name, name) for name in source.inputs),
        (names.get(name, name) for name in source.outputs),
    )
    body.opsets = dict(source.opsets)
    body.constants = {names.get(name, name): array for name, array in source.constants.items()}
    body.values = {
        names.get(name, name): replace(value, name=names.get(name, name)) for name, value in source.values.items()
    }
    for inner in source.topological():
        body.add(_rename(inner, names))
    return replace(node, inputs=inputs, outputs=outputs, body=body)


def _widen_node(node: Node) -> Node:
    """The node on float32: what it converts to two bytes, and what its body holds."""
    attributes = node.attributes
    if node.op == "Cast" and not node.domain and DTYPES.get(int(str(attributes["to"]))) in HALVES:
        attributes = {**attributes, "to": CODES[DType.FLOAT]}
    value = attributes.get("value")
    if isinstance(value, np.ndarray):
        attributes = {**attributes, "value": _widen_array(value)}
    if node.body is None:
        return replace(node, attributes=attributes)
    source = node.body
    body = Graph(source.name, source.inputs, source.outputs)
    body.opsets = dict(source.opsets)
    body.constants = {name: _widen_array(array) for name, array in source.constants.items()}
    body.values = {name: _widen_value(value) for name, value in source.values.items()}
    for inner in source.topological():
        body.add(_widen_node(inner))
    return replace(node, attributes=attributes, body=body)
